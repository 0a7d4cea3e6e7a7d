"""Metric learning from relative comparisons by least squared residuals."""

import math
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from scipy.linalg import lapack

from gramian import linalg
from gramian._settings import Count, Positive
from gramian.constraints import Comparisons, Labels, Quadruplets
from gramian.learners.base import Iterative
from gramian.learners.priors import positive
from gramian.learners.subsample import ENOUGH, usual
from gramian.learners.task import Effort, Task, Traits
from gramian.solvers.base import Solution, ended
from gramian.solvers.descent import steps

FIRST, LONGEST, NEARLY = 5, 40, 0.9
"""Steps before the first and between later looks at all comparisons; ratio of lengths at which one may soon count."""
FEW = 1 << 14
"""Numbers in the differences of so few comparisons that all are looked at in every step."""
SHARP = 1e-6
"""Tolerances below this are for exact solutions: a round then goes on to a hundredth of them."""
BEND = 4.0
"""Curvature of tr FᵀF − 2 log det F at the identity: what a first step is measured by."""
_SIGNS = np.array([[1.0], [-1.0]])
"""Near pairs should be short, far pairs long."""


@dataclass(frozen=True, eq=False)
class Residuals:
    """f(F) = D_ld(FᵀF, P⁻¹) + Σ_i w_i [‖F a_i‖ − ‖F b_i‖]₊² with the inverse prior P.

    ``pairs`` (2, m, d) holds the differences a of the near pairs and b of the far ones.
    """

    pairs: np.ndarray
    weight: np.ndarray
    inverse_prior: np.ndarray

    def inside(self, R: np.ndarray, rows: np.ndarray | slice) -> "Residuals":
        """The problem of some comparisons in coordinates Rᵀx of the points: the factor F there is FRᵀ here."""
        inverse_prior = linalg.symmetrize(R.T @ self.inverse_prior @ R)
        return Residuals(self.pairs[:, rows] @ R, self.weight[rows], inverse_prior)

    def start(self) -> np.ndarray:
        """F with FᵀF = (P + Σ_i w_i (1 − ‖b_i‖ / ‖a_i‖)₊ a_i a_iᵀ)⁻¹.

        It is where one step of M⁻¹ = P + (gradient of the residuals) leads, without the far pairs.
        """
        a, b = _lengths(self.pairs)  # (m,) each
        rows = np.flatnonzero(a > b)
        V = self.pairs[0, rows]  # near pairs that are too far, (k, d)
        pull = V.T @ (V * (self.weight[rows] * (1 - b[rows] / a[rows]))[:, None])
        lower, failed = lapack.dpotrf(self.inverse_prior + pull, lower=True)
        if failed:
            return linalg.psd_power(self.inverse_prior + pull, -0.5, 0.0)
        return lapack.dtrtri(lower, lower=True)[0]

    @cached_property
    def constant(self) -> float:
        """log det P + d."""
        return float(np.linalg.slogdet(self.inverse_prior)[1]) + len(self.inverse_prior)

    def __call__(self, F: np.ndarray) -> tuple[float, np.ndarray]:
        """Value and gradient of f, +inf where F is singular."""
        return self._at(F)[:2]

    def at(self, F: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Value, slope ∇f Fᵀ, and the lengths ‖F a_i‖ and ‖F b_i‖, (2, m)."""
        value, gradient, lengths = self._at(F)
        return value, gradient @ F.T, lengths

    def _at(self, F: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Value, gradient and lengths."""
        lu, pivots, failed = lapack.dgetrf(F)
        if failed:
            return np.inf, np.zeros_like(F), np.zeros(self.pairs.shape[:2])
        FP = F @ self.inverse_prior  # (r, d)
        value = np.vdot(FP, F) - 2 * np.log(np.abs(lu.diagonal())).sum() - self.constant
        d = len(FP)
        moved = (self.pairs.reshape(-1, d) @ F.T).reshape(self.pairs.shape)  # F a_i and F b_i, (2, m, d)
        lengths = _lengths(moved)
        excess = lengths[0] - lengths[1]  # (m,)
        rows = np.flatnonzero(excess > 0)
        excess, size = excess[rows], lengths[:, rows]
        weighted = self.weight[rows] * excess
        # ∇(a − b)² = 2(a − b)(F aaᵀ/‖Fa‖ − F bbᵀ/‖Fb‖); where Fb = 0 the far pair asks for nothing
        slope = _SIGNS * weighted / np.where(size > 0, size, np.inf)
        pull = (moved[:, rows] * slope[:, :, None]).reshape(-1, d).T @ self.pairs[:, rows].reshape(-1, d)
        return float(value + weighted @ excess), 2 * (FP - lapack.dgetri(lu, pivots)[0].T + pull), lengths

    def scaled(self, F: np.ndarray) -> tuple[float, np.ndarray]:
        """Value and gradient of f, with a curvature of about 1 at the identity."""
        value, gradient = self(F)
        return value / BEND, gradient / BEND


def _lengths(pairs: np.ndarray) -> np.ndarray:
    """Lengths of differences (2, m, d), (2, m)."""
    return np.sqrt(np.einsum("ijk,ijk->ij", pairs, pairs))


def gap_of(value: float, slope: np.ndarray) -> float:
    """How far f is above its minimum at most, from its ``slope`` ∇_F f Fᵀ, the same in all coordinates.

    f is −log det plus a convex function of M = FᵀF, so where δ = ‖F ∇_M f Fᵀ‖ = ‖∇_F f Fᵀ‖ / 2 is below 1, it lies
    at most −δ − log(1 − δ) above its minimum; and f is nowhere negative.
    """
    delta = math.sqrt(np.vdot(slope, slope)) / 2
    return min(value, -delta - math.log1p(-delta)) if delta < 1 else value


def lsml(problem: Residuals, *, max_iter: int, tol: float, report: Callable[..., Any] | None = None) -> Solution:
    """Minimize :class:`Residuals`: L-BFGS on the comparisons that matter, judged by a gap over all of them.

    Each round works in coordinates in which the last M is the identity.
    """
    F, done, limit = problem.start(), 0, FIRST
    whole = problem.pairs.size <= FEW
    value, slope, (d_near, d_far) = problem.at(F)
    while True:
        gap = gap_of(value, slope)
        residual = gap / max(value, 1.0)
        if report is not None:
            report(done, value, residual)
        if residual <= tol or done >= max_iter:
            break
        active = problem.inside(F.T, slice(None) if whole else np.flatnonzero(d_near > NEARLY * d_far))
        step, value, slope, count = _descended(active, value, slope, min(limit, max_iter - done), tol)
        if count == 0:
            break
        F, done, limit = step @ F, done + count, min(2 * limit, LONGEST)
        if not whole:
            value, slope, (d_near, d_far) = problem.at(F)
    return Solution(
        factor=F,
        objective=value,
        gap=gap,
        n_iter=max(done, 1),
        result=ended(residual, tol, done, max_iter),
        residual=residual,
        tol=tol,
    )


def _descended(
    part: Residuals, value: float, slope: np.ndarray, most: int, tol: float
) -> tuple[np.ndarray, float, np.ndarray, int]:
    """The factor after at most so many steps from the identity, value and slope there, and the number of steps."""
    F, done = np.eye(len(slope)), 0
    goal = tol if tol >= SHARP else tol / 100
    for point in steps(part.scaled, F, value / BEND, slope / BEND, memory=20):
        F, value, slope = point[0], BEND * point[1], BEND * point[2] @ point[0].T
        done += 1
        if done >= most or gap_of(value, slope) <= goal * max(value, 1.0):
            break
    return F, value, slope, done


@dataclass(eq=False, repr=False)
class LSML(Iterative):
    """Learn from comparisons, this pair is nearer than that one, without bounds or units.

    min_M D_ld(M, M₀) + Σ_i w_i [d_M(near pair) − d_M(far pair)]₊²   (Liu et al. 2012, (7)), on plain distances.

    The problem is convex: (√p − √q)² is convex in (p, q) where p > q. It is solved on a factor of M by L-BFGS in
    coordinates where M₀ = I and only over comparisons that are violated or nearly so; the fit stops on a bound of
    its distance from the optimum over all of them (``solution_.gap``), which self-concordance of log det gives.

    Parameters
    ----------
    weight : float or "auto"
        Σ_i w_i, shared out by the weights of the quadruplets. "auto": m / (mean squared distance under the prior of
        the far pairs), so that each residual counts relative to it and the result does not depend on the units of X.
    prior : {"identity", "covariance"} or array (d, d)
        M₀, positive definite.
    anchor : "auto" or float in [0, 1]
        Weight of the prior. 0 is the problem as it stands above; "auto" chooses the weight on points and on classes
        that are held out, in the leading directions of the points (see the guide on anchored learning).
    n_quadruplets : int, optional
        Comparisons drawn from labels; see :meth:`Quadruplets.from_labels`.
    max_iter, tol
        Limit, and the bound on the gap, relative to the objective, to stop at.
        None: 1000 and 0.001.
    verbose : bool
        Show progress: a bar, or lines where rich is not installed.
    callback : callable, optional
        Called as ``callback(n_iter, value, residual)``.
    random_state : int or generator, optional
        Draws, where there are any: the same number gives the same result.

    Attributes
    ----------
    metric_ : Metric
        The learned distance, an immutable value.
    n_iter_, converged_, objective_, solution_
        Steps taken, whether ``solution_.tol`` was met, the objective (of a blend there is none), and the whole answer.

    See Also
    --------
    gramian.SCML : A sparse combination of directions.
    gramian.LMNN : From labels.

    Examples
    --------
    >>> import gramian as gm
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> lsml = gm.LSML(random_state=0).fit(X, y)
    >>> lsml.score(X, y) > 0.9, lsml.solution_.learned.gap < 1e-2
    (True, True)
    """

    traits = Traits(
        takes=(Comparisons,),
        exact=Effort(tol=1e-3, max_iter=1000),
        blended=Effort(tol=1e-3, max_iter=1000, constraints=ENOUGH),
        prior_inside=True,
        repeats=3,
    )

    weight: Positive | Literal["auto"] = "auto"
    _: KW_ONLY
    n_quadruplets: Count | None = None

    def solve(self, task: Task) -> Solution:
        """L-BFGS on the comparisons that matter."""
        side = self.comparisons(task)
        prior = positive(task.M0, "LSML")
        left, right = (np.concatenate(ends) for ends in zip(side.near_ends, side.far_ends))
        pairs = (task.Z[left] - task.Z[right]).reshape(2, len(side), -1)  # (2, m, d)
        weight = side.weight * (self.total(pairs[1], prior) / side.weight.sum())
        inverse = prior if task.prior is None else linalg.symmetrize(np.linalg.inv(prior))
        problem = Residuals(pairs, weight, inverse)
        return lsml(problem, max_iter=int(task.effort.max_iter or 1), tol=task.effort.tol, report=task.report)

    def comparisons(self, task: Task) -> Any:
        """Comparisons as they came, or drawn from labels; a margin that was left open is none."""
        if isinstance(task.y, Labels):
            count = usual(self.n_quadruplets, task.effort.constraints, task.y, 5)
            return Quadruplets.from_labels(task.y, count, margin=0.0, random_state=task.rng)
        side = task.y
        return side.without_margin() if side.from_data else side

    def total(self, far: np.ndarray, prior: np.ndarray) -> float:
        """Σ w_i as a number."""
        if not isinstance(self.weight, str):
            return float(self.weight)
        mean = linalg.row_inner(far @ prior, far).mean()
        return len(far) / mean if mean > 0 else 1.0
