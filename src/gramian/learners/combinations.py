"""Sparse nonnegative combinations of rank-one metrics: a linear program, solved by smoothing and column generation."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg as sla
from scipy.optimize import nnls

from gramian import linalg
from gramian.solvers.base import Solution, ended
from gramian.solvers.descent import share

WIDTH, NARROWER = 1.0, 0.25
"""First width of the smoothed hinge, relative to the mean margin, and the factor from one width to the next."""
BATCH, STEPS, SHARP = 30, 30, 0.2
"""Bases that enter at a time; Newton steps between two looks at all bases; how well these solve, relative to tol."""
ROUNDING = 1e-24
"""Share of its possible length below which a basis does not see the pairs at all."""
DAMPING, SHORTEST = 1e-6, 1e-8
"""Least share of the size of a Hessian that is added to its diagonal; the shortest step."""


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
        V = X[pairs // n] - X[pairs % n]  # each pair once, (p, d)
        size = linalg.row_inner(bases @ (V.T @ V), bases) / len(V)  # mean of (b_kᵀv)², (K,)
        spread = (V**2).sum() / len(V)
        varies = size > (ROUNDING * linalg.row_norms(bases) * spread if spread > 0 else np.inf)
        bases = bases[varies] / np.sqrt(size[varies])[:, None]
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
        """Squared lengths (b_kᵀv)² of all pairs for some bases, (pairs, bases)."""
        return (self.differences @ self.bases[columns].T) ** 2

    def dual(self, lam: np.ndarray, prices: np.ndarray) -> float:
        """A lower bound of the problem: λ, made smaller until prices ≥ −cost."""
        ratio = self.cost / np.maximum(-prices, 1e-300)  # by which λ may shrink at most, (K,)
        return float(self.margin @ lam) * min(1.0, float(ratio[prices < 0].min(initial=np.inf)))


def unit_cost(X: np.ndarray, side: Any, beta: float) -> float:
    """β of :meth:`Combination.make` where it counts bases of length 1: each adds 1/d of ‖v‖² to d² on average."""
    V = np.concatenate([X[i] - X[j] for i, j in (side.near_ends, side.far_ends)])
    size = float(linalg.row_norms(V).mean()) / X.shape[1]
    return beta / size if size > 0 else beta


@dataclass(frozen=True, eq=False)
class Smoothed:
    """The problem on some bases, with the hinge made smooth: z²/2μ on [0, μ], z − μ/2 above.

    Methods take the weights w, or the excess z of each comparison over its margin under them.
    """

    whole: Combination
    lengths: np.ndarray
    cost: np.ndarray
    width: float

    def change(self, w: np.ndarray) -> np.ndarray:
        """Σ_k w_k ((b_kᵀa_i)² − (b_kᵀc_i)²), the part of z that is linear in the weights."""
        sqdist = self.lengths @ w
        return sqdist[self.whole.near] - sqdist[self.whole.far]

    def value(self, w: np.ndarray, z: np.ndarray) -> float:
        """The smoothed objective."""
        positive = np.maximum(z, 0)
        inside = np.minimum(positive, self.width)  # the round part of the hinge, (m,)
        return float(self.whole.share @ (inside * (positive - 0.5 * inside))) / self.width + float(self.cost @ w)

    def objective(self, w: np.ndarray, z: np.ndarray) -> float:
        """The value with the hinge itself."""
        return float(self.whole.share @ np.maximum(z, 0) + self.cost @ w)

    def multipliers(self, z: np.ndarray) -> np.ndarray:
        """λ, the slopes of the hinges."""
        return self.whole.share * np.clip(z / self.width, 0, 1)

    def gradient(self, z: np.ndarray) -> np.ndarray:
        """The gradient in the weights."""
        return self.cost + self.whole.scatter(self.multipliers(z)) @ self.lengths

    def hessian(self, z: np.ndarray) -> np.ndarray:
        """The Hessian in the weights."""
        rows = np.flatnonzero((z > 0) & (z <= self.width))  # only the round part curves
        R = self.lengths[self.whole.near[rows]]
        R -= self.lengths[self.whole.far[rows]]
        R *= np.sqrt(self.whole.share[rows])[:, None]
        return R.T @ R / self.width

    def residual(self, w: np.ndarray, gradient: np.ndarray) -> float:
        """The largest slope along which a weight could still move, relative to its cost."""
        slope = np.where(w > 0, gradient, np.minimum(gradient, 0))  # a weight of 0 may only grow
        return float(np.abs(slope / self.cost).max(initial=0))

    def step(self, w: np.ndarray, gradient: np.ndarray, H: np.ndarray, damping: float) -> np.ndarray:
        """To the minimum of the quadratic model over nonnegative weights.

        Bases have length 1 on average, so 1 / width is the size of a Hessian; H can be zero where no hinge is round.
        """
        H = H + damping * max(float(np.diag(H).max()), 1 / self.width) * np.eye(len(H))
        # ½‖R(x − w)‖² + ⟨gradient, x − w⟩ with RᵀR = H is ½‖Rx − (Rw − R⁻ᵀ gradient)‖² and a constant
        R = np.linalg.cholesky(H).T
        return nnls(R, R @ w - sla.solve_triangular(R, gradient, trans="T", check_finite=False))[0] - w

    def minimize(self, w: np.ndarray, least: float, most: int) -> tuple[np.ndarray, np.ndarray, int]:
        """Newton steps until all slopes are below ``least``; returns weights, z and the number of steps.

        Where a step has to be made much shorter, the next model has more on its diagonal.
        """
        z, damping = self.whole.margin + self.change(w), DAMPING
        for done in range(most):
            gradient = self.gradient(z)
            if self.residual(w, gradient) <= least:
                return w, z, done
            step = self.step(w, gradient, self.hessian(z), damping)
            change, size = self.change(step), 1.0
            goal, slope = self.value(w, z), 1e-4 * float(gradient @ step)
            while size > SHORTEST and self.value(w + size * step, z + size * change) > goal + size * slope:
                size /= 4
            if slope >= 0 or size <= SHORTEST:
                return w, z, done
            w, z = w + size * step, z + size * change
            damping = max(DAMPING, damping / 10) if size == 1 else 10 * damping
        return w, z, most


class WorkingSet:
    """Bases with positive weight, those that may get one, and their squared lengths of the pairs."""

    def __init__(self, whole: Combination):
        self.whole = whole
        self.columns = np.zeros(0, dtype=np.intp)
        self.weights = np.zeros(0)
        self.lengths = np.zeros((len(whole.differences), 0))

    def enter(self, prices: np.ndarray, least: float) -> bool:
        """Take in the bases that would lower the value most and drop those without weight.

        False when no slope is below −``least`` times the cost.
        """
        slope = 1 + prices / self.whole.cost  # ∂f/∂w_k relative to its cost, (K,)
        slope[self.columns] = 0
        best = np.argsort(slope, kind="stable")[:BATCH]
        best = best[slope[best] < -least]
        if len(best) == 0:
            return False
        positive = self.weights > 0
        self.columns = np.concatenate([self.columns[positive], best])
        self.weights = np.concatenate([self.weights[positive], np.zeros(len(best))])
        self.lengths = np.concatenate([self.lengths[:, positive], self.whole.lengths(best)], axis=1)
        return True


def combine(whole: Combination, *, max_iter: int, tol: float, report: Callable[..., Any] | None = None) -> Solution:
    """Solve to a duality gap: Newton steps on few bases and a smoothed hinge, which then gets sharper."""
    work, done = WorkingSet(whole), 0
    width = WIDTH * float(whole.margin.mean()) or 1.0
    prices = whole.prices(whole.share)
    gap, objective, least = np.inf, float(whole.share @ whole.margin), SHARP * tol
    while gap > tol and done < max_iter:
        if not work.enter(prices, least):
            if width < 1e-9:
                break
            width *= NARROWER if done else 1.0
        problem = Smoothed(whole, work.lengths, whole.cost[work.columns], width)
        work.weights, z, steps = problem.minimize(work.weights, least, min(STEPS, max_iter - done))
        lam = problem.multipliers(z)
        prices, objective = whole.prices(lam), problem.objective(work.weights, z)
        gap = share(objective - whole.dual(lam, prices), objective)
        done += max(steps, 1)
        if report is not None:
            report(done, objective, gap)
    used = work.weights > 0
    factor = np.sqrt(work.weights[used])[:, None] * whole.bases[work.columns[used]]
    return Solution(
        factor=factor,
        objective=objective,
        gap=float(gap * objective),
        n_iter=max(done, 1),
        result=ended(float(gap), tol, done, max_iter),
        residual=float(gap),
        tol=tol,
    )
