"""Kernels from distances, and how far a distance is from being Hilbertian."""

from collections.abc import Callable, Iterable
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Literal

import numpy as np
from scipy import sparse

from gramian import linalg
from gramian._settings import Size, check, shown
from gramian.kernels.base import Kernel
from gramian.linalg import count, take
from gramian.persist import Stored


@dataclass(frozen=True, eq=False)
class DistanceKernel(Kernel):
    """Turn a distance into a kernel.

    k(q, q′) = g(q) − ½ d²(q, q′) + g(q′), from any Hilbertian distance d (Epstein and Betke, (3)).

    Its distance in feature space is d again, whatever g is. With g(q) = ½ d²(q, origin) the kernel is positive
    semi-definite for every Hilbertian d. With a constant g it is so only on points of a common sphere (binary images
    under the root of the Hamming distance lie on one), for a constant that is large enough.

    Parameters
    ----------
    distance : callable (a, b) → d, not squared
        A batch form ``distance.pairwise(A, B)`` is used when there is one; a :class:`~gramian.Mahalanobis` or
        another metric of this package serves as well. Calls of a function are shared among the workers of
        ``joblib.parallel_config(n_jobs=…)``.
    g : {"constant", "origin"} or callable
        A function of one object, g(q) ≥ 0, is taken as it is.
    constant : float, optional
        Value of a constant g.
    origin : object, optional
        The point with g = 0.

    Notes
    -----
    A kernel without its constant or origin takes them from the points: the origin is the first point of Y (of X when
    there is no Y), the constant half the largest squared distance to it. ``bound(X)`` settles them for good on X;
    KernelFeatures, pivoted_cholesky and SubsetDistance do so with their training set.

    See Also
    --------
    gramian.Hamming : A distance to begin with.
    gramian.SubsetDistance : For distances that are expensive.
    gramian.FunctionKernel : From a similarity.

    Examples
    --------
    >>> import gramian as gm
    >>> k = gm.DistanceKernel(lambda a, b: abs(a - b), g="origin", origin=0.0)
    >>> k([1.0, 2.0], [3.0]).tolist()
    [[3.0], [6.0]]
    """

    distance: Callable[[Any, Any], float]
    g: Literal["constant", "origin"] | Callable[[Any], float] = "constant"
    _: KW_ONLY
    constant: Size | None = None
    origin: Any = None
    on_vectors = False

    def accept(self, X: Any, name: str = "X") -> Any:
        """Return X as a sequence of at least one object."""
        if sparse.issparse(X):
            raise TypeError(f"DistanceKernel: {name} must hold objects, got a sparse matrix; pass it dense.")
        X = super().accept(X, name)
        if count(X) == 0:
            raise ValueError(f"DistanceKernel: {name} must hold at least one object, got none.")
        return X

    def bound(self, X: Any) -> "DistanceKernel":
        """Return this kernel with its constant, or its origin, taken from X where it is not given."""
        if self.g == "origin":
            return self if self.origin is not None else replace(self, origin=X[0])
        if self.constant is not None or callable(self.g):
            return self
        return replace(self, constant=float(self.squared(take(X, slice(1)), X).max()) / 2)

    def squared(self, X: Any, Y: Any) -> np.ndarray:
        """d² between all objects of X and of Y, (n, m); each unordered pair once when Y is X."""
        if hasattr(self.distance, "sqdist"):
            D = self.distance.sqdist(X, None if Y is X else Y)
        elif hasattr(self.distance, "pairwise"):
            D = np.asarray(self.distance.pairwise(X, Y), dtype=np.float64) ** 2
        else:
            D = self._one_by_one(X, Y)
        if not np.isfinite(D).all():
            raise ValueError("DistanceKernel: distance must be finite, got NaN or infinity.")
        return D

    def _one_by_one(self, X: Any, Y: Any) -> np.ndarray:
        D = np.zeros((count(X), count(Y)))
        starts = [i + 1 if Y is X else 0 for i in range(len(D))]
        calls = ((X[i], take(Y, slice(start, None))) for i, start in enumerate(starts))
        for i, row in enumerate(called(self._row, calls)):
            D[i, starts[i] :] = row
        with np.errstate(over="ignore"):  # what overflows is refused with all that is not finite
            D *= D
        return D + D.T if Y is X else D

    def _row(self, x: Any, Y: Any) -> list[float]:
        return [self._between(x, Y[j]) for j in range(count(Y))]

    def _between(self, x: Any, y: Any) -> float:
        value = self.distance(x, y)
        try:
            return float(value)
        except (TypeError, ValueError) as error:
            raise TypeError(f"DistanceKernel: distance must return a number, got {shown(value)}.") from error

    def _g(self, X: Any) -> np.ndarray:
        if callable(self.g):
            values = np.array([float(self.g(X[i])) for i in range(count(X))])
            if not (np.isfinite(values).all() and (values >= 0).all()):
                raise ValueError(f"DistanceKernel: g must be finite and nonnegative, got {values.min():.3g}.")
            return values
        if self.g == "constant":
            return np.full(count(X), self.constant)
        origin = np.asarray(self.origin)[None] if isinstance(X, np.ndarray) else [self.origin]
        return self.squared(X, origin)[:, 0] / 2

    def _gram(self, X: Any, Y: Any) -> np.ndarray:
        kernel = self.bound(Y)
        g = kernel._g(X)
        return g[:, None] - kernel.squared(X, Y) / 2 + (g if Y is X else kernel._g(Y))  # (3)

    def _diag(self, X: Any) -> np.ndarray:
        return 2 * self.bound(X)._g(X)

    def _pairs(self, X: Any, Y: Any) -> np.ndarray:
        kernel = self.bound(Y)
        pairs = range(count(X))
        squared = np.array([kernel.squared(take(X, [i]), take(Y, [i]))[0, 0] for i in pairs])
        return kernel._g(X) - squared / 2 + kernel._g(Y)

    def sqdist(self, X: Any, Y: Any | None = None) -> np.ndarray:
        """d², by definition."""
        X = self.check(X)
        return self.squared(X, X if Y is None else self.check(Y, "Y"))


