"""A learned metric as layers of PyTorch, and as the last modules of a sentence-transformers model."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from gramian.export.base import Center, Map, Place, Target, delivered, folder, readme
from gramian.export.onnx import center_of
from gramian.persist import replacing

TINY = 1e-38
"""Added to the mean square of a vector before it divides: a vector of zeros stays."""
QUERY = """
import torch
state = torch.load("{name}", weights_only=True)
layer = {layer}
layer.load_state_dict(state)
z = layer(torch.as_tensor(x, dtype=torch.float32))  # |z - z'|^2 is the learned squared distance
"""
SENTENCES = """
from sentence_transformers import SentenceTransformer
from sentence_transformers.models import Dense, Normalize
model = SentenceTransformer("all-MiniLM-L6-v2")  # the encoder that the metric was learned on, {d} wide
model.extend([{modules}])
z = model.encode(["a sentence"])  # Euclidean distances are the learned ones
"""
CENTER = ("array (d,), optional", "c of E(x) = L(x − c), zero when not given; not by the angle, which has its own.")


class Torch(Target):
    """Layers of PyTorch whose outputs have d²(x, y) as their squared distances.

    A linear metric is a ``torch.nn.Linear`` with weight L and bias −Lc. By the angle an ``RMSNorm`` follows, whose
    weight of 1/√r makes each vector one of length one, and a ``Linear`` without bias where there is a factor behind.
    """

    name, package, suffix, takes_data = "torch", "torch", ".pt", False
    words = {
        "path": (
            "path, optional",
            """Where to write the state, with a README.md beside it. A name that ends in ``.safetensors`` gets that
            format.""",
        ),
        "center": CENTER,
    }
    returns = "path, or the ``torch.nn.Linear`` or ``torch.nn.Sequential`` where no path is given"
    example = """
>>> gm.export.to_torch(metric)
Linear(in_features=2, out_features=2, bias=True)
"""

    def write(self, map: Map, path: Place = None, *, center: Center | None = None) -> Any:
        torch = self.needs(map.owner, "torch")
        steps = layers(map, center)  # in their order
        state = {name: torch.from_numpy(array) for name, array in state_of(steps).items()}
        if path is None:
            return module(torch, state)
        code, save = QUERY, lambda file: torch.save(state, file)
        if str(path).endswith(".safetensors"):
            code = code.replace("import torch\n", "import torch, safetensors.torch\n")
            code = code.replace("torch.load(", "safetensors.torch.load_file(").replace(", weights_only=True", "")
            save = lambda file: self.needs(map.owner, "safetensors.torch").save_file(state, file)  # noqa: E731
        return delivered(path, map, save, "the state of layers of PyTorch.", code, layer=written(steps))

    def apply(self, path: Path, X: np.ndarray) -> np.ndarray:
        torch = self.needs("check", "torch")
        if path.suffix == ".safetensors":
            state = self.needs("check", "safetensors.torch").load_file(path)
        else:
            state = torch.load(path, weights_only=True)
        with torch.no_grad():
            return module(torch, state)(torch.from_numpy(X.astype(np.float32))).numpy()


class SentenceTransformers(Target):
    """A folder with a ``Dense`` module (weight L, identity activation) to append to a sentence-transformers model.

    The same encoder then has the learned distance as its Euclidean one. By the angle a ``Normalize`` module comes
    behind it, so that the cosine is the learned one too. The folder is ``config.json`` and ``model.safetensors``, and
    loads without this package and without running code; ``layers.json`` names what comes one after the other.
    """

    name, package, suffix, takes_data = "sentence-transformers", "safetensors.numpy", "-dense", False
    words = {
        "path": ("path", "The folder, made when absent. A README.md is written into it and beside it."),
        "center": CENTER,
    }
    example = """
