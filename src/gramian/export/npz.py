"""A learned metric as plain NumPy arrays."""

from pathlib import Path
from typing import Any

import numpy as np

from gramian import _validate, linalg
from gramian.coordinates import LinearProbabilities
from gramian.export.base import Center, Map, Place, Target, delivered, kernel_map
from gramian.export.onnx import center_of
from gramian.kernels import Gaussian, Polynomial
from gramian.kernels.base import Kernel

WIDEST = 4096
"""Features up to which the matrix M is stored beside its factor."""

HEAD = """
import numpy as np
a = np.load("{name}")
"""
LINEAR = """
L, offset = a["components"], a["offset"]
x = np.asarray(x, dtype=float).reshape(1, -1)
z = (x - a["center"]) @ L.T + offset  # |z - z'|^2 is the learned squared distance
"""
ANGLE = """
x = np.asarray(x, dtype=float).reshape(1, -1)
u = x @ a["inner"].T + a["offset"]
z = (u / np.linalg.norm(u)) @ a["components"].T  # |z - z'|^2 is the learned squared distance
"""
KERNEL = """
x = np.asarray(x, dtype=float).reshape(1, -1)
K = {formula}
z = K @ a["weights"] - a["offset"]  # |z - z'|^2 is the learned squared distance
"""
CLASSES = """
s = x @ a["class_weights"].T + a["class_offset"]  # (1, c)
p = np.exp(s - s.max()) / np.exp(s - s.max()).sum()
z = np.concatenate([z, a["root_weight"] * np.sqrt(p)], axis=1)  # beside the roots of class probabilities
"""
KERNELS = {
    "gaussian": KERNEL.format(formula='np.exp(-((x[:, None] - a["basis"]) ** 2).sum(axis=2) / (2 * a["scale"] ** 2))'),
    "polynomial": KERNEL.format(formula='(a["scale"] * (x @ a["basis"].T) + a["offset_of_kernel"]) ** a["degree"]'),
}


class Npz(Target):
    """The arrays of the map E(x), float64, in a file that NumPy alone reads.

    A linear metric has ``components`` L (r, d), ``center`` c (d,) and ``offset`` b (r,) with E(x) = L(x − c) + b, and
    ``matrix`` M = LᵀL up to 4,096 features. Kernel features with a Gaussian or polynomial kernel have ``kernel`` (its
    name), its parameters, ``basis`` B, ``weights`` W and ``offset`` o with E(x) = K(x, B) W − o. A metric by the angle
    has ``inner`` L, ``offset`` b and ``components`` C with E(x) = C u / |u|, u = Lx + b. Beside what is there
    ``class_weights`` W, ``class_offset`` b and ``root_weight`` w append w √p(x) of class probabilities ∝ exp(Wx + b).
    """

    name, suffix, takes_data = "npz", ".npz", False
    words = {"path": ("path, optional", "Where to write, with a README.md beside it.")}
    returns = "path, or the arrays by name where no path is given"
    example = """
>>> gm.export.to_npz(metric)["components"].tolist()
[[1.0, 0.0], [0.0, 2.0]]
"""

    def write(self, map: Map, path: Place = None, *, center: Center | None = None) -> Any:
        arrays = arrays_of(map, center_of(map, center))
        if path is None:
            return arrays

        def save(file: Path) -> None:
            with open(file, "wb") as stream:
                np.savez(stream, **arrays)  # type: ignore[arg-type]  # names are ours

        return delivered(path, map, save, "plain arrays.", HEAD + formula(arrays))

    def apply(self, path: Path, X: np.ndarray) -> np.ndarray:
        with np.load(path, allow_pickle=False) as arrays:
            return self.applied(dict(arrays), X)

    def applied(self, a: dict[str, np.ndarray], X: np.ndarray) -> np.ndarray:
        """E(x) by the arrays."""
        if "class_weights" in a:
            model = LinearProbabilities(a["class_weights"], a["class_offset"], np.arange(len(a["class_offset"])))
            return np.concatenate([self.mapped(a, X), a["root_weight"] * model.roots(X)], axis=1)
        return self.mapped(a, X)

    @staticmethod
    def mapped(a: dict[str, np.ndarray], X: np.ndarray) -> np.ndarray:
        """E(x) without class probabilities."""
        if "inner" in a:
            return linalg.unit_rows(X @ a["inner"].T + a["offset"]) @ a["components"].T  # C u / |u|
        if "components" in a:
            return (X - a["center"]) @ a["components"].T + a["offset"]  # L(x − c) + b
        if str(a["kernel"]) == "gaussian":
            kernel: Kernel = Gaussian(float(a["scale"]))
        else:
            kernel = Polynomial(int(a["degree"]), float(a["offset_of_kernel"]), scale=float(a["scale"]))
        return kernel(X, a["basis"]) @ a["weights"] - a["offset"]  # K(x, B)W − o


def formula(arrays: dict[str, np.ndarray]) -> str:
    """E(x) in NumPy, of arrays ``a``."""
    code = ANGLE if "inner" in arrays else KERNELS.get(str(arrays.get("kernel")), LINEAR)
    return code.lstrip() + (CLASSES.lstrip() if "class_weights" in arrays else "")


def arrays_of(map: Map, center: np.ndarray, *, matrix: bool = True) -> dict[str, np.ndarray]:
    """The arrays of a map by name."""
    affine, d = map.affine, map.n_features or 0
    if map.beside is not None:
        features, model, weight = map.beside
        if not isinstance(model, LinearProbabilities):
            raise TypeError(
                f"{map.owner}: class probabilities of {_validate.shown(model)} have no NumPy form; export onnx."
            )
        added = {"class_weights": model.weights, "class_offset": model.intercept, "root_weight": np.asarray(weight)}
        return arrays_of(features, center, matrix=matrix) | added
    if affine is None:
        kernel, basis, weights, offset = kernel_map(map)
        name, parameters = _parameters(kernel, map.owner)
        numbers = {key: np.asarray(value) for key, value in parameters.items()}
        return {"kernel": np.asarray(name), **numbers, "basis": basis, "weights": weights, "offset": offset}
    L = np.eye(d) if affine.L is None else np.array(affine.L)  # (r, d)
    offset = np.zeros(len(L)) if affine.b is None else affine.b  # (r,)
    if affine.by_angle:
        return {"inner": L, "offset": offset, "components": np.eye(len(L)) if affine.C is None else affine.C}
    return {"components": L, "center": center, "offset": offset} | (
        {"matrix": L.T @ L} if matrix and d <= WIDEST else {}
    )


def _parameters(kernel: Kernel, owner: str) -> tuple[str, dict[str, float]]:
    if isinstance(kernel, Gaussian) and kernel.metric is None:
        return "gaussian", {"scale": kernel.scale}
    if isinstance(kernel, Polynomial):
        return "polynomial", {"degree": kernel.degree, "offset_of_kernel": kernel.offset, "scale": kernel.scale}
    raise TypeError(f"{owner}: the kernel {_validate.shown(kernel)} has no NumPy form; export it as onnx.")
