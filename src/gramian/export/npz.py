"""A learned metric as plain NumPy arrays."""

from pathlib import Path
from typing import Any

import numpy as np

from gramian import _checks, linalg
from gramian._parameters import checked
from gramian.export.graphs import kernel_map
from gramian.export.maps import Isometry, isometry
from gramian.export.onnx import center_of
from gramian.export.places import readme, required
from gramian.export.words import WORDS
from gramian.kernels import Gaussian, Polynomial
from gramian.kernels.base import Kernel
from gramian.persist import replacing

WIDEST = 4096
"""Features up to which the matrix M is stored beside its factor."""

LINEAR = """
import numpy as np
arrays = np.load("{name}")
L, offset = arrays["components"], arrays["offset"]
x = np.asarray(x, dtype=float).reshape(1, -1)
z = (x - arrays["center"]) @ L.T + offset  # |z - z'|^2 is the learned squared distance
"""
SPHERE = """
import numpy as np
a = np.load("{name}")
u = (np.asarray(x, dtype=float).reshape(1, -1) - a["center"]) @ a["inner"].T
z = u / np.linalg.norm(u) @ a["components"].T  # |z - z'|^2 is the learned squared distance
"""
KERNEL = """
import numpy as np
a = np.load("{name}")
x = np.asarray(x, dtype=float).reshape(1, -1)
K = {formula}
z = K @ a["weights"] - a["offset"]  # |z - z'|^2 is the learned squared distance
"""
FORMULAS = {
    "gaussian": 'np.exp(-((x[:, None] - a["basis"]) ** 2).sum(axis=2) / (2 * a["scale"] ** 2))',
    "polynomial": '(a["scale"] * (x @ a["basis"].T) + a["offset_of_kernel"]) ** a["degree"]',
}


@checked(**WORDS)
def to_npz(metric: Any, path: Any = None, *, center: Any = None, out: Any = None) -> Path | dict[str, np.ndarray]:
    """The arrays of the map E(x), float64, in a file that NumPy alone reads.

    A linear metric has ``components`` L (r, d), ``center`` c (d,) and ``offset`` b (r,) with E(x) = L(x − c) + b, and
    ``matrix`` M = LᵀL up to 4,096 features. Kernel features with a Gaussian or polynomial kernel have ``kernel`` (its
    name), its parameters, ``basis`` B, ``weights`` W and ``offset`` o with E(x) = K(x, B) W − o. A metric on angles has
    ``center`` c, ``inner`` L and ``components`` C with E(x) = C u / |u|, u = L(x − c).

    Parameters
    ----------
    metric : Metric, KernelFeatures, fitted learner, or the file of a metric
    path : path, optional
        Where to write, with a README.md beside it; ``out`` is the same.
    center : array (d,), optional
        c, zero when not given; linear metrics only.

    Returns
    -------
    path, or the arrays by name where no path is given

    Examples
    --------
    >>> import numpy as np, gramian as gm
    >>> metric = gm.Mahalanobis.from_matrix(np.diag([1.0, 4.0]))
    >>> gm.export.to_npz(metric)["components"].tolist()
    [[1.0, 0.0], [0.0, 2.0]]
    """
    owner = "to_npz"
    if path is None and out is None:
        return _arrays(isometry(metric, owner), center)
    target = required(path, out, owner, "a file")
    inner = isometry(metric, owner)
    arrays = _arrays(inner, center)
    with replacing(target, owner) as temporary, open(temporary, "wb") as stream:
        np.savez(stream, **arrays)  # type: ignore[arg-type]  # names are ours
    code = LINEAR if inner.is_linear else SPHERE
    if "kernel" in arrays:
        code = KERNEL.replace("{formula}", FORMULAS[str(arrays["kernel"])])
    readme(target, inner, "plain arrays.", code.replace("{name}", target.name))
    return target


def _arrays(inner: Isometry, center: Any) -> dict[str, np.ndarray]:
    if inner.is_linear:
        found = {
            "components": np.array(inner.components),
            "center": center_of(inner, center),
            "offset": inner.offset,
        }
        return found | ({"matrix": inner.matrix} if (inner.n_features or 0) <= WIDEST else {})
    center_of(inner, center)
    if inner.sphere is not None:
        L, C = inner.sphere.inner, inner.sphere.components
        first = np.eye(inner.n_features or 0) if L is None else L
        return {"center": inner.sphere.center, "inner": first, "components": np.eye(len(first)) if C is None else C}
    kernel, basis, weights, offset = kernel_map(inner)
    name, parameters = _parameters(kernel, inner.owner)
    numbers = {key: np.asarray(value) for key, value in parameters.items()}
    return {"kernel": np.asarray(name), **numbers, "basis": basis, "weights": weights, "offset": offset}


def _parameters(kernel: Kernel, owner: str) -> tuple[str, dict[str, float]]:
    if isinstance(kernel, Gaussian) and kernel.metric is None:
        return "gaussian", {"scale": kernel.scale}
    if isinstance(kernel, Polynomial):
        return "polynomial", {"degree": kernel.degree, "offset_of_kernel": kernel.offset, "scale": kernel.scale}
    raise TypeError(f"{owner}: the kernel {_checks.shown(kernel)} has no NumPy form; export it as onnx.")


def apply_npz(path: Path, X: np.ndarray) -> np.ndarray:
    """Run written arrays on points."""
    with np.load(path, allow_pickle=False) as arrays:
        a = dict(arrays)
    if "inner" in a:
        return linalg.unit_rows((X - a["center"]) @ a["inner"].T) @ a["components"].T
    if "components" in a:
        return (X - a["center"]) @ a["components"].T + a["offset"]
    if str(a["kernel"]) == "gaussian":
        kernel: Kernel = Gaussian(float(a["scale"]))
    else:
        kernel = Polynomial(int(a["degree"]), float(a["offset_of_kernel"]), scale=float(a["scale"]))
    return kernel(X, a["basis"]) @ a["weights"] - a["offset"]
