"""A linear map near the identity under which points of a class are found by their angle."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from gramian import linalg
from gramian._arrays import namespace
from gramian._settings import Positive, Size
from gramian.constraints import Chunklets, Labels
from gramian.learners import softmax
from gramian.learners.base import Iterative
from gramian.learners.factor_descent import ROUGH, SINGLE
from gramian.learners.task import Effort, Task, Traits
from gramian.solvers.base import Solution, ended
from gramian.solvers.descent import descend


def contrastive_loss(L: Any, X: Any, codes: Any, temperature: float) -> tuple[float, Any]:
    """f(L) = mean_i −log Σ_{j: y_j = y_i} p_ij and its gradient, p_ij ∝ exp(cos(Lx_i, Lx_j)/τ) over j ≠ i.

    The mean is over points that have another of their class. Memory is n × d and one block of probabilities.
    """
    xp = namespace(X)
    classes = codes if isinstance(codes, softmax.Classes) else softmax.Classes(codes)
    X = classes.sorted(X)
    Z = X @ L.T
    size = xp.sqrt(xp.sum(Z * Z, axis=1, keepdims=True))  # (n, 1)
    size = xp.where(size > 0, size, xp.ones_like(size))
    U = Z / size  # rows of length one, (n, r)
    G, value, anchors = xp.zeros_like(U), 0.0, 0
    # |u_i − u_j|² = 2 − 2 cos for rows of length one, so that neighbors by distance are those by angle.
    for rows, E, _ in softmax.neighborhoods(U / (2 * temperature) ** 0.5):
        lost, count, slope = loss_of_block(E, classes, rows)
        value, anchors = value + lost, anchors + count
        G[rows, :] += slope @ U
        G += slope.T @ U[rows, :]
    G = G / (max(anchors, 1) * temperature)
    G = (G - U * xp.sum(G * U, axis=1, keepdims=True)) / size  # through the division by the length
    return value / max(anchors, 1), G.T @ X


def loss_of_block(E: Any, classes: softmax.Classes, rows: slice) -> tuple[float, int, Any]:
    """Σ −log p_i over the anchors of a block that have mates, how many these are, and τ ∂/∂cos (rows, n); E is used up.

    With p_i = Σ_{j ~ i} E_ij / Σ_j E_ij the slope is p_ij − [y_i = y_j] p_ij / p_i.
    """
    xp = namespace(E)
    tiny = float(xp.finfo(E.dtype).smallest_normal)
    mass = xp.zeros_like(E[:, :1])  # Σ_{j ~ i} E_ij, (rows, 1)
    for members, columns in classes.of(rows):
        mass[members, :] += xp.sum(E[members, columns], axis=1, keepdims=True)
    total = xp.sum(E, axis=1, keepdims=True)
    counted = xp.astype(_mates(classes, rows, mass) > 0, E.dtype)
    mass = xp.where(mass > tiny, mass, tiny * xp.ones_like(mass))
    for members, columns in classes.of(rows):
        E[members, columns] *= 1 - (total / mass)[members, :]
    return -float(xp.sum(counted * xp.log(mass / total))), int(xp.sum(counted)), E * (counted / total)


def _mates(classes: softmax.Classes, rows: slice, like: Any) -> Any:
    """The number of other points of the class of each anchor of a block, (rows, 1)."""
    mates = namespace(like).zeros_like(like) - 1
    for members, columns in classes.of(rows):
        mates[members, :] += columns.stop - columns.start
    return mates


@dataclass(eq=False, repr=False)
class Contrastive(Iterative):
    """Turn and stretch embeddings a little, so that points of a class are found by their angle.

    Minimize mean_i −log(Σ_{j ~ i} e^{c_ij/τ} / Σ_{j ≠ i} e^{c_ij/τ}) + reg/2 · ‖L − I‖² over L, with M = LᵀL.

    c_ij = cos(L(x_i − μ), L(x_j − μ)) is the cosine seen from the mean μ of the points, and j ~ i are the others of the
    class of i: the supervised contrastive loss (Khosla et al. 2020, (3)) of one linear layer, which vendors of
    embeddings call an adapter. Descent starts at the identity, and ‖L − I‖² keeps it near: where labels say nothing
    the points stay as they are, also for classes that have no label. It is deterministic, by L-BFGS on all points,
    whose probabilities are computed in blocks of rows: memory is O(n d), not n × n.

    Parameters
    ----------
    temperature : float, > 0
        τ: how near a neighbor must be to count.
    reg : float, ≥ 0
        Weight of ‖L − I‖².
    prior : {"identity", "covariance"} or array (d, d)
        What the metric is where the labels say nothing.
    anchor : "auto" or float in [0, 1]
        Weight of the prior. 0 is the problem as it stands above; "auto" chooses the weight on points and on classes
        that are held out (see the guide on anchored learning).
    max_iter : int, optional
        Most iterations; an anchored fit takes ten.
    tol : float, optional
        Stop at ‖∇f‖ ‖L‖ ≤ tol.
        None: 200 and 0.0001; 10 and 0.01 in a blend with a prior.
    verbose : bool
        Show progress: a bar, or lines where rich is not installed.
    callback : callable, optional
        Called as ``callback(iteration, objective, residual)``.
    random_state : int or generator, optional
        For the points that are held out.

    Attributes
    ----------
    metric_ : Metric
        The learned distance, an immutable value.
    n_iter_, converged_, objective_, solution_
        Steps taken, whether ``solution_.tol`` was met, the objective (of a blend there is none), and the whole answer.

    See Also
    --------
    gramian.NCA : Neighbors by distance, in few dimensions if you like.
    gramian.AutoMetric : Tries it, and compares by angle where that is better.

    Examples
    --------
    >>> import gramian as gm
    >>> X, y = gm.datasets.load("wine", return_X_y=True)
    >>> learner = gm.Contrastive(anchor=0).fit((X - X.mean(axis=0)) / X.std(axis=0), y)
    >>> learner.metric_.matrix.shape, learner.converged_
    ((13, 13), True)
    """

    traits = Traits(
        takes=(Chunklets,),
        exact=Effort(tol=1e-4, max_iter=200),
        blended=Effort(tol=1e-2, max_iter=10),
        retry_above=np.inf,  # few steps from the identity are a penalty of their own, and what folds were judged by
        directions=512,  # a step costs their square for each point; the penalty holds what says nothing
        points_each=1,
        repeats=3,
        pair_cost=(200, 1.9, 0),
        by_angle=True,
        devices=True,
    )

    temperature: Positive = 0.1
    reg: Size = 0.03

    def solve(self, task: Task) -> Solution:
        """A descent from the identity."""
        points, codes = rows_by_class(task)
        loss = partial(contrastive_loss, codes=softmax.Classes(codes), temperature=self.temperature)
        eye, effort = linalg.identity(task.Z.shape[1], points), task.effort

        def objective(L: Any, X: Any = points) -> tuple[float, Any]:
            value, gradient = loss(namespace(X).astype(L, X.dtype), X)
            away = L - eye
            return value + self.reg / 2 * linalg.total(away * away), linalg.double(gradient) + self.reg * away

        rough = points.shape[0] >= SINGLE and effort.tol >= ROUGH
        begun = partial(objective, X=linalg.single(points)) if rough else objective
        end = descend(begun, eye, max_iter=int(effort.max_iter or 1), tol=effort.tol, callback=task.report)
        return Solution(
            factor=end.point,
            objective=objective(end.point)[0] if rough else end.value,
            n_iter=max(end.n_iter, 1),  # scikit-learn counts the look at the start
            result=ended(end.residual, effort.tol, end.n_iter, int(effort.max_iter or 1)),
            residual=end.residual,
            tol=effort.tol,
        )


def rows_by_class(task: Task) -> tuple[Any, np.ndarray]:
    """Points of length one around the mean of those that have a class, in the order of the classes, and these."""
    groups = task.y
    ids = groups.codes if isinstance(groups, Labels) else groups.ids  # (n,)
    labeled = np.flatnonzero(ids >= 0)
    codes = ids[labeled]
    if len(np.unique(codes)) < 2 or np.bincount(np.unique(codes, return_inverse=True)[1]).max() < 2:
        raise ValueError("Contrastive: needs two classes, and two points in one of them.")
    order = labeled[np.argsort(codes, kind="stable")]
    center = linalg.mean(linalg.take(task.Z, labeled))
    return linalg.unit_rows(linalg.take(task.Z, order) - center), ids[order]
