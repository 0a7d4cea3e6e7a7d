"""Kernels on anything: a function of two objects, or rows of a matrix that is already there."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from gramian import _validate, linalg
from gramian.kernels.base import Kernel
from gramian.linalg import count


@dataclass(frozen=True)
class FunctionKernel(Kernel):
    """Any Python function of two objects as a kernel: for strings, graphs and sets.

    k(a, b) = function(a, b).

    Points are a sequence of objects (or the rows of an array). A Gram matrix of one set with itself calls the
    function once for each unordered pair.

    Parameters
    ----------
    function : callable (a, b) → float
        Symmetric and positive semi-definite; KernelFeatures and pivoted_cholesky warn when it is not.

    See Also
    --------
    gramian.DistanceKernel : From a distance.
    gramian.Precomputed : From a matrix of all similarities.

    Examples
    --------
    >>> import gramian as gm
    >>> shared = gm.FunctionKernel(lambda a, b: len(set(a) & set(b)))
    >>> shared(["metric", "kernel"], ["tree"]).tolist()
    [[3.0], [2.0]]
    """

    function: Callable[[Any, Any], float]
    on_vectors = False

    def _gram(self, X: Any, Y: Any) -> np.ndarray:
        K = np.empty((count(X), count(Y)))
        for i in range(K.shape[0]):
            for j in range(i if Y is X else 0, K.shape[1]):
                K[i, j] = self.function(X[i], Y[j])
        return np.triu(K) + np.triu(K, 1).T if Y is X else K

    def _pairs(self, X: Any, Y: Any) -> np.ndarray:
        return np.array([self.function(X[i], Y[i]) for i in range(count(X))], dtype=float)


@dataclass(frozen=True, eq=False)
class Precomputed(Kernel):
    """A kernel that was computed elsewhere, as a matrix.

    k(i, j) = K̃_ij on the integers 0 … n − 1, from a given symmetric matrix K = V Λ Vᵀ.

    Points are row numbers: a list or array of integers, or one column of them. A matrix that is not positive
    semi-definite (a similarity somebody measured) is repaired through its spectrum, K̃ = V s(Λ) Vᵀ.

    Parameters
    ----------
    matrix : array (n, n), symmetric
        The kernel of all pairs of points.
    spectrum : {"keep", "clip", "flip", "shift"}
        s(λ) is λ, max(λ, 0), |λ|, or λ − min(λ_min, 0).

    See Also
    --------
    gramian.FunctionKernel : Computes similarities when they are needed.
    gramian.Kernelized : Learns on them.

    Examples
    --------
    >>> import gramian as gm
    >>> gm.Precomputed([[1.0, 2.0], [2.0, 1.0]], spectrum="clip")([0, 1]).round(6).tolist()
    [[1.5, 1.5], [1.5, 1.5]]
    """

    matrix: np.ndarray
    spectrum: Literal["keep", "clip", "flip", "shift"] = "keep"
    on_vectors = False

    def __post_init__(self) -> None:
        super().__post_init__()
        K = _validate.points(self.matrix, "Precomputed", name="matrix", allow_sparse=False).astype(np.float64)
        if K.shape[0] != K.shape[1] or np.abs(K - K.T).max() > 1e-8 * np.abs(K).max():
            raise ValueError(f"Precomputed: matrix must be square and symmetric, got shape {K.shape}.")
        K = _repaired(linalg.symmetrize(K), self.spectrum)
        K.flags.writeable = False
        object.__setattr__(self, "matrix", K)

    def accept(self, X: Any, name: str = "X") -> np.ndarray:
        """Return X as row numbers below n."""
        rows = np.asarray(X)
        rows = rows[:, 0] if rows.ndim == 2 and rows.shape[1] == 1 else rows
        if rows.dtype.kind == "f" and np.array_equal(rows, np.floor(rows)):
            rows = rows.astype(np.intp)
        return _validate.indices(rows, "Precomputed", name, self.matrix.shape[0])

    def _gram(self, X: Any, Y: Any) -> np.ndarray:
        return self.matrix[np.ix_(X, Y)]

    def _pairs(self, X: Any, Y: Any) -> np.ndarray:
        return self.matrix[X, Y]

    def _state(self) -> dict[str, Any]:
        return {"matrix": self.matrix}  # already repaired


def _repaired(K: np.ndarray, spectrum: str) -> np.ndarray:
    if spectrum == "keep":
        return K
    values, vectors = linalg.eigh(K)
    repair = {"clip": np.maximum(values, 0), "flip": np.abs(values), "shift": values - min(values[0], 0.0)}
    return linalg.symmetrize((vectors * repair[spectrum]) @ vectors.T)


def as_kernel(value: Any, owner: str) -> Kernel:
    """Return a Kernel, wrapping a plain function of two objects."""
    if isinstance(value, Kernel):
        return value
    if callable(value):
        return FunctionKernel(value)
    raise TypeError(f"{owner}: kernel must be a Kernel or a function of two objects, got {type(value).__name__}.")
