"""Metric learning from relative comparisons by least squared residuals."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gramian import _checks, linalg
from gramian.constraints import Comparisons, Labels, Quadruplets
from gramian.learners.base import MetricLearner
from gramian.learners.many import ENOUGH, usual
from gramian.learners.priors import positive_prior
from gramian.learners.progress import progress
from gramian.solvers.base import Solution
from gramian.solvers.descent import descend

FIRST, LONGEST, NEARLY = 5, 40, 0.9
"""Steps before the first and between later looks at all comparisons; ratio of lengths at which one may soon count."""


@dataclass(frozen=True, eq=False)
class Residuals:
    """f(F) = D_ld(FᵀF, P⁻¹) + Σ_i w_i [‖F a_i‖ − ‖F b_i‖]₊² with the inverse prior P.

    Rows of ``near`` are the differences a, those of ``far`` the differences b.
    """

    near: np.ndarray
    far: np.ndarray
    weight: np.ndarray
    inverse_prior: np.ndarray

    def violated(self, F: np.ndarray | None = None, ratio: float = 1.0) -> "Residuals":
        """Only the comparisons with ‖F a_i‖ > ratio · ‖F b_i‖; F = I when None."""
        a, b = (linalg.row_norms(V if F is None else V @ F.T) for V in (self.near, self.far))
        rows = np.flatnonzero(a > ratio**2 * b)
        return replace(self, near=self.near[rows], far=self.far[rows], weight=self.weight[rows])

    def inside(self, R: np.ndarray) -> "Residuals":
        """The same problem in coordinates Rᵀx of the points: the factor F there is FRᵀ here."""
        inverse_prior = linalg.symmetrize(R.T @ self.inverse_prior @ R)
        return replace(self, near=self.near @ R, far=self.far @ R, inverse_prior=inverse_prior)

    def start(self) -> np.ndarray:
        """R with RRᵀ = (P + Σ_i w_i (1 − ‖b_i‖ / ‖a_i‖)₊ a_i a_iᵀ)⁻¹.

        It is where one step of M⁻¹ = P + (gradient of the residuals) leads, without the far pairs.
        """
        part = self.violated()
        ratio = np.sqrt(linalg.row_norms(part.far) / linalg.row_norms(part.near))
        pull = part.near.T @ (part.near * (part.weight * (1 - ratio))[:, None])
        return linalg.psd_power(self.inverse_prior + pull, -0.5, 0.0)

    def __call__(self, F: np.ndarray) -> tuple[float, np.ndarray]:
        """Value and gradient of f, +inf where F is singular."""
        sign, logdet = np.linalg.slogdet(F)
        if sign == 0:
            return np.inf, np.zeros_like(F)
        FP = F @ self.inverse_prior
        value = (FP * F).sum() - 2 * logdet - np.linalg.slogdet(self.inverse_prior)[1] - len(F)
        near, far = self.near @ F.T, self.far @ F.T
        a, b = np.sqrt(linalg.row_norms(near)), np.sqrt(linalg.row_norms(far))
        rows = np.flatnonzero(a > b)
        a, b, excess = a[rows], b[rows], self.weight[rows] * (a - b)[rows]
        value += excess @ (a - b)
        # ∇(a − b)² = 2(a − b)(F aaᵀ/‖Fa‖ − F bbᵀ/‖Fb‖); where Fb = 0 the far pair asks for nothing
        pull = (near[rows] * (excess / a)[:, None]).T @ self.near[rows]
        push = (far[rows] * (excess / np.where(b > 0, b, np.inf))[:, None]).T @ self.far[rows]
        return float(value), 2 * (FP - np.linalg.inv(F).T + pull - push)


def lsml(problem: Residuals, *, max_iter: int, tol: float, report: Callable | None = None) -> Solution:
    """Minimize :class:`Residuals`: L-BFGS on the comparisons that matter, judged by a gap over all of them.

    f is −log det plus a convex function of M = FᵀF, so where δ = ‖F ∇_M f Fᵀ‖ = ‖∇_F f Fᵀ‖ / 2 is below 1, it lies
    at most −δ − log(1 − δ) above its minimum.
    """
    R, done, steps = problem.start(), 0, FIRST
    problem, F = problem.inside(R), np.eye(len(R))
    while True:
        value, gradient = problem(F)
        delta = np.linalg.norm(gradient @ F.T) / 2
        gap = min(value, -delta - np.log1p(-delta)) if delta < 1 else value  # f is nowhere negative
        residual = gap / max(value, 1.0)
        if report is not None:
            report(done, value, residual)
        if residual <= tol or done >= max_iter:
            break
        end = descend(problem.violated(F, NEARLY), F, max_iter=min(steps, max_iter - done), memory=20)
        if end.n_iter == 0:
            break
        F, done, steps = end.point, done + end.n_iter, min(2 * steps, LONGEST)
    return Solution(
        factor=F @ R.T,
        objective=value,
        gap=float(gap),
        n_iter=max(done, 1),
        converged=bool(residual <= tol),
        residual=float(residual),
        tol=tol,
    )


class LSML(MetricLearner):
    """min_M D_ld(M, M₀) + Σ_i w_i [d_M(near pair) − d_M(far pair)]₊²   (Liu et al. 2012, (7)), on plain distances.

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
    verbose : bool
    callback : callable, optional
    random_state : int or generator, optional

    Examples
    --------
    >>> import gramian as gm
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> lsml = gm.LSML(random_state=0).fit(X, y)
    >>> lsml.score(X, y) > 0.9, lsml.solution_.gap < 1e-2
    (True, True)
    """

    _accepts = (Comparisons,)
    _has_prior = True
    _most_pairs: int | None = None
    """Comparisons to draw from labels at most, where their number was left open."""
    _enough = {"_most_pairs": lambda most: ENOUGH}

    def __init__(
        self,
        weight="auto",
        prior="identity",
        *,
        anchor="auto",
        n_quadruplets=None,
        max_iter=1000,
        tol=1e-3,
        verbose=False,
        callback=None,
        random_state=None,
    ):
        self.weight = weight
        self.prior = prior
        self.anchor = anchor
        self.n_quadruplets = n_quadruplets
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose
        self.callback = callback
        self.random_state = random_state

    def _from_labels(self, Z: Any, labels: Labels, rest: Any, rng: np.random.RandomState) -> Quadruplets:
        count = usual(self.n_quadruplets, self._most_pairs, labels, 5)
        return Quadruplets.from_labels(labels, count, margin=0.0, random_state=rng)

    def _side(self, y: Any, Z: Any, rest: Any, rng: np.random.RandomState) -> Comparisons:
        if isinstance(y, Comparisons) and y.from_data:
            y = replace(y, margin=0.0)  # type: ignore[type-var]  # dataclasses; there is none in the problem
        return super()._side(y, Z, rest, rng)

    def _learn(self, Z: np.ndarray, side: Comparisons, rest: Any, rng: np.random.RandomState) -> Solution:
        prior = positive_prior(self.prior, Z, rest, "LSML")
        near, far = (linalg.gathered(Z[i] - Z[j]) for i, j in (side.near_ends, side.far_ends))
        weight = side.weight * (self._total(far, prior) / side.weight.sum())
        problem = Residuals(near, far, weight, linalg.symmetrize(np.linalg.inv(prior)))
        with progress("LSML", self.verbose, self.max_iter, self.callback) as report:
            return lsml(problem, max_iter=self.max_iter, tol=self.tol, report=report)

    def _total(self, far: np.ndarray, prior: np.ndarray) -> float:
        """Σ w_i as a number."""
        if isinstance(self.weight, str):
            _checks.one_of(self.weight, "LSML", "weight", ("auto",))
            mean = linalg.row_inner(far @ prior, far).mean()
            return len(far) / mean if mean > 0 else 1.0
        return _checks.number(self.weight, "LSML", "weight", low=0, open_low=True)
