"""Metric learning by collapsing classes."""

from typing import Any

import numpy as np

from gramian import _array
from gramian.constraints import Labels
from gramian.learners import initial, softmax, targets
from gramian.learners.base import MetricLearner
from gramian.solvers.base import Solution
from gramian.solvers.descent import descend


def mcml_loss(L: Any, X: Any, codes: Any) -> tuple[float, Any]:
    """f(L) = Σ_i KL(p0(·|i), p(·|i)) and its gradient (Globerson and Roweis 2006).

    p0(j|i) is uniform over the m_i other points of the class of i, p(j|i) ∝ exp(−‖Lx_i − Lx_j‖²), so that
    f = Σ_ij p0_ij d²_ij + Σ_i log Σ_{k≠i} exp(−d²_ik) − Σ_i log m_i. Points alone in their class are no anchors.
    """
    xp = _array.namespace(X)
    Z = X @ L.T
    cross, value = softmax.Cross(X, Z), 0.0
    for block, P, lse in softmax.neighborhoods(Z):
        same = xp.astype(codes[block][:, None] == codes[None, :], P.dtype)
        xp.reshape(same, (-1,))[block.start :: P.shape[1] + 1] = 0
        m = xp.sum(same, axis=1, keepdims=True)
        anchor = xp.astype(m > 0, P.dtype)
        value += float(xp.sum(anchor[:, 0] * (lse - xp.log(xp.where(m > 0, m, 1.0))[:, 0])))
        same /= xp.where(m > 0, m, 1.0)
        # ∂f/∂d²_ij = p0_ij − p_ij.
        cross.add(block, same - P * anchor)
    return value + _within(Z, codes, xp), 2 * cross.total(L)


def _within(Z: Any, codes: Any, xp: Any) -> float:
    """Σ_ij p0_ij ‖z_i − z_j‖² = Σ_classes 2 m/(m − 1) Σ_i ‖z_i − mean‖², over classes of m ≥ 2 points."""
    total = 0.0
    for c in xp.unique_values(codes):
        V = Z[xp.nonzero(codes == c)[0], ...] if xp is np else xp.take(Z, xp.nonzero(codes == c)[0], axis=0)
        if V.shape[0] > 1:
            V = V - xp.mean(V, axis=0)
            total += 2 * V.shape[0] / (V.shape[0] - 1) * float(xp.sum(V * V))
    return total


class MCML(MetricLearner):
    """Minimize Σ_i KL(p0(·|i), p(·|i)) + reg · tr(M) over M ⪰ 0, a convex problem (Globerson and Roweis 2006).

    p0(j|i) is uniform over the other points of the class of i and p(j|i) ∝ exp(−d²_M(x_i, x_j)) for j ≠ i:
    the nearest one can come to collapsing each class into a point, infinitely far from the others.
    The problem is solved on a factor, M = LᵀL, by L-BFGS in whitened coordinates; at full rank the factor has no other
    minima. With ``n_components`` below the number of features the problem is no longer convex.
    Memory is O(n d): probabilities come in blocks of rows. A class of one point has no p0 and is no anchor.

    Parameters
    ----------
    n_components : int, optional
    init : {"auto", "identity", "pca", "lda", "random"} or array (r, d)
    reg : float, ≥ 0
        Weight of tr(M) = ‖L‖² (Chatpatanasiri et al. 2010, Theorem 3). Where classes can be separated without
        bound (more features than points) the minimum is at infinity, and only reg > 0 gives a finite one.
    max_iter : int
    tol : float
        Stop at ‖∇f‖ ‖L‖ ≤ tol · n.
    callback : callable, optional
        Called as ``callback(iteration, objective, residual)``.
    random_state : int or generator, optional

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import gramian as gm
    >>> X, y = load_iris(return_X_y=True)
    >>> mcml = gm.MCML().fit(X, y)
    >>> mcml.converged_, mcml.metric_.matrix.shape
    (True, (4, 4))
    """

    _accepts = ()

    def __init__(
        self,
        n_components=None,
        *,
        init="auto",
        reg=0.0,
        max_iter=1000,
        tol=1e-5,
        callback=None,
        random_state=None,
    ):
        self.n_components = n_components
        self.init = init
        self.reg = reg
        self.max_iter = max_iter
        self.tol = tol
        self.callback = callback
        self.random_state = random_state

    def _from_labels(self, X: Any, y: Any, rng: Any) -> Labels:
        return Labels.from_array(y, "MCML", X.shape[0])

    def _learn(self, X: np.ndarray, side: Labels, rng: np.random.RandomState) -> Solution:
        targets.require_classes(side, "MCML")
        start = initial.Start.make(self, X, side, rng)
        loss = start.penalized(lambda L: mcml_loss(L, start.Z, side.codes))
        options = {"max_iter": self.max_iter, "tol": self.tol, "scale": len(X), "callback": self.callback}
        return start.solution(descend(loss, start.L, **options), self.tol)
