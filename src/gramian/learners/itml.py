"""Information-theoretic metric learning."""

import copy
from dataclasses import replace
from typing import Any

import numpy as np

from gramian import _checks
from gramian.constraints import Comparisons, Labels, Pairs
from gramian.constraints.pairs import apart
from gramian.coordinates import Rest
from gramian.learners.framework import FrameworkLearner
from gramian.learners.weights import class_weights
from gramian.solvers import Quadratic, Relative, Slack, Solution
from gramian.solvers.slack import default_weight

ROUNDED = 1e-14
"""Copies are no farther apart than this in coordinates that were computed, relative to the others."""

GAMMAS = (1.0, 0.1, 10.0)
"""Weights of the slack that "auto" tries."""


class ITML(FrameworkLearner):
    """Keep similar pairs near and dissimilar pairs far, and stay close to a prior.

    min_M D_ld(M, M₀) + γ Σ_i D_ld(ξ_i, b_i)   s.t.  d²_M ≤ ξ_i (similar),  d²_M ≥ ξ_i (dissimilar).

    Davis et al. (2007); Jain (2009), §3.1.1: the framework with the LogDet divergence, pairs, and a slack that is
    a LogDet divergence from the bounds itself. γ → ∞ is the hard problem. The projection printed in the ITML paper is
    right for γ = 1 only; here the dual is solved as a whole (``solver="dual"``) or pair by pair with the right step
    (``"bregman"``). Bounds are **squared** distances, so the result does not depend on the units of X.
    Pairs of identical points say nothing about M and are left out.

    Triplets and quadruplets may take the place of pairs. Their d²(near pair) − d²(far pair) ≤ −margin can be missed by
    more than all of b, where D_ld(ξ, b) is infinite; the slack is then γ/2 (ξ/b − 1)², which it is to second order.

    Parameters
    ----------
    gamma : float or "auto"
        Weight γ of the slack; "auto" chooses 0.1, 1 or 10 on points and classes that are held out.
    prior : {"identity", "covariance"} or array (d, d)
        M₀, positive definite.
    anchor : "auto" or float in [0, 1]
        Weight of the prior. 0 is the problem as it stands above; "auto" chooses the weight on points and on classes
        that are held out, in the leading directions of the points (see the guide on anchored learning).
    bounds : (u, l), optional
        Bounds on squared distances for pairs drawn from labels; percentiles of the squared distances, under the
        prior, when None.
    percentiles : (float, float)
        Which percentiles of the squared distances are (u, l), where no bounds are given.
    n_pairs : int, optional
        Pairs drawn from labels; see :meth:`Pairs.from_labels`.
    class_weight : None, "balanced" or dict
        What the points of a class count, a pair by the mean of its two: all the same; each class the same in all,
        however rare it is; or label → weight.
    solver : {"auto", "dual", "bregman"} or Solver
        Newton steps on the dual, cyclic Bregman projections, or the one that suits; see :class:`Framework`.
    rank, subspace, alpha
        High-dimensional form W = αI + U(M − αI)Uᵀ; see :class:`Framework`.
    max_iter, tol
        Limit of the solver, and the relative duality gap to stop at. Below 1e-5 Newton steps make M exact to rounding;
        1e-3 is enough for neighbors, and a little faster.
    random_state : int or generator, optional
        Draws, where there are any: the same number gives the same result.
    verbose : bool
        Show progress: a bar, or lines where rich is not installed.
    callback : callable, optional
        Called as ``callback(n_iter, value, residual)``.

    Attributes
    ----------
    metric_ : Mahalanobis, or SubspaceMahalanobis with ``rank``
        The learned distance.
    gamma_ : float
        The weight of the slack that was used.
    n_iter_, converged_, objective_, solution_
        Steps taken, whether ``tol`` was met, the value reached, and the solver's whole answer.

    See Also
    --------
    gramian.OnlineITML : One pair at a time.
    gramian.GMML : In closed form.
    gramian.Framework : Other divergences and constraints.

    Examples
    --------
    >>> import gramian as gm
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> itml = gm.ITML(random_state=0).fit(X, y)
    >>> itml.score(X, y) > 0.9
    True
    """

    _accepts = (Pairs, Comparisons)

    def __init__(
        self,
        gamma=1.0,
        prior="identity",
        *,
        anchor="auto",
        bounds=None,
        percentiles=(5, 95),
        n_pairs=None,
        class_weight=None,
        solver="auto",
        rank=None,
        subspace="svd",
        alpha=1.0,
        max_iter=1000,
        tol=1e-6,
        verbose=False,
        callback=None,
        random_state=None,
    ):
        self.gamma = gamma
        self.prior = prior
        self.anchor = anchor
        self.bounds = bounds
        self.percentiles = percentiles
        self.n_pairs = n_pairs
        self.class_weight = class_weight
        self.solver = solver
        self.rank = rank
        self.subspace = subspace
        self.alpha = alpha
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    def _variants(self) -> list["ITML"]:
        if not isinstance(self.gamma, str):
            return [self]
        if self.gamma != "auto":
            raise ValueError(f"ITML: gamma must be a number or 'auto', got {_checks.shown(self.gamma)}.")
        return [with_gamma(self, gamma) for gamma in GAMMAS]

    def _drawn(self, labels: Labels, rng: np.random.RandomState) -> Pairs:
        pairs = super()._drawn(labels, rng)
        weight = class_weights(self.class_weight, labels, "ITML")
        return pairs if weight is None else replace(pairs, weight=(weight[pairs.left] + weight[pairs.right]) / 2)

    def _slack(self, side: Any) -> Slack:
        gamma = _checks.number(self.gamma, "ITML", "gamma", low=0, open_low=True)
        if not isinstance(side, Pairs):
            return Quadratic(gamma * default_weight(side.sizes()) ** 2)
        return Relative(gamma if side.weight is None else gamma * side.weight)

    def _bounded(self, side: Any, Z: Any, rest: Rest) -> Any:
        if self.bounds is None or not isinstance(side, Pairs):
            return super()._bounded(side, Z, rest)
        check_bounds(self.bounds)
        return replace(side, bounds=self.bounds)

    def _learn(self, Z: Any, side: Any, rest: Rest, rng: np.random.RandomState) -> Solution:
        if isinstance(side, Pairs):
            side = self._in_order(Z, side)
        solution = super()._learn(Z, side, rest, rng)
        return replace(solution, found={**solution.found, "gamma": float(self.gamma)})

    def _in_order(self, Z: Any, side: Pairs) -> Pairs:
        """Pairs whose bounds are in order, without those of identical points."""
        if (side.limit <= 0).any():
            raise ValueError("ITML: bounds must be positive squared distances, got 0; drop such pairs.")
        near, far = (np.unique(side.limit[kind]) for kind in (side.similar, ~side.similar))
        if len(near) == len(far) == 1:  # one u for all similar pairs and one l for all others
            check_bounds((near[0], far[0]))
        return apart(side, Z, "ITML", tol=ROUNDED)


def with_gamma(learner: ITML, gamma: float) -> ITML:
    """A copy with another weight of the slack."""
    other = copy.copy(learner)
    other.gamma = gamma
    return other


def check_bounds(bounds: Any) -> None:
    """Raise unless bounds are (u, l), 0 < u < l."""
    if not isinstance(bounds, list | tuple | np.ndarray) or len(bounds) != 2:
        raise ValueError(f"ITML: bounds must be (u, l), got {_checks.shown(bounds)}.")
    u, l = (_checks.number(bound, "ITML", "each of bounds") for bound in bounds)
    if not 0 < u < l:
        raise ValueError(f"ITML: bounds must satisfy 0 < u < l (squared distances), got u={u}, l={l}.")
