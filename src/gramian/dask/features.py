"""Kernel coordinates over blocks: pivoted Cholesky whose residuals stay with their blocks."""

from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from gramian import _checks, linalg
from gramian._settings import check
from gramian.dask import passes
from gramian.dask.blocks import OWNER
from gramian.dask.rows import Rows
from gramian.dask.views import View, summed
from gramian.features.cholesky import FLOOR, PivotedCholesky, drawn, factorize, largest, pick
from gramian.features.landmarks import uniform
from gramian.features.nystrom import KernelFeatures, lower_inverse
from gramian.kernels import Gaussian
from gramian.kernels.objects import as_kernel

BASES = ("cholesky", "random-cholesky", "uniform")
MOST = 256
"""Candidates that are looked at between two passes."""


class Pivots:
    """Pivots P (r, d) and the triangular L of k(P, P) = LLᵀ; all else of a factorization is computed from them."""

    def __init__(self, kernel: Any, width: int) -> None:
        self.kernel = kernel
        self.points, self.L = np.zeros((0, width)), np.zeros((0, 0))

    def factor(self, X: np.ndarray) -> np.ndarray:
        """Rows L⁻¹k_P(x) of the factor."""
        G = self.kernel._gram(X, self.points)
        return solve_triangular(self.L, G.T, lower=True, check_finite=False).T if len(self.points) else G

    def residual(self, X: np.ndarray) -> np.ndarray:
        """What is left of k(x, x)."""
        diagonal = np.maximum(self.kernel._diag(X), 0)
        left = diagonal - linalg.row_norms(self.factor(X))
        return np.where(left < FLOOR * diagonal, 0.0, left)

    def grown(self, X: np.ndarray, L: np.ndarray) -> "Pivots":
        """With new pivots, whose residual matrix has the factor L."""
        more = Pivots(self.kernel, self.points.shape[1])
        more.points = np.concatenate([self.points, X])
        more.L = np.block([[self.L, np.zeros((len(self.L), len(L)))], [self.factor(X), L]])
        return more

    def first(self, count: int) -> "Pivots":
        """The first of the pivots."""
        fewer = Pivots(self.kernel, self.points.shape[1])
        fewer.points, fewer.L = self.points[:count], self.L[:count, :count]
        return fewer


def choose_pivots(kernel: Any, X: Rows, rank: int, tol: float, greedy: bool, rng: Any) -> Pivots:
    """The pivots of :func:`.pivoted_cholesky`, a pass over the blocks for every few of them.

    A pass computes all residuals anew from the pivots, O(n r d), and keeps nothing. Random pivots come many at
    a time; greedy ones one at a time where residuals are equal, as at the start of a Gaussian kernel.
    """
    pivots, trace = Pivots(kernel, X.shape[1]), None
    size = int(np.clip(np.sqrt(len(X)), 1, MOST))
    while len(pivots.points) < rank:
        rows, bar, left = _candidates(X, pivots, size, greedy, rng)
        trace = left if trace is None else trace
        if left <= tol * trace or left == 0:
            break
        points = linalg.gathered(X[rows])
        F = pivots.factor(points)
        H = linalg.symmetrize(kernel._gram(points, points) - F @ F.T)
        residual = pivots.residual(points)
        np.fill_diagonal(H, residual)
        floor = FLOOR * np.maximum(kernel._diag(points), 0)
        before = len(pivots.points)
        picked, L = pick(H, floor, bar(residual), rank - before, greedy)
        pivots = pivots.grown(points[picked], L)
        if tol > 0:  # those after the goal is met are dropped
            met = np.flatnonzero(passes.total(X, traces_of, pivots, before) <= tol * trace)
            pivots = pivots.first(before + 1 + int(met[0])) if len(met) else pivots
    return pivots


def _candidates(X: Rows, pivots: Pivots, size: int, greedy: bool, rng: Any) -> tuple[np.ndarray, Any, float]:
    """Rows to pick from, the bar that each must pass, and the trace that is left."""
    if not greedy:
        left = passes.laid(X, residual_of, pivots)
        rows = drawn(left, size, rng) if left.any() else np.zeros(0, np.intp)
        share = rng.uniform(size=size)
        return rows, lambda residual: share * residual, float(left.sum())
    names, left, total = passes.total(X, largest_of, pivots, size, each=np.arange(len(X)), merge=_largest_of_all)
    order = np.argsort(names)
    at, outside = largest(left[order], size)
    return names[order][at], lambda residual: np.full(len(at), outside), total


