"""Metric learning by collapsing classes."""

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from gramian._arrays import namespace
from gramian._settings import Count, Size
from gramian.learners import neighbor_targets, softmax
from gramian.learners.base import Iterative
from gramian.learners.factor_descent import Init, Start
from gramian.learners.task import Effort, Task, Traits
from gramian.solvers.base import Solution


def mcml_loss(L: Any, X: Any, codes: Any) -> tuple[float, Any]:
    """f(L) = Σ_i KL(p0(·|i), p(·|i)) and its gradient (Globerson and Roweis 2006).

    p0(j|i) is uniform over the m_i other points of the class of i, p(j|i) ∝ exp(−‖Lx_i − Lx_j‖²), so that
    f = Σ_ij p0_ij d²_ij + Σ_i log Σ_{k≠i} exp(−d²_ik) − Σ_i log m_i. Points alone in their class are no anchors.
    """
    xp = namespace(X)
    classes = codes if isinstance(codes, softmax.Classes) else softmax.Classes(codes)
    X = classes.sorted(X)
    mates, V = within_classes(X, classes)
    anchor = xp.astype(mates > 0, X.dtype)
    cross = softmax.Cross(L, X)
    pull = V @ L.T
    value = float(xp.sum(pull * pull))
    for rows, E, top in softmax.neighborhoods(cross.Z):
        sums = cross.sums(E)
        total = sums[:, -1:]
        value += float(xp.sum(anchor[rows, :] * (top + xp.log(total / xp.where(mates > 0, mates, 1.0)[rows, :]))))
        # ∂f/∂d²_ij = p0_ij − p_ij with p_ij = E_ij / total_i.
        weights = -anchor[rows, :] / total
        cross.add_rows(rows, weights * sums)
        cross.add_columns(rows, weights, E)
    return value, 2 * (pull.T @ V + cross.total())


def within_classes(X: Any, classes: softmax.Classes) -> tuple[Any, Any]:
    """The numbers m_i (n, 1), and V (n, d) with VᵀV = Σ_ij p0_ij (x_i − x_j)(x_i − x_j)ᵀ.

    For a class of m + 1 points this is 2 (m + 1)/m times its scatter around the mean.
    """
    xp = namespace(X)
    V, mates = xp.zeros_like(X), xp.zeros((X.shape[0], 1), dtype=X.dtype, device=X.device)
    for _, members in classes.of(slice(0, X.shape[0])):
        m = members.stop - members.start - 1
        if m > 0:
            mates[members, :] = m
            V[members, :] = (2 * (m + 1) / m) ** 0.5 * (X[members, :] - xp.mean(X[members, :], axis=0))
    return mates, V


@dataclass(eq=False, repr=False)
class MCML(Iterative):
    """Bring the points of each class together as if they were one point.

    Minimize Σ_i KL(p0(·|i), p(·|i)) + reg · tr(M) over M ⪰ 0, a convex problem (Globerson and Roweis 2006).

    p0(j|i) is uniform over the other points of the class of i and p(j|i) ∝ exp(−d²_M(x_i, x_j)) for j ≠ i:
    the nearest one can come to collapsing each class into a point, infinitely far from the others.
    The problem is solved on a factor, M = LᵀL, by L-BFGS in whitened coordinates; at full rank the factor has no other
    minima. With ``n_components`` below the number of features the problem is no longer convex.
    Memory is O(n d): probabilities come in blocks of rows. A class of one point has no p0 and is no anchor.

    Parameters
    ----------
    n_components : int, optional
        Rows r of L; the number of features when None.
    init : {"auto", "identity", "pca", "lda", "random"} or array (r, d)
        Where L starts; "auto" is the identity at full rank and PCA below it.
    reg : float, ≥ 0
        Weight of tr(M) = ‖L‖² (Chatpatanasiri et al. 2010, Theorem 3). Where classes can be separated without
        bound (more features than points) the minimum is at infinity, and only reg > 0 gives a finite one.
    prior : {"identity", "covariance"} or array (d, d)
        What the metric is where the labels say nothing.
    anchor : "auto" or float in [0, 1]
        Weight of the prior. 0 is the problem as it stands above; "auto" chooses the weight on points and on classes
        that are held out, in the leading directions of the points (see the guide on anchored learning).
    max_iter : int, optional
        Most iterations.
    tol : float, optional
        Stop at ‖∇f‖ ‖L‖ ≤ tol · n.
        None: 1000 and 1e-05; 50 and 0.01 in a blend with a prior.
    verbose : bool
        Show progress: a bar, or lines where rich is not installed.
    callback : callable, optional
        Called as ``callback(iteration, objective, residual)``.
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
    gramian.NCA : Its relative in few dimensions.
    gramian.LMNN : For more points.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import gramian as gm
    >>> X, y = load_iris(return_X_y=True)
    >>> mcml = gm.MCML(anchor=0).fit(X, y)
    >>> mcml.converged_, mcml.metric_.matrix.shape
    (True, (4, 4))
    """

    traits = Traits(
        exact=Effort(tol=1e-5, max_iter=1000),
        blended=Effort(tol=1e-2, max_iter=50),
        pair_cost=(100, 6, 0),
        devices=True,
    )

    n_components: Count | None = None
    _: KW_ONLY
    init: Init | np.ndarray = "auto"
    reg: Size = 0.0

    def solve(self, task: Task) -> Solution:
        """A descent over L; convex at full rank, where its end does not depend on the start."""
        labels = task.y
        neighbor_targets.require_classes(labels, "MCML")
        start = Start.of(self, task, neighbor_targets.same_class(task.Z, labels, 3), self.reg, ridge=1e-10)
        start, codes = start.by_class(labels.codes)
        classes = softmax.Classes(codes)
        end = start.descend(lambda L, Z: mcml_loss(L, Z, classes), task.effort, task.report)
        return start.solution(end, task.effort)
