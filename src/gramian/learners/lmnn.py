"""Large margin nearest neighbors."""

from dataclasses import replace
from typing import Any

import numpy as np

from gramian import _array, _checks, linalg
from gramian.constraints import Labels
from gramian.learners import initial, targets
from gramian.learners.base import MetricLearner
from gramian.learners.impostors import Triplets
from gramian.learners.softmax import Cross
from gramian.solvers.base import Solution
from gramian.solvers.descent import descend

INTERVAL, FIRST = 5, 3
"""Steps between two searches for impostors, and before the second one."""
PATIENCE = 4
"""Searches without progress before the hinge is made sharper."""


def lmnn_loss(L: Any, X: Any, codes: Any, near: Any, push: float = 1.0) -> tuple[float, Any]:
    """f(L) = Σ_ij d²_ij + push · Σ_ijl [1 + d²_ij − d²_il]₊ and a subgradient (Chatpatanasiri et al. 2010, §2.2).

    d² = ‖L(x_i − x_j)‖², j runs over the target neighbors of i, l over the points of other classes. Every
    triplet is looked at, in blocks of rows, on any array namespace; the learner itself keeps a list of impostors.

    Parameters
    ----------
    L : array (r, d)
    X : array (n, d)
    codes : integer array (n,)
    near : integer array (n, k)
        Target neighbors of each point; a place that holds the point itself is empty.
    push : float
    """
    xp = _array.namespace(X)
    Z = X @ L.T
    norms = xp.sum(Z * Z, axis=1)
    cross, value, gradient = Cross(X, Z), 0.0, xp.zeros_like(L)
    for j in range(near.shape[1]):
        V = X - xp.take(X, near[:, j], axis=0)
        E = V @ L.T
        pull = xp.sum(E * E, axis=1)
        weight = xp.ones_like(norms)
        real = near[:, j] != xp.arange(X.shape[0], device=X.device)
        for rows in linalg.blocks(X.shape[0], 8 * X.shape[0]):
            S = 1 + (pull - norms)[rows][:, None] - norms[None, :] + 2 * (Z[rows, :] @ Z.T)
            far = (codes[rows][:, None] != codes[None, :]) & real[rows][:, None]
            active = xp.astype((S > 0) & far, X.dtype)
            value += push * float(xp.sum(active * S))
            weight[rows] += push * xp.sum(active, axis=1)
            cross.add(rows, -push * active)
        value += float(xp.sum(pull))
        gradient += 2 * (E * weight[:, None]).T @ V
    return value, gradient + 2 * cross.total(L)


