"""Kernels on histograms: vectors without negative entries."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from gramian import linalg
from gramian._arrays import Matrix, asarray, foreign, namespace
from gramian._settings import Count, Positive
from gramian.kernels.base import Kernel


class _Histograms(Kernel):
    """Kernels whose points are nonnegative."""

    _allow_sparse = True

    def accept(self, X: Any, name: str = "X") -> Any:
        owner = type(self).__name__
        if sparse.issparse(X) and not self._allow_sparse:
            raise TypeError(f"{owner}: {name} must be dense, got a sparse matrix; pass {name}.toarray().")
        X = super().accept(X, name)
        low = 0.0 if 0 in X.shape else float(X.min() if sparse.issparse(X) else namespace(X).min(X))
        if low < 0:
            raise ValueError(f"{owner}: {name} must be nonnegative (histograms), got {low:.3g}; shift or use Gaussian.")
        return X


@dataclass(frozen=True)
class ChiSquared(_Histograms):
    """Similarity of histograms in which small bins count more.

    k(x, y) = exp(−χ²(x, y) / scale) with χ²(x, y) = Σ_j (x_j − y_j)² / (x_j + y_j), and 0/0 = 0.

    With ``scale=None`` the additive kernel Σ_j 2 x_j y_j / (x_j + y_j) instead. Dense points only.

    Parameters
    ----------
    scale : float, > 0, or None
        Width, in units of χ²; None is the additive kernel.

    See Also
    --------
    gramian.Intersection : What histograms have in common.
    gramian.Gaussian : For vectors that are no histograms.

    Examples
    --------
    >>> import gramian as gm
    >>> gm.ChiSquared(2.0)([[1.0, 0.0]], [[0.0, 1.0]]).round(6).tolist()
    [[0.367879]]
    """

    scale: Positive | None = 1.0
    _allow_sparse = False

    def _of(self, chi2: np.ndarray, sums: np.ndarray) -> np.ndarray:
        # 2xy/(x + y) = ((x + y) − (x − y)²/(x + y)) / 2
        return (sums - chi2) / 2 if self.scale is None else namespace(chi2).exp(-chi2 / self.scale)

    def _gram(self, X: Matrix, Y: Matrix) -> np.ndarray:
        if foreign(X):
            return self._on_device(X, asarray(Y, X))
        from sklearn.metrics.pairwise import additive_chi2_kernel

        X, Y = (A if A.flags.writeable else A.copy() for A in (X, Y))  # its compiled loop asks for writable memory
        return self._of(-additive_chi2_kernel(X, Y), X.sum(axis=1)[:, None] + Y.sum(axis=1))

    def _on_device(self, X: Matrix, Y: Matrix) -> Any:
        xp, blocks = namespace(X), []
        for rows in linalg.blocks(X.shape[0], 40 * Y.shape[0] * Y.shape[1], of=X):
            sums = X[rows, :][:, None, :] + Y[None, :, :]
            terms = (X[rows, :][:, None, :] - Y[None, :, :]) ** 2 / xp.where(sums > 0, sums, 1.0)
            blocks.append(self._of(xp.sum(terms, axis=2), xp.sum(sums, axis=2)))
        return xp.concat(blocks) if blocks else linalg.empty((0, Y.shape[0]), X)

    def _pairs(self, X: Matrix, Y: Matrix) -> np.ndarray:
        sums = X + Y
        if foreign(X):
            xp = namespace(X)
            terms = (X - Y) ** 2 / xp.where(sums > 0, sums, 1.0)
            return self._of(xp.sum(terms, axis=1), xp.sum(sums, axis=1))
        parts = np.divide((X - Y) ** 2, sums, out=np.zeros_like(sums), where=sums > 0)
        return self._of(parts.sum(axis=1), sums.sum(axis=1))


@dataclass(frozen=True)
class Intersection(_Histograms):
    """What two histograms have in common.

    k(x, y) = Σ_j min(x_j, y_j), the histogram intersection, dense or sparse.

    For counts up to a known limit the kernel has explicit vectors: φ(x) writes each x_j in unary, x_j ones and zeros
    after them, so that min(x_j, y_j) is an inner product (Indyk and Thaper 2003; Jain 2009, §4.1.2).

    Parameters
    ----------
    levels : int, optional
        Points are counts 0, 1, …, levels, others are refused, and ``embed`` has ``levels`` coordinates for each
        feature, sparse. None: any numbers ≥ 0, without such vectors.

    See Also
    --------
    gramian.ChiSquared : Small bins count more.
    gramian.PyramidMatch : For sets of vectors.

    Examples
    --------
    >>> import gramian as gm
    >>> gm.Intersection()([[3.0, 1.0]], [[2.0, 5.0]]).tolist()
    [[3.0]]
    >>> gm.Intersection(levels=3).embed([[3, 1]]).toarray().tolist()
    [[1.0, 1.0, 1.0, 1.0, 0.0, 0.0]]
    """

    levels: Count | None = None

    def accept(self, X: Any, name: str = "X") -> Any:
        X = super().accept(X, name)
        if self.levels is None:
            return X
        values = X.data if sparse.issparse(X) else X
        xp = namespace(values)
        if not bool(xp.all((values == xp.round(values)) & (values <= self.levels))):
            raise ValueError(
                f"Intersection: {name} must be counts up to levels={self.levels}, got {_no_count(values):.6g}; "
                "round the histograms, or leave levels open."
            )
        return X

    def _phi(self, X: Matrix) -> Any:
        """Each count in unary, CSR (n, d · levels); None where counts have no limit."""
        if self.levels is None or foreign(X):
            return None
        X = sparse.csr_array(X)
        counts = X.data.astype(np.int64)
        starts = np.repeat(X.indices.astype(np.int64) * self.levels, counts)
        unit = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        ends = np.concatenate([[0], np.cumsum(counts)])[X.indptr]
        return sparse.csr_array((np.ones(len(unit)), starts + unit, ends), shape=(X.shape[0], X.shape[1] * self.levels))

    def _gram(self, X: Matrix, Y: Matrix) -> np.ndarray:
        # min(x, y) = (x + y − |x − y|) / 2
        return (_total(X)[:, None] + _total(Y) - linalg.manhattan(X, Y)) / 2

    def _diag(self, X: Matrix) -> np.ndarray:
        return _total(X)

    def _pairs(self, X: Matrix, Y: Matrix) -> np.ndarray:
        return (_total(X) + _total(Y) - _total(abs(X - Y))) / 2


def _no_count(values: Any) -> float:
    """A value that is no count, or the largest."""
    xp = namespace(values)
    broken = values[values != xp.round(values)]
    return float(broken[0] if broken.shape[0] else xp.max(values))


def _total(X: Matrix) -> np.ndarray:
    return namespace(X).sum(X, axis=1) if foreign(X) else linalg.dense(X.sum(axis=1)).ravel()