>>> gm.export.to_sentence_transformers(metric, "learned")
PosixPath('learned')
"""

    def write(self, map: Map, path: Place = None, *, center: Center | None = None) -> Path:
        target = folder(path, map.owner, "the folder of the module")
        places: list[str | None] = []
        for number, (weight, bias) in enumerate(layers(map, center)):
            places.append(None if weight.ndim == 1 else f"{number}_Dense" if number else "")
            if weight.ndim == 2:
                self._dense(target / f"{places[-1]}", weight, bias, map.owner)
        with replacing(target / "layers.json", map.owner) as temporary:
            temporary.write_text(json.dumps(places) + "\n", encoding="utf-8")
        names = [
            "Normalize()" if inside is None else f'Dense.load("{(Path(target.name) / inside).as_posix()}")'
            for inside in places
        ]
        code = SENTENCES.format(d=map.n_features, modules=", ".join(names))
        readme(target, map, "modules of sentence-transformers.", code)
        return target

    def _dense(self, place: Path, weight: np.ndarray, bias: np.ndarray | None, owner: str) -> None:
        """Write one ``Dense`` module."""
        place.mkdir(exist_ok=True)
        sizes = {"in_features": weight.shape[1], "out_features": len(weight), "bias": bias is not None}
        config = {**sizes, "activation_function": "torch.nn.modules.linear.Identity"}
        state = {"linear.weight": weight} | ({} if bias is None else {"linear.bias": bias})
        with replacing(place / "model.safetensors", owner) as temporary:
            self.needs(owner, "safetensors.numpy").save_file(state, temporary)
        with replacing(place / "config.json", owner) as temporary:
            temporary.write_text(json.dumps(config, indent=4), encoding="utf-8")

    def apply(self, path: Path, X: np.ndarray) -> np.ndarray:
        self.needs("check", "sentence_transformers")
        from sentence_transformers.models import Dense, Normalize

        torch = self.needs("check", "torch")
        features = {"sentence_embedding": torch.from_numpy(X.astype(np.float32))}
        with torch.no_grad():
            for inside in json.loads((path / "layers.json").read_text(encoding="utf-8")):
                module = Normalize() if inside is None else Dense.load(str(path / inside))
                features = module(features)
        return features["sentence_embedding"].numpy()


def layers(map: Map, center: Any) -> list[tuple[np.ndarray, np.ndarray | None]]:
    """Weight (r, d), and bias (r,) if there is one, of each layer; a weight (r,) of 1/√r stands for length one."""
    affine, shift = map.formula, center_of(map, center)
    L = np.eye(len(shift)) if affine.L is None else affine.L  # (r, d)
    linear = _single(L), _single((0 if affine.b is None else affine.b) - L @ shift)
    if not affine.by_angle:
        return [linear]
    unit = np.full(len(L), len(L) ** -0.5, np.float32), None
    inner = [] if affine.L is None else [linear]
    return [*inner, unit, *([] if affine.C is None else [(_single(affine.C), None)])]


def _single(A: np.ndarray) -> np.ndarray:
    return np.array(A, np.float32, order="C")  # safetensors writes the memory of an array as it lies


def state_of(steps: list[tuple[np.ndarray, np.ndarray | None]]) -> dict[str, np.ndarray]:
    """Arrays by the names that a ``Linear``, or a ``Sequential``, has for them."""
    state: dict[str, np.ndarray] = {}
    for number, (weight, bias) in enumerate(steps):
        prefix = "" if len(steps) == 1 else f"{number}."
        state |= {f"{prefix}weight": weight} | ({} if bias is None else {f"{prefix}bias": bias})
    return state


def written(steps: list[tuple[np.ndarray, np.ndarray | None]]) -> str:
    """The layers as they are made in Python."""
    lines = [
        f"torch.nn.RMSNorm({len(weight)}, eps={TINY:g})"
        if weight.ndim == 1
        else f"torch.nn.Linear({weight.shape[1]}, {len(weight)}{', bias=False' if bias is None else ''})"
        for weight, bias in steps
    ]
    return lines[0] if len(lines) == 1 else f"torch.nn.Sequential({', '.join(lines)})"


def module(torch: Any, state: dict[str, Any]) -> Any:
    """The layers of a state, filled with it."""
    steps = []
    for name in sorted(name for name in state if name.endswith("weight")):
        weight, biased = state[name], name.replace("weight", "bias") in state
        unit = weight.ndim == 1
        steps.append(torch.nn.RMSNorm(len(weight), eps=TINY) if unit else torch.nn.Linear(*weight.T.shape, bias=biased))
    layer = steps[0] if "weight" in state else torch.nn.Sequential(*steps)
    layer.load_state_dict(state)
    return layer