class LMNN(MetricLearner):
    """Minimize Σ_ij d²_M(x_i, x_j) + push · Σ_ijl [1 + d²_M(x_i, x_j) − d²_M(x_i, x_l)]₊ + reg · tr(M) over M ⪰ 0.

    j runs over the k target neighbors of i, the nearest points of its class in the Euclidean distance, and l over
    all points of other classes (Weinberger and Saul 2009; Chatpatanasiri et al. 2010, §2.2). The problem is
    convex in M. It is solved on a factor, M = LᵀL: hinges enter as augmented Lagrangians, whose multipliers
    λ ∈ [0, push] are renewed together with the list of impostors every few steps of L-BFGS, in coordinates
    whitened by the scatter of target pairs. All active triplets fold into one sparse Laplacian, so a step costs
    O(pairs · d + n d²), and nothing depends on the units of X. It stops when stationarity and complementary
    slackness, over all triplets, hold to ``tol`` relative to the objective; at full rank λ then also gives a
    dual bound, ``solution_.gap``.

    A class with fewer than k + 1 points uses the targets it has; a class of one point has none and only pushes.
    Directions in which X is constant are left out of the metric.

    Parameters
    ----------
    n_neighbors : int
        Target neighbors k.
    push : float, > 0
    n_components : int, optional
        Rows r of L; the number of features when None. Below it the problem is not convex.
    init : {"auto", "identity", "pca", "lda", "random"} or array (r, d)
    reg : float, ≥ 0, or "pull"
        Weight of tr(M) = ‖L‖² (Chatpatanasiri et al. 2010, Theorem 3); "pull" is the mean eigenvalue of the scatter of
        target pairs. With as many features as points the problem without it has degenerate solutions, which pull
        all targets together and separate classes in directions that mean nothing: give "pull" then, and to
        kernelized LMNN.
    reselect : int
        How often targets are chosen again, each time under the metric learned so far.
    max_iter : int
    tol : float
    callback : callable, optional
        Called as ``callback(iteration, objective, residual)`` after each search for impostors.
    random_state : int or generator, optional

    Attributes
    ----------
    targets_ : array (n, k)
        Target neighbors; a missing one is the point itself.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import gramian as gm
    >>> X, y = load_iris(return_X_y=True)
    >>> lmnn = gm.LMNN().fit(X, y)
    >>> lmnn.converged_, bool(0 <= lmnn.solution_.gap < 0.02 * lmnn.objective_)
    (True, True)
    """

    _accepts = ()

    def __init__(
        self,
        n_neighbors=3,
        push=1.0,
        n_components=None,
        *,
        init="auto",
        reg=0.0,
        reselect=0,
        max_iter=1000,
        tol=5e-3,
        callback=None,
        random_state=None,
    ):
        self.n_neighbors = n_neighbors
        self.push = push
        self.n_components = n_components
        self.init = init
        self.reg = reg
        self.reselect = reselect
        self.max_iter = max_iter
        self.tol = tol
        self.callback = callback
        self.random_state = random_state

    def _from_labels(self, X: Any, y: Any, rng: Any) -> Labels:
        return Labels.from_array(y, "LMNN", X.shape[0])

    def _learn(self, X: np.ndarray, side: Labels, rng: np.random.RandomState) -> Solution:
        targets.require_classes(side, "LMNN")
        k = _checks.number(self.n_neighbors, "LMNN", "n_neighbors", low=1, integer=True)
        again = _checks.number(self.reselect, "LMNN", "reselect", low=0, integer=True)
        _checks.number(self.push, "LMNN", "push", low=0, open_low=True)
        self.targets_ = targets.same_class(X, side, k)
        start = initial.Start.around(self, X, side, rng, self.targets_, self._weight(X), ridge=1e-5)
        solution = self._solve(start, side, 0)
        for _ in range(again):
            self.targets_ = targets.same_class(X @ solution.factor.T, side, k)
            start = replace(start, L=start.coordinates.lower(solution.factor, given=True))
            solution = self._solve(start, side, solution.n_iter)
        return solution

    def _weight(self, X: np.ndarray) -> float:
        """The weight of tr(M) as a number."""
        if isinstance(self.reg, str):
            _checks.one_of(self.reg, "LMNN", "reg", ("pull",))
            return sum(linalg.pair_sqdist(X, X[column]).sum() for column in self.targets_.T) / X.shape[1]
        return _checks.number(self.reg, "LMNN", "reg", low=0)

    def _solve(self, start: Any, labels: Labels, done: int) -> Solution:
        """Alternate searches for impostors, descents, and updates of the multipliers."""
        L, triplets = start.L, Triplets.none(start.Z, self.targets_, self.push)
        first, best, lowest, stalled, interval = 0.0, np.inf, np.inf, 0, INTERVAL
        while True:
            triplets = triplets.renewed(L, labels)
            state = triplets.state(L, start.ridge)
            first = first or state.objective
            residual = state.residual(L, max(state.objective, 1e-3 * first))
            if self.callback is not None:
                self.callback(done, state.objective, residual)
            steps = min(interval if done else FIRST, self.max_iter - done)
            if residual <= self.tol or steps <= 0 or stalled == 10 * PATIENCE:
                break
            better = residual < best or state.objective < 0.999 * lowest
            stalled = 0 if better else stalled + 1
            best, lowest = min(best, residual), min(lowest, state.objective)
            end = descend(start.penalized(triplets.smoothed), L, max_iter=steps)
            L, done = end.point, done + end.n_iter
            triplets = triplets.updated(L)
            if stalled % PATIENCE == PATIENCE - 1:
                # Multipliers that go around in circles need a sharper hinge, and, where it is convex, longer descents.
                interval = min(2 * interval, 80) if L.shape[0] >= L.shape[1] else interval
                triplets = replace(triplets, mu=triplets.mu / 2)
        return Solution(
            factor=start.coordinates.lift(L),
            objective=state.objective,
            gap=state.gap(L, initial.pull(start.Z, self.targets_) + np.diag(start.ridge)),
            n_iter=max(done, 1),
            converged=residual <= self.tol,
            residual=residual,
            tol=self.tol,
        )
