"""Neighborhood components analysis."""

from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from gramian import linalg
from gramian._arrays import asarray, foreign, namespace
from gramian._settings import Count, Size
from gramian.learners import neighbor_targets, softmax
from gramian.learners.base import Iterative
from gramian.learners.class_weights import ClassWeight, class_weights
from gramian.learners.factor_descent import Init, Start, shifted
from gramian.learners.task import Effort, Task, Traits
from gramian.solvers.base import Solution
from gramian.solvers.descent import Descent, adam_step, descend

INTERVAL = 10
"""Steps between two searches for the neighborhoods of the truncated loss."""


def nca_loss(L: Any, X: Any, codes: Any, rows: slice | None = None, weight: Any = None) -> tuple[float, Any]:
    """f(L) = −Σ_i w_i p_i and its gradient, p_i = Σ_{j: y_j = y_i} p_ij (Chatpatanasiri et al. 2010, (3) and (5)).

    Memory is n × d and one block of probabilities, never n × n.

    Parameters
    ----------
    L : array (r, d)
    X : array (n, d), of any array namespace
    codes : integer array (n,), or the classes of points that stand in the order of their classes
    rows : slice, optional
        Sum over these points i only; all of them when None. Neighbors j are always all points.
    weight : array (n,), optional
        w_i, in the order of X; 1 when None.
    """
    xp = namespace(X)
    classes = codes if isinstance(codes, softmax.Classes) else softmax.Classes(codes, rows)
    cross = softmax.Cross(L, classes.sorted(X))
    each = None if weight is None else classes.sorted(xp.asarray(weight, dtype=X.dtype, device=X.device)[:, None])
    # −Σ w_i + Σ w_i (1 − p_i): near the end p_i is almost 1, and in single precision only 1 − p_i keeps its digits.
    value = -float(classes.n_anchors if each is None else xp.sum(each[: classes.n_anchors, :]))
    for block, E, _ in softmax.neighborhoods(cross.Z, slice(0, classes.n_anchors)):
        everyone = cross.sums(E)
        matching = xp.zeros_like(everyone)
        for members, columns in classes.of(block):
            matching[members, :] += cross.sums(E[members, columns], columns)
        total = everyone[:, -1:]
        p = matching[:, -1:] / total
        share = 1 / total if each is None else each[block, :] / total  # w_i / total_i
        missed = 1 - p if each is None else (1 - p) * each[block, :]
        value += float(xp.sum(missed))
        # ∂(−p_i)/∂d²_ij = [y_i = y_j] p_ij − p_i p_ij, the bracket of (5), with p_ij = E_ij / total_i.
        cross.add_rows(block, (matching - p * everyone) * share)
        cross.add_columns(block, -p * share, E)
        for members, columns in classes.of(block):
            rows = slice(block.start + members.start, block.start + members.stop)
            cross.add_columns(rows, share[members, :], E[members, columns], columns)
    return value, 2 * cross.total()


def batch_nca_loss(L: Any, X: Any, codes: Any, rows: slice, weight: Any = None) -> tuple[float, Any]:
    """:func:`nca_loss` of points in any order, by masks: for batches on a device, where sorting takes copies."""
    xp = namespace(X)
    cross = softmax.Cross(L, X)
    value = 0.0
    for block, E, _ in softmax.neighborhoods(cross.Z, rows):
        same = xp.astype(codes[block][:, None] == codes[None, :], E.dtype)
        everyone, matching = cross.sums(E), cross.sums(E * same)
        total = everyone[:, -1:]
        p = matching[:, -1:] / total
        each = xp.ones_like(p) if weight is None else weight[block][:, None]
        value -= float(xp.sum(p * each))
        cross.add_rows(block, (matching - p * everyone) * each / total)
        cross.add_columns(block, each / total, E * (same - p))
    return value, 2 * cross.total()


