"""The batch problem of POLA: the smallest metric that separates near from far pairs by a margin."""

from dataclasses import replace
from typing import Any

import numpy as np

from gramian import _checks, linalg
from gramian.constraints import Constraints, Labels, Pairs
from gramian.coordinates import Rest
from gramian.divergences import Frobenius
from gramian.learners.framework import ANCHORED_PAIRS, FrameworkLearner
from gramian.learners.thresholds import best_threshold
from gramian.solvers import Hard, Hinge, Problem, Rows, Slack, Solution


class POLA(FrameworkLearner):
    """Learn a distance and a threshold on it that tells similar pairs from dissimilar ones.

    min_M ½‖M‖²_F   s.t.  y_ij (b − d²_M(x_i, x_j)) ≥ 1,  M ⪰ 0   (Shalev-Shwartz et al. 2004; Jain 2009, (3.5)).

    The framework with the Frobenius divergence from M₀ = 0 and pair constraints d² ≤ b − 1 and d² ≥ b + 1. With
    ``threshold=None`` the threshold b is learned as well, min ½‖M‖² + ½b², as POLA does: it is one more diagonal
    coordinate of the same problem. A hinge of weight ``slack`` lets real data violate the margin.

    Parameters
    ----------
    threshold : float, optional
        b > 1; learned when None.
    slack : float, optional
        Cost C of a unit of violation; None for the hard problem.
    prior : {"identity", "covariance"} or array (d, d)
        What the metric is where the labels say nothing.
    anchor : "auto" or float in [0, 1]
        Weight of the prior. 0 is the problem as it stands above; "auto" chooses the weight on points and on classes
        that are held out, in the leading directions of the points (see the guide on anchored learning).
    n_pairs : int, optional
        Pairs drawn from labels.
    solver, max_iter, tol, random_state, verbose, callback
        See :class:`Framework`.

    Attributes
    ----------
    metric_ : Metric
        The learned distance.
    threshold_ : float
        Pairs nearer than this squared distance count as similar: b, or for a blend with the prior the threshold that
        tells the pairs apart best.

    See Also
    --------
    gramian.OnlinePOLA : One pair at a time.
    gramian.ITML : Bounds in place of a margin.

    Examples
    --------
    >>> import gramian as gm
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> gm.POLA(random_state=0).fit(X, y).score(X, y) > 0.9
    True
    """

    _accepts = (Pairs,)
    _sparse = False
    _has_prior = False
    _has_unit = True
    _enough = {
        **FrameworkLearner._enough,
        "tol": lambda tol: max(tol, 5e-2),
        "max_iter": lambda most: min(most, 20),
    }
    alpha = 0.0
    rank = None
    subspace = "svd"

    def __init__(
        self,
        threshold=None,
        slack=1.0,
        *,
        prior="identity",
        anchor="auto",
        n_pairs=None,
        solver="auto",
        max_iter=2000,
        tol=1e-3,
        verbose=False,
        callback=None,
        random_state=None,
    ):
        self.threshold = threshold
        self.slack = slack
        self.prior = prior
        self.anchor = anchor
        self.n_pairs = n_pairs
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    def _divergence(self, Z: Any, rest: Rest) -> Frobenius:
        return Frobenius()

    def _slack(self, side: Pairs) -> Slack:
        if self.slack is None:
            return Hard()
        return Hinge(_checks.number(self.slack, "POLA", "slack", low=0, open_low=True))

    def _bounded(self, side: Any, Z: Any, rest: Rest) -> Any:
        # The margin takes the place of bounds; what is not pairs is refused where all learners refuse it.
        return replace(side, bounds=(0.0, 0.0)) if isinstance(side, Pairs) else side

    def _problem(self, Z: np.ndarray, side: Pairs, rest: Rest) -> Problem:
        n, d = Z.shape
        delta = side.sign
        V = side.terms(n).left @ Z
        if self.threshold is not None:
            b = _checks.number(self.threshold, "POLA", "threshold", low=1, open_low=True)
            return self._hinged(V, delta[:, None], delta * b - 1, side)  # Jain 2009, (3.5): δ vᵀMv ≤ δb − 1
        # Coordinates (x, √b): δ(vᵀMv − b) ≤ −1, with b the last diagonal entry of the matrix.
        rows = np.zeros((2 * len(side), d + 1))
        rows[::2, :d] = V
        rows[1::2, d] = 1.0
        weight = delta[:, None] * np.array([1.0, -1.0])
        return self._hinged(rows, weight, -np.ones(len(side)), side)

    def _hinged(self, rows: np.ndarray, weight: np.ndarray, bound: np.ndarray, side: Pairs) -> Problem:
        d = rows.shape[1]
        return Problem(Rows(rows, weight), bound, np.zeros((d, d)), Frobenius(), self._slack(side))

    def solve(self, Z: Any, y: Labels | Constraints, rest: Rest, rng: np.random.RandomState) -> Solution:
        """As elsewhere; the threshold of a blended metric is the best one for pairs under that metric."""
        solution = super().solve(Z, y, rest, rng)
        if not self._anchors(y):
            return solution
        pairs: Any = Pairs.from_labels(y, ANCHORED_PAIRS, random_state=rng) if isinstance(y, Labels) else y
        L = linalg.psd_sqrt(solution.M) if solution.factor is None else solution.factor
        near = linalg.row_norms(pairs.terms(Z.shape[0]).left @ (Z @ L.T))
        if not rest.empty:
            near += solution.alpha * pairs.sign * rest.energy(pairs.terms(Z.shape[0]))
        return replace(solution, found={**solution.found, "threshold": -best_threshold(-near, pairs.similar)})

    def _learn(self, Z: Any, side: Pairs, rest: Rest, rng: np.random.RandomState) -> Solution:
        solution = super()._learn(Z, side, rest, rng)
        if self.threshold is not None:
            return replace(solution, found={"threshold": float(self.threshold)})
        learned = solution.M
        return replace(solution, M=learned[:-1, :-1], found={"threshold": float(learned[-1, -1])})