def residual_of(part: Any, chosen: Any, view: View, pivots: Pivots) -> np.ndarray:
    """Residuals of the rows of a block."""
    V = view.of(part, chosen)
    return np.concatenate([pivots.residual(V[rows]) for rows in _rows(V, pivots)])


def _rows(V: np.ndarray, pivots: Pivots) -> Any:
    return linalg.blocks(len(V), 32 * (len(pivots.points) + V.shape[1]), 16 << 20)


def traces_of(part: Any, chosen: Any, view: View, pivots: Pivots, before: int) -> np.ndarray:
    """The trace of a block that is left after each of the pivots from ``before`` on."""
    V = view.of(part, chosen)
    total = np.zeros(len(pivots.points) - before)
    for rows in _rows(V, pivots):
        diagonal = np.maximum(pivots.kernel._diag(V[rows]), 0)[:, None]
        left = diagonal - np.cumsum(pivots.factor(V[rows]) ** 2, axis=1)[:, before:]
        total += np.where(left < FLOOR * diagonal, 0.0, left).sum(axis=0)
    return total


def largest_of(
    part: Any, chosen: Any, view: View, names: np.ndarray, pivots: Pivots, size: int
) -> tuple[np.ndarray, np.ndarray, float]:
    """The largest residuals of a block with the numbers of their rows, and the sum of all."""
    left = residual_of(part, chosen, view, pivots)
    top = np.lexsort((names, -left))[: size + 1]
    return names[top], left[top], float(left.sum())


def _largest_of_all(results: list[tuple[np.ndarray, np.ndarray, float]]) -> tuple[np.ndarray, np.ndarray, float]:
    names, left, sums = zip(*results)
    return np.concatenate(names), np.concatenate(left), sum(sums)


def spread_of(part: Any, chosen: Any, view: View, features: Any, whiten: np.ndarray) -> tuple[np.ndarray, ...]:
    """Sum and Gram matrix of the coordinates of a block, and its part of the trace."""
    V = view.of(part, chosen)
    total, Q = np.zeros(len(whiten)), np.zeros((len(whiten), len(whiten)))
    for rows in linalg.blocks(len(V), 32 * (whiten.shape[1] + V.shape[1]), 16 << 20):
        C = features.kernel_._gram(V[rows], features.basis_) @ whiten.T
        total += C.sum(axis=0)
        Q += C.T @ C
    return total, Q, np.maximum(features.kernel_._diag(V), 0).sum()


class BlockedKernelFeatures(KernelFeatures):
    """Kernel coordinates of points in blocks."""

    def fit_blocks(self, X: Rows) -> None:
        """Choose the basis and compute the map."""
        check(self)
        kernel = as_kernel(Gaussian() if self.kernel is None else self.kernel, "KernelFeatures")
        if not kernel.on_vectors:
            raise TypeError(f"{OWNER}: kernel must be one on vectors, got {type(kernel).__name__}.")
        self.kernel_ = kernel
        self.basis_, inner = self._basis(X)
        whiten = np.zeros((len(inner.pivots), len(self.basis_)))
        whiten[:, inner.pivots] = lower_inverse(inner.factor[inner.pivots])
        total, Q, trace = passes.total(X, spread_of, self, whiten, merge=summed)
        self._rotate(whiten, total / len(X), Q, float(trace), len(X))

    def _basis(self, X: Rows) -> tuple[np.ndarray, PivotedCholesky]:
        if not isinstance(self.basis, str):
            points = self.kernel_.check(self.basis, "basis")
            return points.copy(), factorize(self.kernel_, points)
        if self.basis not in BASES:
            raise ValueError(f"{OWNER}: basis must be points or one of {BASES} in blocks, got {self.basis!r}.")
        rng = _checks.random(self.random_state, "KernelFeatures")
        size = self._size(len(X))
        if size is None:
            raise ValueError(f"{OWNER}: KernelFeatures needs rank or n_basis for points in blocks, got None for both.")
        if self.basis == "uniform":
            points = linalg.gathered(X[uniform(len(X), size, rng)])
            return points, factorize(self.kernel_, points)
        tol = 0.0 if self.tol is None else float(self.tol)
        pivots = choose_pivots(self.kernel_, X, size, tol, self.basis == "cholesky", rng)
        return pivots.points, PivotedCholesky(pivots.L, np.arange(len(pivots.L)), 0.0, 0.0)
