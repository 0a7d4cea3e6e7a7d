"""Neighborhood components analysis."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from gramian import _array, _checks, linalg
from gramian.constraints import Labels
from gramian.learners import initial, softmax, targets
from gramian.learners.base import MetricLearner
from gramian.solvers.base import Solution
from gramian.solvers.descent import Descent, adam_step, descend

INTERVAL = 10
"""Steps between two searches for the neighborhoods of the truncated loss."""


def nca_loss(L: Any, X: Any, codes: Any, rows: slice | None = None) -> tuple[float, Any]:
    """f(L) = −Σ_i p_i and its gradient, p_i = Σ_{j: y_j = y_i} p_ij (Chatpatanasiri et al. 2010, (3) and (5)).

    Memory is n × d and one block of probabilities, never n × n.

    Parameters
    ----------
    L : array (r, d)
    X : array (n, d), of any array namespace
    codes : integer array (n,)
    rows : slice, optional
        Sum over these points i only; all of them when None. Neighbors j are always all points.
    """
    xp = _array.namespace(X)
    Z = X @ L.T
    cross, value = softmax.Cross(X, Z), 0.0
    for block, P, _ in softmax.neighborhoods(Z, rows):
        W = P * xp.astype(codes[block][:, None] == codes[None, :], P.dtype)
        p = xp.sum(W, axis=1, keepdims=True)
        value -= float(xp.sum(p))
        # ∂(−p_i)/∂d²_ij = [y_i = y_j] p_ij − p_i p_ij, the bracket of (5).
        P *= p
        W -= P
        cross.add(block, W)
    return value, 2 * cross.total(L)


def truncated_nca_loss(L: np.ndarray, X: np.ndarray, codes: np.ndarray, near: np.ndarray) -> tuple[float, np.ndarray]:
    """:func:`nca_loss` with the neighbors j of point i limited to the row ``near[i]``, O(n k) work and memory."""
    n, k = near.shape
    Z = X @ L.T
    P = np.empty((n, k))
    for rows in linalg.blocks(n, 8 * k * Z.shape[1], softmax.BLOCK_BYTES):
        V = Z[rows, None, :] - Z[near[rows]]
        P[rows] = -np.einsum("ijk,ijk->ij", V, V)
    P = np.exp(P - P.max(axis=1, keepdims=True))
    P /= P.sum(axis=1, keepdims=True)
    W = P * (codes[near] == codes[:, None])
    p = W.sum(axis=1, keepdims=True)
    W -= P * p
    graph = sparse.csr_array((W.ravel(), near.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))
    return -float(p.sum()), 2 * L @ linalg.scatter(X, graph)


class NCA(MetricLearner):
    """Minimize −Σ_i p_i + reg · ‖L‖² over L (r, d): the expected number of points that a random neighbor classifies.

    p_i = Σ_{j: y_j = y_i} p_ij with p_ij ∝ exp(−‖Lx_i − Lx_j‖²) for j ≠ i (Goldberger et al. 2005;
    Chatpatanasiri et al. 2010, (3)). The problem is not convex; it is descended by L-BFGS in coordinates
    that are whitened by the scatter of near neighbors, so that the result and the cost do not depend on the units of X.
    The probabilities are computed in blocks of rows: memory is O(n d), not n × n as in other implementations.

    Parameters
    ----------
    n_components : int, optional
        Rows r of L; the number of features when None.
    init : {"auto", "identity", "pca", "lda", "random"} or array (r, d)
        Where the descent starts. A named start is scaled to the data, an array is taken as it is.
    reg : float, ≥ 0
        Weight of ‖L‖² (Chatpatanasiri et al. 2010, Theorem 3).
    n_neighbors : int, optional
        Limit p_ij to the nearest n_neighbors points j, searched again every ten steps: O(n k) work between searches.
    batch_size : int, optional
        Stochastic descent (Adam) on batches of points i instead of L-BFGS, ``max_iter`` passes at most.
    max_iter : int
    tol : float
        Stop at ‖∇f‖ ‖L‖ ≤ tol · n; with batches, when a pass changes the objective by less than tol · n.
    callback : callable, optional
        Called as ``callback(iteration, objective, residual)``.
    random_state : int or generator, optional

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import gramian as gm
    >>> X, y = load_iris(return_X_y=True)
    >>> nca = gm.NCA(n_components=2).fit(X, y)
    >>> nca.components_.shape, bool(-nca.objective_ > 0.97 * len(X))
    ((2, 4), True)
    """

    _accepts = ()

    def __init__(
        self,
        n_components=None,
        *,
        init="auto",
        reg=0.0,
        n_neighbors=None,
        batch_size=None,
        max_iter=200,
        tol=1e-4,
        callback=None,
        random_state=None,
    ):
        self.n_components = n_components
        self.init = init
        self.reg = reg
        self.n_neighbors = n_neighbors
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.tol = tol
        self.callback = callback
        self.random_state = random_state

    def _from_labels(self, X: Any, y: Any, rng: Any) -> Labels:
        return Labels.from_array(y, "NCA", X.shape[0])

    def _learn(self, X: np.ndarray, side: Labels, rng: np.random.RandomState) -> Solution:
        targets.require_classes(side, "NCA")
        start = initial.Start.make(self, X, side, rng)
        if self.batch_size is not None:
            end = self._stochastic(start, side.codes, rng)
        elif self.n_neighbors is not None and self.n_neighbors < X.shape[0] - 1:
            end = self._truncated(start, side.codes)
        else:
            end = self._descend(start, lambda L: nca_loss(L, start.Z, side.codes), start.L, self.max_iter, 0)
        return start.solution(end, self.tol)

    def _descend(self, start: Any, loss: Callable, L: np.ndarray, max_iter: int, done: int) -> Descent:
        report = None if self.callback is None else (lambda k, *rest: self.callback(done + k, *rest))
        n = start.Z.shape[0]
        return descend(start.penalized(loss), L, max_iter=max_iter, tol=self.tol, scale=n, callback=report)

    def _truncated(self, start: Any, codes: np.ndarray) -> Descent:
        """Alternate searches for neighborhoods and descents on them until a fresh search finds nothing to do."""
        k = _checks.number(self.n_neighbors, "NCA", "n_neighbors", low=1, integer=True)
        L, done = start.L, 0
        while True:
            near = targets.everywhere(start.Z @ L.T, k)
            steps = min(INTERVAL, self.max_iter - done)
            end = self._descend(start, lambda L: truncated_nca_loss(L, start.Z, codes, near), L, steps, done)  # noqa: B023
            L, done = end.point, done + end.n_iter
            if end.n_iter == 0 or done >= self.max_iter:
                return replace(end, n_iter=done)

    def _stochastic(self, start: Any, codes: np.ndarray, rng: np.random.RandomState) -> Descent:
        """Passes of Adam over shuffled batches, with a step that falls as 1/√pass."""
        n, L, state = len(codes), start.L, None
        size = _checks.number(self.batch_size, "NCA", "batch_size", low=1, integer=True)
        rate, before, change, done = 0.1 * np.sqrt(np.mean(L**2)), np.inf, np.inf, 0
        while done < self.max_iter and change > self.tol * n:
            order, done, value = rng.permutation(n), done + 1, 0.0
            Z, c = start.Z[order], codes[order]
            for first in range(0, n, size):
                rows = slice(first, min(first + size, n))
                part, gradient = start.penalized(lambda L: nca_loss(L, Z, c, rows), (rows.stop - first) / n)(L)  # noqa: B023
                L, state = adam_step(L, gradient, state, rate / np.sqrt(done))
                value += part
            change, before = abs(value - before), value
            if self.callback is not None:
                self.callback(done, value, change / n)
        value, gradient = start.penalized(lambda L: nca_loss(L, start.Z, codes))(L)
        return Descent(L, value, gradient, done, change / n)
