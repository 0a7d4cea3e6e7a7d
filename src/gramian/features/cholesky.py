"""Pivoted (incomplete) Cholesky factorization of a kernel matrix, a few columns at a time.

Both pivot rules pick many pivots from one small candidate block before any long kernel column is evaluated, and
both pick exactly what they would pick one column at a time:

- greedy: the residual of a point never rises, so a candidate whose updated residual still exceeds all residuals
  outside of the block is the next greedy pivot;
- random: a candidate drawn by the old residuals and accepted with probability new/old is drawn by the new ones
  (Epperly, Tropp and Webber 2024, accelerated randomly pivoted Cholesky).
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from gramian import _validate, linalg
from gramian._arrays import foreign, namespace, put, to_numpy
from gramian._settings import Count, Seed, Size, checked
from gramian.kernels.base import Kernel
from gramian.kernels.objects import as_kernel
from gramian.linalg import count, take

FLOOR = 1e-12
"""A residual below this share of k(x, x) is rounding: the point counts as explained."""
_INDEFINITE = 1e-7


@dataclass(frozen=True, eq=False)
class PivotedCholesky:
    """K ≈ factor factorᵀ: ``factor`` (n, r), ``pivots`` (r,) into X, the trace left ``residual``, and ``trace``."""

    factor: np.ndarray
    pivots: np.ndarray
    residual: float
    trace: float


@checked
def pivoted_cholesky(
    kernel: Any,
    X: Any,
    *,
    rank: Count | None = None,
    tol: Size = 1e-2,
    pivots: Literal["greedy", "random"] = "greedy",
    random_state: Seed = None,
) -> PivotedCholesky:
    """Describe all points by a few of them, as far as a kernel sees.

    Factor K ≈ C Cᵀ, stopping when tr(K − C Cᵀ) ≤ tol · tr(K) or at the given rank (Teixeira et al. 2008, §2.1, §4).

    The pivot rows of C form the triangular L of their (4), K_r = L Lᵀ here, and C Cᵀ is the Nyström approximation (2)
    on the pivots. K is never formed: r columns and some small blocks of it are evaluated, in n × r memory.

    Parameters
    ----------
    kernel : Kernel, or a function k(a, b) of two objects
        The similarity to factor.
    X : points (dense, sparse, or a sequence of objects)
        The points whose Gram matrix is factored.
    rank : int, optional
        Largest rank; n when None.
    tol : float
        Trace error to stop at, relative to the trace of K. With 0 every point is explained to rounding.
    pivots : {"greedy", "random"}
        Next pivot: the largest residual (the paper), or drawn in proportion to the residuals.
    random_state : int or generator, optional
        Draws, where there are any: the same number gives the same result.

    Returns
    -------
    PivotedCholesky
        ``.factor`` (n, r), ``.pivots`` (r,), ``.residual`` (trace left), ``.trace``.

    Notes
    -----
    An indefinite kernel matrix shows as a residual well below zero. Such residuals are set to zero, and one warning
    says how far below they were. Where k(x, x) = 0 there is no residual to tell, and k(x, y) ≠ 0 is an error.

    See Also
    --------
    gramian.KernelFeatures : Also for new points.
    gramian.select_subset : A few members of a set.

    Examples
    --------
    >>> import numpy as np, gramian as gm
    >>> X = np.linspace(0, 1, 50)[:, None]
    >>> gm.pivoted_cholesky(gm.Gaussian(0.5), X, tol=1e-6).factor.shape[1] < 10
    True
    """
    owner = "pivoted_cholesky"
    kernel = as_kernel(kernel, owner)
    X = kernel.check(X)
    rng = _validate.random(random_state, owner)
    return factorize(kernel.bound(X), X, rank, tol, greedy=pivots == "greedy", rng=rng)


def factorize(
    kernel: Kernel, X: Any, rank: int | None = None, tol: float = 0.0, greedy: bool = True, rng: Any = None
) -> PivotedCholesky:
    """:func:`pivoted_cholesky` of points that were checked, by a kernel that is bound to them."""
    n = count(X)
    return _Factorization(kernel, X, n if rank is None else min(rank, n)).run(tol, greedy, rng)


class _Factorization:
    """The growing factor, and what is left of the diagonal."""

    def __init__(self, kernel: Kernel, X: Any, rank: int):
        self.kernel, self.X, self.rank, self.n = kernel, X, rank, count(X)
        self.diagonal = linalg.double(linalg.dense(kernel._diag(X)))  # (n,), where the points are
        if not np.isfinite(linalg.total(self.diagonal)):
            raise ValueError(f"pivoted_cholesky: {type(kernel).__name__} gave NaN or infinity for k(x, x).")
        self.left = linalg.at_least(self.diagonal, 0.0)
        self.scale = _validate.largest(self.diagonal)
        self.lowest = min(lowest_of(self.diagonal), 0.0)
        self._check_zeros()
        self.pivots = np.zeros(0, np.intp)
        # Column-major: the columns in use are one block, and those not reached yet take no memory.
        self.factor = self._columns(min(rank, 256))

    def _columns(self, width: int) -> np.ndarray:
        if foreign(self.left):
            return linalg.empty((self.n, width), self.left)
        return np.empty((self.n, width), order="F")

    def _check_zeros(self) -> None:
        """Points with k(x, x) = 0 are never pivots, so that what they have with each other must be seen beforehand.

        |k(x, y)|² ≤ k(x, x) k(y, y) asks it to be zero. Up to 64 of them are compared with all of them.
        """
        zero = np.flatnonzero(to_numpy(self.diagonal) == 0)
        sample = zero[:: -(-len(zero) // 64) or 1]
        points = take(self.X, zero)
        for rows in linalg.blocks(len(sample), 8 * len(zero)):
            entry = _validate.largest(self.kernel._gram(take(self.X, sample[rows]), points))
            if not entry <= _INDEFINITE * self.scale:
                raise ValueError(
                    f"pivoted_cholesky: the kernel matrix must be positive semi-definite, got |k(x, y)| = {entry:.3g} "
                    f"where k(x, x) = k(y, y) = 0; DistanceKernel makes a kernel of a distance, and "
                    f"Precomputed(K, spectrum='clip') repairs a matrix."
                )

    def run(self, tol: float, greedy: bool, rng: np.random.RandomState) -> PivotedCholesky:
        trace = linalg.total(self.left)
        size = int(np.clip(np.sqrt(self.n), 1, 256))  # a candidate block costs about one kernel column
        while len(self.pivots) < self.rank and linalg.total(self.left) > tol * trace:
            if greedy:
                candidates, outside = largest(self.left, size)
                bar = np.full(len(candidates), outside)
            else:
                left = to_numpy(self.left)
                candidates = drawn(left, size, rng)
                bar = rng.uniform(size=size) * left[candidates]
            floor = FLOOR * to_numpy(take(self.diagonal, candidates))
            H = self._residual_gram(candidates)
            picked, L = pick(H, floor, bar, self.rank - len(self.pivots), greedy)
            self._extend(candidates[picked], L)
            self._absorb(candidates[picked], tol * trace)
        if self.lowest < -_INDEFINITE * self.scale:
            _validate.warn(
                f"pivoted_cholesky: the kernel matrix must be positive semi-definite, got a residual of "
                f"{self.lowest:.3g} against the largest k(x, x) {self.scale:.3g}; negative parts count as zero "
                f"(Precomputed(K, spectrum='clip') repairs a matrix).",
            )
        return PivotedCholesky(self.factor[:, : len(self.pivots)], self.pivots, linalg.total(self.left), trace)

    def _residual_gram(self, rows: np.ndarray) -> np.ndarray:
        points = take(self.X, rows)
        F = take(self.factor[:, : len(self.pivots)], rows)
        H = to_numpy(linalg.symmetrize(self.kernel._gram(points, points) - F @ F.T))
        H = H if H.flags.writeable else H.copy()
        np.fill_diagonal(H, to_numpy(take(self.left, rows)))
        return H

    def _extend(self, picked: np.ndarray, L: np.ndarray) -> None:
        """Append the columns (K − C Cᵀ)[:, picked] L⁻ᵀ, a block of rows at a time: (4) of Teixeira et al."""
        start = len(self.pivots)
        stop = len(self.pivots) + len(picked)
        if stop > self.factor.shape[1]:
            wider = self._columns(min(max(stop, 2 * self.factor.shape[1]), self.rank))
            wider[:, :start] = self.factor[:, :start]
            self.factor = wider
        points = take(self.X, picked)
        F = take(self.factor[:, :start], picked)
        width = self.X.shape[1] if getattr(self.X, "ndim", 1) == 2 else 1
        for rows in linalg.blocks(self.n, 8 * (2 * width + 4 * len(picked)), of=self.left):
            G = self.kernel._gram(take(self.X, rows), points) - self.factor[rows, :start] @ F.T
            self.factor[rows, start:stop] = linalg.solve_lower(L, G.T).T
        columns = self.factor[:, start:stop]
        if not np.isfinite(linalg.total(columns)):
            raise ValueError(f"pivoted_cholesky: {type(self.kernel).__name__} gave NaN or infinity.")
        put(columns, (self.pivots,), 0.0)
        put(columns, (picked,), L)

    def _absorb(self, picked: np.ndarray, goal: float) -> None:
        """Take the new columns out of the diagonal one at a time, and drop those after the goal is met."""
        for pivot in picked:
            self.left -= self.factor[:, len(self.pivots)] ** 2
            self.lowest = min(self.lowest, lowest_of(self.left))
            self.left[self.left < FLOOR * self.diagonal] = 0.0
            self.left = linalg.at_least(self.left, 0.0)
            self.left[int(pivot)] = 0.0
            self.pivots = np.append(self.pivots, pivot)
            if linalg.total(self.left) <= goal:
                break


def largest(left: np.ndarray, size: int) -> tuple[np.ndarray, float]:
    """Rows of the largest residuals, ascending, and the largest residual outside of them."""
    left = to_numpy(left)
    if size >= len(left):
        return np.arange(len(left)), 0.0
    order = np.argpartition(left, len(left) - size - 1)
    rows, outside = order[len(left) - size :], left[order[len(left) - size - 1]]
    # Among ties the first row wins, as it would one column at a time.
    return np.union1d(rows, [int(left.argmax())]), float(outside)


def lowest_of(values: Any) -> float:
    """The smallest entry, 0 where there is none."""
    return float(namespace(values).min(values)) if 0 not in values.shape else 0.0


def drawn(left: np.ndarray, size: int, rng: np.random.RandomState) -> np.ndarray:
    """Rows drawn with replacement in proportion to the residuals."""
    steps = np.cumsum(left)
    rows = np.searchsorted(steps, rng.uniform(size=size) * steps[-1], side="right")
    return np.minimum(rows, int(np.flatnonzero(left)[-1]))


def pick(H: np.ndarray, floor: np.ndarray, bar: np.ndarray, limit: int, greedy: bool) -> tuple[np.ndarray, np.ndarray]:
    """Pivots among the candidates with residual Gram matrix H, and their triangular factor L (lower).

    Candidate i counts while its residual exceeds bar_i. Greedy: the largest first, up to one that does not. Random: all
    in order. The first pick never fails.
    """
    left, C = H.diagonal().copy(), np.zeros_like(H)
    picked: list[int] = []
    for step in range(len(H)):
        i = int(left.argmax()) if greedy else step
        if picked and left[i] <= bar[i]:
            if greedy:
                break
            continue
        k = len(picked)
        C[:, k] = (H[:, i] - C[:, :k] @ C[i, :k]) / np.sqrt(left[i])
        left -= C[:, k] ** 2
        left[left < floor] = 0.0
        left[i] = 0.0
        picked.append(i)
        if len(picked) == limit:
            break
    return np.array(picked, np.intp), np.tril(C[picked, : len(picked)])