def truncated_nca_loss(
    L: np.ndarray, X: np.ndarray, codes: np.ndarray, near: np.ndarray, weight: np.ndarray | None = None
) -> tuple[float, np.ndarray]:
    """:func:`nca_loss` with the neighbors j of point i limited to the row ``near[i]``, O(n k) work and memory."""
    n, k = near.shape
    Z = X @ L.T
    P = np.empty((n, k))  # −d²_ij, then p_ij
    for rows in linalg.blocks(n, 8 * k * Z.shape[1], softmax.BLOCK_BYTES):
        V = Z[rows, None, :] - Z[near[rows]]
        P[rows] = -np.einsum("ijk,ijk->ij", V, V)
    P = np.exp(P - P.max(axis=1, keepdims=True))
    P /= P.sum(axis=1, keepdims=True)
    W = P * (codes[near] == codes[:, None])  # p_ij of the own class, (n, k)
    p = W.sum(axis=1, keepdims=True)  # p_i, (n, 1)
    W -= P * p  # −∂f/∂d²_ij
    if weight is not None:
        W, p = W * weight[:, None], p * weight[:, None]
    graph = sparse.csr_array((W.ravel(), near.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))
    return -float(p.sum()), 2 * L @ linalg.scatter(X, graph)


@dataclass(eq=False, repr=False)
class NCA(Iterative):
    """Make a random near neighbor likely to be of the point's class, in few dimensions if you like.

    Minimize −Σ_i p_i + reg · ‖L‖² over L (r, d): the expected number of points that a random neighbor classifies.

    p_i = Σ_{j: y_j = y_i} p_ij with p_ij ∝ exp(−‖Lx_i − Lx_j‖²) for j ≠ i (Goldberger et al. 2005;
    Chatpatanasiri et al. 2010, (3)). The problem is not convex; it is descended by L-BFGS in coordinates
    that are whitened by the scatter of near neighbors, so that the result and the cost do not depend on the units of X.
    The probabilities are computed in blocks of rows: memory is O(n d), not n × n as in other implementations. From
    500 points on they are in single precision until the residual is below 1e-4; the end is always judged in double.

    Parameters
    ----------
    n_components : int, optional
        Rows r of L; the number of features when None.
    init : {"auto", "identity", "pca", "lda", "random"} or array (r, d)
        Where the descent starts. A named start is scaled to the data, an array is taken as it is.
    reg : float, ≥ 0
        Weight of ‖L‖² (Chatpatanasiri et al. 2010, Theorem 3).
    prior : {"identity", "covariance"} or array (d, d)
        What the metric is where the labels say nothing.
    anchor : "auto" or float in [0, 1]
        Weight of the prior. 0 is the problem as it stands above; "auto" chooses the weight on points and on classes
        that are held out, in the leading directions of the points (see the guide on anchored learning).
    n_neighbors : int, optional
        Limit p_ij to the nearest n_neighbors points j, searched again every ten steps: O(n k) work between searches.
    class_weight : None, "balanced" or dict
        What the points i of a class count: all the same; each class the same in all, however rare it is; or
        label → weight.
    batch_size : int, optional
        Stochastic descent (Adam) on batches of points i instead of L-BFGS, ``max_iter`` passes at most.
    max_iter : int, optional
        Most iterations.
    tol : float, optional
        Stop at ‖∇f‖ ‖L‖ ≤ tol · n; with batches, when a pass changes the objective by less than tol · n.
        None: 200 and 0.0001; 50 and 0.01 in a blend with a prior.
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
    gramian.LMNN : Hinges in place of probabilities, for more points.
    gramian.MCML : Its convex relative.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import gramian as gm
    >>> X, y = load_iris(return_X_y=True)
    >>> nca = gm.NCA(n_components=2, anchor=0).fit(X, y)
    >>> nca.components_.shape, bool(-nca.objective_ > 0.97 * len(X))
    ((2, 4), True)
    """

    traits = Traits(
        exact=Effort(tol=1e-4, max_iter=200),
        blended=Effort(tol=1e-2, max_iter=50),
        pair_cost=(65, 5.5, 0),
        devices=True,
    )

    n_components: Count | None = None
    _: KW_ONLY
    init: Init | np.ndarray = "auto"
    reg: Size = 0.0
    n_neighbors: Count | None = None
    class_weight: ClassWeight = None
    batch_size: Count | None = None

    def solve(self, task: Task) -> Solution:
        """A descent over L: on all neighbors, on the nearest ones, or by batches."""
        labels = task.y
        neighbor_targets.require_classes(labels, "NCA")
        start = Start.of(self, task, neighbor_targets.same_class(task.Z, labels, 3), self.reg)
        weight = class_weights(self.class_weight, labels, "NCA")
        weight = None if weight is None else asarray(weight, start.Z)  # (n,)
        if self.batch_size is not None:
            end = descend_by_batches(start, task, weight, self.batch_size)
        elif self.n_neighbors is not None and self.n_neighbors < task.Z.shape[0] - 1:
            end = descend_truncated(start, task, weight, self.n_neighbors)
        else:
            weight = None if weight is None else linalg.take(weight, neighbor_targets.by_class(labels, start.Z))
            start, codes = start.by_class(labels.codes)
            loss = partial(nca_loss, codes=softmax.Classes(codes), weight=weight)
            end = start.descend(loss, task.effort, task.report)
        return start.solution(end, task.effort)


