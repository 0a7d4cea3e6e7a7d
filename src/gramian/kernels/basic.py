"""Kernels on vectors, dense or sparse."""

from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Annotated, Any, Literal

import numpy as np

from gramian import _validate, linalg
from gramian._arrays import Matrix, foreign, namespace, to_numpy
from gramian._settings import Count, Positive, Rule, SettingError, Size, holds
from gramian.kernels.base import ByVectors, Kernel

Width = Annotated[Any, Rule("'median' or a number in (0, inf)", partial(holds, Literal["median"] | Positive))]
"""A number wherever one computes with it: see ``bound``."""
Measure = Annotated[Any, Rule("a Metric", lambda value: hasattr(value, "sqdist"), SettingError)]


@dataclass(frozen=True)
class Linear(Kernel):
    """The inner product of the vectors as they are.

    k(x, y) = xᵀy.

    See Also
    --------
    gramian.Polynomial : Products of features as well.
    gramian.Cosine : Whatever the lengths.

    Examples
    --------
    >>> import gramian as gm
    >>> gm.Linear()([[1.0, 2.0]], [[3.0, 4.0]]).tolist()
    [[11.0]]
    """

    linear = True

    def _phi(self, X: Matrix) -> Any:
        return X

    def _gram(self, X: Matrix, Y: Matrix) -> np.ndarray:
        return linalg.inner(X, Y)

    def _diag(self, X: Matrix) -> np.ndarray:
        return linalg.row_norms(X)

    def _pairs(self, X: Matrix, Y: Matrix) -> np.ndarray:
        return linalg.row_inner(X, Y)


@dataclass(frozen=True)
class Polynomial(Kernel):
    """Similarity that counts products of features as well.

    k(x, y) = (scale · xᵀy + offset)^degree.

    Parameters
    ----------
    degree : int
        The power.
    offset : float, ≥ 0
        Added before the power is taken; 0 leaves only terms of the full degree.
    scale : float, > 0
        Multiplies the inner product.

    See Also
    --------
    gramian.Linear : Without products.
    gramian.Gaussian : Fades with the distance.

    Examples
    --------
    >>> import gramian as gm
    >>> gm.Polynomial(degree=2)([[1.0, 2.0]], [[3.0, 4.0]]).tolist()
    [[144.0]]
    """

    degree: Count = 3
    offset: Size = 1.0
    _: KW_ONLY
    scale: Positive = 1.0

    def _gram(self, X: Matrix, Y: Matrix) -> np.ndarray:
        return self._of(linalg.inner(X, Y))

    def _diag(self, X: Matrix) -> np.ndarray:
        return self._of(linalg.row_norms(X))

    def _pairs(self, X: Matrix, Y: Matrix) -> np.ndarray:
        return self._of(linalg.row_inner(X, Y))

    def _of(self, products: np.ndarray) -> np.ndarray:
        values = self.scale * products + self.offset
        if _validate.largest(values) > _validate.LARGEST ** (1 / self.degree):
            raise ValueError(f"Polynomial: degree must be lower for X of this size, got {self.degree}; or rescale X.")
        return values**self.degree