def called(function: Callable[..., Any], calls: Iterable[tuple[Any, ...]]) -> Iterable[Any]:
    """Values of a function, in order; by as many workers as ``joblib.parallel_config`` says, and here by default."""
    from joblib import Parallel, delayed
    from joblib.parallel import get_active_backend

    if (get_active_backend()[1] or 1) == 1:
        return (function(*arguments) for arguments in calls)
    values: Iterable[Any] = Parallel()(delayed(function)(*arguments) for arguments in calls)
    return values


def negative_share(D: np.ndarray, size: float = 0.0) -> float:
    """How far squared distances D (n, n) are from Hilbertian: Σ|λ₋| / Σ|λ| of −½ J D J, zero when they are.

    J centers; a matrix of squared distances embeds in a Hilbert space exactly when −½ J D J is PSD. Eigenvalues that
    rounding of numbers as large as ``size`` explains, such as the kernel values behind D, count as zero.
    """
    B = D - D.mean(axis=0)
    B = -(B - B.mean(axis=1)[:, None]) / 2
    values = np.linalg.eigvalsh(linalg.symmetrize(B)) if B.size else np.zeros(1)
    values[np.abs(values) <= len(values) * np.finfo(float).eps * size] = 0.0
    total = np.abs(values).sum()
    share = float(-values[values < 0].sum() / total) if total > 0 else 0.0
    return share if share > len(values) * np.finfo(float).eps * 10 else 0.0


@dataclass(frozen=True)
class Hamming(Stored):
    """Number of places at which two thresholded vectors differ: the distance of Epstein and Betke, §10.

    Parameters
    ----------
    threshold : float
        A place is on when its value is above it.
    root : bool
        Return the root of the count. The root is Hilbertian (binary images then are corners of a cube); the count
        itself is a distance, but need not embed in a Hilbert space.

    See Also
    --------
    gramian.DistanceKernel : Makes a kernel of it.

    Examples
    --------
    >>> import gramian as gm
    >>> gm.Hamming(threshold=0.5)([0.9, 0.1, 0.2], [0.7, 0.8, 0.0])
    1.0
    """

    threshold: float = 0.5
    root: bool = False

    def __post_init__(self) -> None:
        check(self)

    def __call__(self, a: Any, b: Any) -> float:
        """Distance of two vectors (images are flattened)."""
        count = float(((np.asarray(a) > self.threshold) != (np.asarray(b) > self.threshold)).sum())
        return count**0.5 if self.root else count

    def pairwise(self, A: Any, B: Any) -> np.ndarray:
        """Distances of all vectors of A to all of B, (n, m)."""
        A, B = (np.reshape(np.asarray(X) > self.threshold, (len(X), -1)).astype(np.float64) for X in (A, B))
        count = A.sum(axis=1)[:, None] + B.sum(axis=1) - 2 * A @ B.T
        return np.sqrt(count) if self.root else count