def descend_truncated(start: Start, task: Task, weight: Any, k: int) -> Descent:
    """Alternate searches for neighborhoods and descents on them until a fresh search finds nothing to do."""
    labels = task.y
    L, done, most = start.L, 0, int(task.effort.max_iter or 1)
    codes = labels.codes
    if foreign(start.Z):
        raise TypeError(
            "NCA: n_neighbors must be None for X on a device; the search for neighborhoods runs on the CPU: pass X as "
            "a NumPy array for it."
        )
    while True:
        listed = neighbor_targets.everywhere(start.Z @ L.T, k)
        loss = start.penalized(partial(truncated_nca_loss, X=start.Z, codes=codes, near=listed, weight=weight))
        steps, heard = min(INTERVAL, most - done), shifted(task.report, done)
        end = descend(loss, L, max_iter=steps, tol=task.effort.tol, scale=len(codes), callback=heard)
        L = end.point
        done += end.n_iter
        if end.n_iter == 0 or done >= most:
            return replace(end, n_iter=done)


def batch_losses(start: Start, task: Task, weight: Any, size: int) -> Iterator[Callable[..., Any]]:
    """The losses of the batches of one pass, in an order that is drawn for it."""
    n = len(task.y.codes)
    batch_loss = batch_nca_loss if foreign(start.Z) else nca_loss
    order = asarray(task.rng.permutation(n), start.Z)
    each = None if weight is None else linalg.take(weight, order)
    X, codes = linalg.take(start.Z, order), linalg.take(asarray(task.y.codes, start.Z), order)
    shuffled = partial(batch_loss, X=X, codes=codes, weight=each)
    for rows in linalg.blocks(n, 1, size):
        yield start.penalized(partial(shuffled, rows=rows), share=(rows.stop - rows.start) / n)


def descend_by_batches(start: Start, task: Task, weight: Any, size: int) -> Descent:
    """Passes of Adam over shuffled batches, with a step that falls as 1/√pass."""
    labels = task.y
    n, L, state = len(labels.codes), start.L, None
    rate = 0.1 * (linalg.total(L**2) / (L.shape[0] * L.shape[1])) ** 0.5
    before, change, done = np.inf, np.inf, 0
    while done < int(task.effort.max_iter or 1) and change > task.effort.tol * n:
        done += 1
        value = 0.0
        for loss in batch_losses(start, task, weight, size):
            batch_value, gradient = loss(L)
            L, state = adam_step(L, gradient, state, rate / done**0.5)
            value += batch_value
        change = abs(value - before)
        before = value
        if task.report is not None:
            task.report(done, value, change / n)
    value, gradient = start.penalized(partial(nca_loss, X=start.Z, codes=labels.codes, weight=weight))(L)
    return Descent(L, value, gradient, done, change / n)