@dataclass(frozen=True)
class Gaussian(Kernel):
    """Similarity that fades with the distance.

    k(x, y) = exp(−d²(x, y) / (2 scale²)), with the Euclidean distance or any learned metric.

    Parameters
    ----------
    scale : float, > 0, or "median"
        The width σ; "median" is the median distance of the points that a learner or :class:`~gramian.KernelFeatures`
        is fitted on (``bound(X)`` gives that kernel for points X).
    metric : Metric, optional
        The distance d; Euclidean when None.

    See Also
    --------
    gramian.Laplacian : Less smooth.
    gramian.Kernelized : Learns in the space of a kernel.

    Examples
    --------
    >>> import gramian as gm
    >>> gm.Gaussian("median").bound([[0.0], [2.0]]).scale
    2.0
    >>> gm.Gaussian(scale=2.0)([[0.0]], [[2.0]]).round(6).tolist()
    [[0.606531]]
    """

    scale: Width = 1.0
    metric: Measure | None = None

    def bound(self, X: Any) -> "Gaussian":
        """The same kernel with the median distance of the points X as its scale, where that was asked for."""
        if not isinstance(self.scale, str):
            return self
        X = self.check(X)
        return Gaussian(median_scale(X if self.metric is None else self.metric.transform(X)), self.metric)

    def _gram(self, X: Matrix, Y: Matrix) -> np.ndarray:
        if self.metric is None:
            D = linalg.sqdist(X, None if Y is X else Y)
        else:
            D = self.metric.sqdist(X, None if Y is X else Y)
        return self._decayed(D)

    def _diag(self, X: Matrix) -> np.ndarray:
        return linalg.full(X.shape[0], 1.0, X)

    def _pairs(self, X: Matrix, Y: Matrix) -> np.ndarray:
        if self.metric is None:
            d = linalg.pair_sqdist(X, Y)
        else:
            d = self.metric.pair_sqdist(X, Y)
        return self._decayed(d)

    def _decayed(self, D: np.ndarray) -> np.ndarray:
        """exp(−D / 2 scale²), in place on the host; no scale overflows on the way."""
        if isinstance(self.scale, str):
            raise ValueError(
                "Gaussian: scale must be a number to compute with, got 'median'; take kernel.bound(X) with the points "
                "whose median distance is meant."
            )
        if foreign(D):
            return namespace(D).exp(D / self.scale * -0.5 / self.scale)
        with np.errstate(over="ignore", under="ignore"):
            D /= self.scale
            D *= -0.5
            D /= self.scale
            return np.exp(D, out=D)


def median_scale(X: Matrix, most: int = 500) -> float:
    """The median distance of the points X, from all pairs of at most ``most`` of them; 1 when all are equal."""
    D = to_numpy(linalg.sqdist(linalg.take(X, linalg.spread(X.shape[0], most))))
    D = D[D > 0]
    return float(np.sqrt(np.median(D))) if D.size else 1.0


@dataclass(frozen=True)
class Laplacian(Kernel):
    """Similarity that fades with the sum of differences; less smooth than the Gaussian.

    k(x, y) = exp(−‖x − y‖₁ / scale).

    Parameters
    ----------
    scale : float
        Width, in units of the distance.

    See Also
    --------
    gramian.Gaussian : Smoother.
    gramian.ChiSquared : For histograms.

    Examples
    --------
    >>> import gramian as gm
    >>> gm.Laplacian(scale=2.0)([[0.0, 0.0]], [[1.0, 1.0]]).round(6).tolist()
    [[0.367879]]
    """

    scale: Positive = 1.0

    def _gram(self, X: Matrix, Y: Matrix) -> np.ndarray:
        return namespace(X).exp(-linalg.manhattan(X, Y) / self.scale)

    def _diag(self, X: Matrix) -> np.ndarray:
        return linalg.full(X.shape[0], 1.0, X)

    def _pairs(self, X: Matrix, Y: Matrix) -> np.ndarray:
        if foreign(X):
            return namespace(X).exp(-namespace(X).sum(abs(X - Y), axis=1) / self.scale)
        return np.exp(-linalg.dense(abs(X - Y).sum(axis=1)).ravel() / self.scale)


@dataclass(frozen=True)
class Cosine(ByVectors):
    """Similarity of directions, whatever the lengths: for texts and embeddings.

    k(x, y) = xᵀy / (‖x‖ ‖y‖); a zero vector has kernel zero with everything.

    See Also
    --------
    gramian.Linear : Lengths count too.
    gramian.Gaussian : Fades with the distance.

    Examples
    --------
    >>> import gramian as gm
    >>> gm.Cosine()([[1.0, 0.0]], [[1.0, 1.0], [0.0, 0.0]]).round(6).tolist()
    [[0.707107, 0.0]]
    """

    def _phi(self, X: Matrix) -> Any:
        return linalg.unit_rows(X)

    def _diag(self, X: Matrix) -> np.ndarray:
        return linalg.double(linalg.row_norms(X) > 0)
