"""The batch problem of POLA: the smallest metric that separates near from far pairs by a margin."""

from typing import Any

import numpy as np

from gramian import _checks
from gramian.constraints import Pairs
from gramian.divergences import Frobenius
from gramian.learners.framework import FrameworkLearner
from gramian.metrics import Mahalanobis
from gramian.solvers import Hard, Hinge, Problem, Solution


class POLA(FrameworkLearner):
    """min_M ½‖M‖²_F   s.t.  y_ij (b − d²_M(x_i, x_j)) ≥ 1,  M ⪰ 0   (Shalev-Shwartz et al. 2004; Jain 2009, (3.5)).

    The framework with the Frobenius divergence from M₀ = 0 and pair constraints d² ≤ b − 1 and d² ≥ b + 1. With
    ``threshold=None`` the threshold b is learned as well, min ½‖M‖² + ½b², as POLA does: it is one more diagonal
    coordinate of the same problem. A hinge of weight ``slack`` lets real data violate the margin.

    Parameters
    ----------
    threshold : float, optional
        b > 1; learned when None.
    slack : float, optional
        Cost C of a unit of violation; None for the hard problem.
    n_pairs : int, optional
        Pairs drawn from labels.
    solver, max_iter, tol, random_state, verbose, callback
        See :class:`Framework`.

    Attributes
    ----------
    metric_ : Mahalanobis
    threshold_ : float
        Pairs nearer than this squared distance count as similar.

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
    prior, alpha, rank, subspace = "zero", 0.0, None, "svd"

    def __init__(
        self,
        threshold=None,
        slack=1.0,
        *,
        n_pairs=None,
        solver="auto",
        max_iter=2000,
        tol=1e-3,
        random_state=None,
        verbose=False,
        callback=None,
    ):
        self.threshold = threshold
        self.slack = slack
        self.n_pairs = n_pairs
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    def _divergence(self, X: Any) -> Frobenius:
        return Frobenius()

    def _slack(self, bound: np.ndarray) -> Hard:
        if self.slack is None:
            return Hard()
        return Hinge(_checks.number(self.slack, "POLA", "slack", low=0, open_low=True))

    def _fill(self, pairs: Pairs, X: Any, sqdist: Any) -> Pairs:
        return Pairs(pairs.left, pairs.right, pairs.similar, (0.0, 0.0))  # the margin takes the place of bounds

    def _problem(self, X: np.ndarray, side: Pairs, residual: Any) -> Problem:
        n, d = X.shape
        delta = side.sign
        V = side.terms(n).left @ X
        if self.threshold is not None:
            b = _checks.number(self.threshold, "POLA", "threshold", low=1, open_low=True)
            return self._hinged(V, delta[:, None], delta * b - 1)
        # Coordinates (x, √b): δ(vᵀMv − b) ≤ −1, with b the last diagonal entry of the matrix.
        rows = np.zeros((2 * len(side), d + 1))
        rows[::2, :d] = V
        rows[1::2, d] = 1.0
        weight = delta[:, None] * np.array([1.0, -1.0])
        return self._hinged(rows, weight, -np.ones(len(side)))

    def _hinged(self, rows: np.ndarray, weight: np.ndarray, bound: np.ndarray) -> Problem:
        d = rows.shape[1]
        return Problem(rows, None, weight, bound, np.zeros((d, d)), Frobenius(), self._slack(bound))

    def _metric(self, solution: Solution) -> Mahalanobis:
        if self.threshold is not None:
            self.threshold_ = float(self.threshold)
            return Mahalanobis.from_matrix(solution.M)
        self.threshold_ = float(solution.M[-1, -1])
        return Mahalanobis.from_matrix(solution.M[:-1, :-1])
