"""Sparse nonnegative combinations of rank-one metrics: a linear program, solved by smoothing and column generation."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gramian import linalg
from gramian.solvers.base import Solution
from gramian.solvers.descent import share
from gramian.solvers.newton import Dense, Point, minimize_box

WIDTH, NARROWER = 1.0, 0.25
"""First width of the smoothed hinge, relative to the mean margin, and the factor from one width to the next."""
BATCH, STEPS, SHARP = 30, 30, 0.2
"""Bases that enter at a time; Newton steps between two looks at all bases; how well these solve, relative to tol."""


@dataclass(frozen=True, eq=False)
class Combination:
    """min_{w ≥ 0} Σ_i share_i [margin_i + Σ_k w_k ((b_kᵀa_i)² − (b_kᵀc_i)²)]₊ + Σ_k cost_k w_k.

    Rows a_i and c_i are rows of ``differences``: pair ``near[i]`` should be nearer than pair ``far[i]``.
    ``bases`` holds b_k as rows.
    """

    differences: np.ndarray
    near: np.ndarray
    far: np.ndarray
    margin: np.ndarray
    share: np.ndarray
    bases: np.ndarray
    cost: np.ndarray

    @classmethod
    def make(cls, X: np.ndarray, side: Any, bases: np.ndarray, beta: float) -> "Combination":
        """The problem of comparisons of points; a pair that occurs in several of them is kept once.

        Bases are scaled to a mean squared length of 1 over the pairs, so that β Σ w_k is β times the mean of d².
        """
        n = len(X)
        keys = np.concatenate([i * n + j for i, j in (side.near_ends, side.far_ends)])
        pairs, place = np.unique(keys, return_inverse=True)
        V = X[pairs // n] - X[pairs % n]
        size = linalg.row_inner(bases @ (V.T @ V), bases) / len(V)
        bases = bases[size > 0] / np.sqrt(size[size > 0])[:, None]
        share = side.weight / side.weight.sum()
        cost = np.full(len(bases), beta)
        return cls(V, place[: len(side)], place[len(side) :], side.margin, share, bases, cost)

    def scatter(self, lam: np.ndarray) -> np.ndarray:
        """Σ_i λ_i over the pairs, + where they should be near and − where far."""
        count = len(self.differences)
        return np.bincount(self.near, lam, count) - np.bincount(self.far, lam, count)

    def prices(self, lam: np.ndarray) -> np.ndarray:
        """Σ_i λ_i ((b_kᵀa_i)² − (b_kᵀc_i)²) for every basis, through one (d, d) scatter."""
        V = self.differences
        return linalg.row_inner(self.bases @ (V.T @ (V * self.scatter(lam)[:, None])), self.bases)

    def lengths(self, columns: np.ndarray) -> np.ndarray:
        """Squared lengths (b_kᵀv)² of all pairs for some bases, (bases, pairs)."""
        return (self.bases[columns] @ self.differences.T) ** 2

    def dual(self, lam: np.ndarray, prices: np.ndarray) -> float:
        """A lower bound of the problem: λ, made smaller until prices ≥ −cost."""
        ratio = self.cost / np.maximum(-prices, 1e-300)
        return float(self.margin @ lam) * min(1.0, float(ratio[prices < 0].min(initial=np.inf)))


@dataclass(frozen=True, eq=False)
class Smoothed:
    """The problem on some bases, with the hinge made smooth: z²/2μ on [0, μ], z − μ/2 above."""

    whole: Combination
    lengths: np.ndarray
    cost: np.ndarray
    width: float

    def value(self, w: np.ndarray) -> tuple[float, np.ndarray, Any]:
        """Value, gradient, and (z, λ)."""
        whole = self.whole
        sqdist = w @ self.lengths
        z = whole.margin + sqdist[whole.near] - sqdist[whole.far]
        positive = np.maximum(z, 0)
        slope = np.minimum(positive / self.width, 1)
        lam = whole.share * slope
        value = float(lam @ (positive - 0.5 * self.width * slope) + self.cost @ w)
        return value, self.cost + self.lengths @ whole.scatter(lam), (z, lam)

    def hessian(self, w: np.ndarray, info: Any) -> Dense:
        """The Hessian, with a little more than nothing on its diagonal."""
        rows = np.flatnonzero((info[0] > 0) & (info[0] <= self.width))
        apart = self.lengths[:, self.whole.near[rows]] - self.lengths[:, self.whole.far[rows]]
        R = apart * np.sqrt(self.whole.share[rows])
        H = R @ R.T / self.width
        ridge = 1e-6 * max(float(np.diag(H).max(initial=0)), float(self.cost.max()))
        return Dense(H + ridge * np.eye(len(H)))

    def residual(self, point: Point) -> float:
        """The largest slope along which a weight could still move, relative to its cost."""
        slope = np.where(point.x > 0, point.grad, np.minimum(point.grad, 0))
        return float(np.abs(slope / self.cost).max(initial=0))

    def objective(self, w: np.ndarray, z: np.ndarray) -> float:
        """The value with the hinge itself."""
        return float(self.whole.share @ np.maximum(z, 0) + self.cost @ w)


class WorkingSet:
    """Bases with positive weight, those that may get one, and their squared lengths of the pairs."""

    def __init__(self, whole: Combination):
        self.whole = whole
        self.columns = np.zeros(0, dtype=np.intp)
        self.weights = np.zeros(0)
        self.lengths = np.zeros((0, len(whole.differences)))

    def enter(self, prices: np.ndarray, least: float) -> bool:
        """Take in the bases that would lower the value most and drop those without weight.

        False when no slope is below −``least`` times the cost.
        """
        slope = 1 + prices / self.whole.cost
        slope[self.columns] = 0
        best = np.argsort(slope, kind="stable")[:BATCH]
        best = best[slope[best] < -least]
        if len(best) == 0:
            return False
        kept = self.weights > 0
        self.columns = np.concatenate([self.columns[kept], best])
        self.weights = np.concatenate([self.weights[kept], np.zeros(len(best))])
        self.lengths = np.concatenate([self.lengths[kept], self.whole.lengths(best)])
        return True

    def descend(self, width: float, loose: float, most: int) -> tuple[Smoothed, Any]:
        """Newton steps on the smoothed problem over the working set."""
        problem = Smoothed(self.whole, self.lengths, self.whole.cost[self.columns], width)
        upper = np.full(len(self.weights), np.inf)
        end = minimize_box(problem.value, problem.hessian, self.weights, upper, problem.residual, loose, most)
        self.weights = end.x
        return problem, end


def combine(whole: Combination, *, max_iter: int, tol: float, report: Callable | None = None) -> Solution:
    """Solve to a duality gap: Newton steps on few bases and a smoothed hinge, which then gets sharper."""
    work, done = WorkingSet(whole), 0
    width = WIDTH * float(whole.margin.mean()) or 1.0
    prices = whole.prices(whole.share)
    gap, objective, least = np.inf, float(whole.share @ whole.margin), SHARP * tol
    while True:
        if not work.enter(prices, least):
            if gap <= tol or done >= max_iter or width < 1e-9:
                break
            width *= NARROWER if done else 1.0
        loose = max(least, 0.1 * float((-1 - prices / whole.cost).max(initial=0)))
        problem, end = work.descend(width, loose, min(STEPS, max_iter - done))
        z, lam = end.info
        prices, objective = whole.prices(lam), problem.objective(work.weights, z)
        gap = share(objective - whole.dual(lam, prices), objective)
        done += max(end.n_iter, 1)
        if report is not None:
            report(done, objective, gap)
        if gap <= tol or done >= max_iter:
            break
    used = work.weights > 0
    factor = np.sqrt(work.weights[used])[:, None] * whole.bases[work.columns[used]]
    return Solution(
        factor=factor,
        objective=objective,
        gap=float(gap * objective),
        n_iter=max(done, 1),
        converged=bool(gap <= tol),
        residual=float(gap),
        tol=tol,
    )
