"""A learned metric as the state of a ``torch.nn.Linear``."""

from pathlib import Path
from typing import Any

import numpy as np

from gramian._parameters import checked
from gramian.export.maps import isometry
from gramian.export.onnx import center_of
from gramian.export.places import needs, place, readme
from gramian.export.words import WORDS
from gramian.persist import replacing

QUERY = """
import torch
state = torch.load("{name}", weights_only=True)
layer = torch.nn.utils.skip_init(torch.nn.Linear, {d}, {r})
layer.load_state_dict(state)
z = layer(torch.as_tensor(x, dtype=torch.float32))  # |z - z'|^2 is the learned squared distance
"""


@checked(**WORDS)
def to_torch(metric: Any, path: Any = None, *, center: Any = None, out: Any = None) -> Any:
    """``torch.nn.Linear`` with weight L and bias −Lc, whose outputs have d²(x, y) as their squared distances.

    Parameters
    ----------
    metric : linear Metric, fitted learner, or the file of a metric
    path : path, optional
        Where to write the state (``weight``, ``bias``), with a README.md beside it; ``out`` is the same. A name that
        ends in ``.safetensors`` gets that format.
    center : array (d,), optional
        c of E(x) = L(x − c).

    Returns
    -------
    path, or the ``torch.nn.Linear`` where no path is given

    Examples
    --------
    >>> import numpy as np, gramian as gm
    >>> metric = gm.Mahalanobis.from_matrix(np.diag([1.0, 4.0]))
    >>> gm.export.to_torch(metric)  # doctest: +SKIP
    Linear(in_features=2, out_features=2, bias=True)
    """
    owner = "to_torch"
    target = place(path, out, owner)
    torch = needs("torch", owner, "torch")
    inner = isometry(metric, owner)
    state = {name: torch.from_numpy(array) for name, array in linear_state(inner, center).items()}
    if target is None:
        layer = torch.nn.Linear(inner.n_features, inner.width)
        layer.load_state_dict(state)
        return layer
    with replacing(target, owner) as temporary:
        if target.suffix == ".safetensors":
            needs("safetensors.torch", owner, "sentence-transformers").save_file(state, temporary)
        else:
            torch.save(state, temporary)
    code = QUERY.format(name=target.name, d=inner.n_features, r=inner.width)
    if target.suffix == ".safetensors":
        code = code.replace("import torch\n", "import torch, safetensors.torch\n")
        code = code.replace("torch.load(", "safetensors.torch.load_file(").replace(", weights_only=True", "")
    readme(target, inner, "the state of a `torch.nn.Linear`.", code)
    return target


def linear_state(inner: Any, center: Any) -> dict[str, np.ndarray]:
    """Weight (r, d) and bias (r,) in single precision."""
    L = inner.components
    bias = inner.offset - L @ center_of(inner, center)
    # In C order: safetensors writes the memory of an array as it lies.
    return {"weight": np.array(L, np.float32, order="C"), "bias": np.array(bias, np.float32)}


def apply_torch(path: Path, X: np.ndarray) -> np.ndarray:
    """Run a written state on points."""
    torch = needs("torch", "check", "torch")
    if path.suffix == ".safetensors":
        state = needs("safetensors.torch", "check", "sentence-transformers").load_file(path)
    else:
        state = torch.load(path, weights_only=True)
    r, d = state["weight"].shape
    layer = torch.nn.Linear(d, r)
    layer.load_state_dict(state)
    with torch.no_grad():
        return layer(torch.from_numpy(X.astype(np.float32))).numpy()
