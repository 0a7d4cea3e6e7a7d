"""Large margin nearest neighbors."""

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Literal

import numpy as np

from gramian import _validate, linalg
from gramian._arrays import asarray, to_numpy
from gramian._settings import Count, Index, Positive, Size
from gramian.constraints import Comparisons
from gramian.learners import neighbor_targets
from gramian.learners.base import Iterative
from gramian.learners.class_weights import ClassWeight, class_weights
from gramian.learners.factor_descent import Init, Start, pull
from gramian.learners.impostors import Hinges, State, Triplets
from gramian.learners.task import Effort, Task, Traits
from gramian.solvers.base import Result, Solution, ended
from gramian.solvers.descent import descend


@dataclass(eq=False, repr=False)
class LMNN(Iterative):
    """Make the nearest neighbors of each point be of its class: pull them close, push others out.

    Minimize Σ_ij d²_M(x_i, x_j) + push · Σ_ijl [1 + d²_M(x_i, x_j) − d²_M(x_i, x_l)]₊ + reg · tr(M) over M ⪰ 0.

    j runs over the k target neighbors of i, the nearest points of its class in the Euclidean distance, and l over
    all points of other classes (Weinberger and Saul 2009; Chatpatanasiri et al. 2010, §2.2). The problem is
    convex in M. It is solved on a factor, M = LᵀL: hinges enter as augmented Lagrangians, whose multipliers
    λ ∈ [0, push] are renewed together with the list of impostors every few steps of L-BFGS, in coordinates
    whitened by the scatter of target pairs. All active triplets fold into one sparse Laplacian, so a step costs
    O(pairs · d + n d²), and nothing depends on the units of X. It stops when stationarity and complementary
    slackness, over all triplets, hold to ``tol`` relative to the objective; at full rank λ then also gives a
    dual bound, ``solution_.gap``.

    A class with fewer than k + 1 points uses the targets it has; a class of one point has none and only pushes.
    Triplets and quadruplets may take the place of labels: their near pairs are the targets, their far pairs the
    impostors, and each hinge has the margin that it was given.
    Directions in which X is constant are left out of the metric.

    Parameters
    ----------
    n_neighbors : int
        Target neighbors k.
    push : float, > 0
        Weight of the hinges against the pull of the targets.
    n_components : int, optional
        Rows r of L; the number of features when None. Below it the problem is not convex, and a fit has also converged
        when 40 searches for impostors in a row have lowered the objective by less than a thousandth.
    init : {"auto", "identity", "pca", "lda", "random"} or array (r, d)
        Where L starts; "auto" is the identity at full rank and PCA below it.
    reg : float, ≥ 0, or "pull"
        Weight of tr(M) = ‖L‖² (Chatpatanasiri et al. 2010, Theorem 3); "pull" is the mean eigenvalue of the scatter of
        target pairs. With as many features as points the problem without it has degenerate solutions, which pull
        all targets together and separate classes in directions that mean nothing: give "pull" then, and to
        kernelized LMNN.
    prior : {"identity", "covariance"} or array (d, d)
        What the metric is where the labels say nothing.
    anchor : "auto" or float in [0, 1]
        Weight of the prior. 0 is the problem as it stands above; "auto" chooses the weight on points and on classes
        that are held out, in the leading directions of the points (see the guide on anchored learning).
    class_weight : None, "balanced" or dict
        What the pull and the hinges of the points i of a class count: all the same; each class the same in all,
        however rare it is; or label → weight.
    reselect : int
        How often targets are chosen again, each time under the metric learned so far.
    max_iter : int, optional
        Most iterations.
    tol : float, optional
        Residual, relative to the objective, to stop at.
        None: 1000 and 0.005; 30 and 0.05 in a blend with a prior.
    verbose : bool
        Show progress: a bar, or lines where rich is not installed.
    callback : callable, optional
        Called as ``callback(iteration, objective, residual)`` after each search for impostors.
    random_state : int or generator, optional
        Draws, where there are any: the same number gives the same result.

    Attributes
    ----------
    metric_ : Metric
        The learned distance, an immutable value.
    targets_ : array (n, k)
        Target neighbors; a missing one is the point itself.

    See Also
    --------
    gramian.NCA : The same aim, smoothly.
    gramian.MCML : A convex relative of NCA.
    gramian.AutoMetric : Chooses among learners.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import gramian as gm
    >>> X, y = load_iris(return_X_y=True)
    >>> lmnn = gm.LMNN(anchor=0).fit(X, y)
    >>> lmnn.converged_, bool(0 <= lmnn.solution_.gap < 0.02 * lmnn.objective_)
    (True, True)
    """

    traits = Traits(
        takes=(Comparisons,),
        exact=Effort(tol=5e-3, max_iter=1000),
        blended=Effort(tol=5e-2, max_iter=30),
        pair_cost=(15, 0, 0.2),
        devices=True,
    )

    n_neighbors: Count = 3
    push: Positive = 1.0
    _: KW_ONLY
    n_components: Count | None = None
    init: Init | np.ndarray = "auto"
    reg: Size | Literal["pull"] = 0.0
    class_weight: ClassWeight = None
    reselect: Index = 0

    def solve(self, task: Task) -> Solution:
        """A descent in which hinges are renewed, from each choice of targets to the next."""
        if isinstance(task.y, Comparisons):
            return self.compare(replace(task, Z=to_numpy(task.Z)))
        neighbor_targets.require_classes(task.y, "LMNN")
        neighbors = neighbor_targets.same_class(task.Z, task.y, self.n_neighbors)  # (n, k)
        start = Start.of(self, task, neighbors, self.penalty(task.Z, neighbors), ridge=1e-9)
        weight = class_weights(self.class_weight, task.y, "LMNN")
        solution = descend_margins(start, task, Triplets.none(start.Z, neighbors, self.push, weight))
        for _ in range(self.reselect):
            neighbors = neighbor_targets.same_class(
                task.Z @ asarray(solution.factor.T, task.Z), task.y, self.n_neighbors
            )
            start = replace(start, L=asarray(start.coordinates.lower(solution.factor, given=True), start.Z))
            hinges = Triplets.none(start.Z, neighbors, self.push, weight)
            solution = descend_margins(start, task, hinges, done=solution.n_iter)
        return solution.saying(targets=task.in_rows(neighbors))

    def compare(self, task: Task) -> Solution:
        """Comparisons in the place of targets and impostors; M grows with their margins, 1 on average inside."""
        side = task.y.filled(task.Z)
        if not (side.margin > 0).any():
            raise ValueError(
                "LMNN: margin must be positive, or M = 0 is best; give margin=None to take it from the data."
            )
        if _validate.is_word(self.init, "lda"):
            raise ValueError("LMNN: init must not be 'lda' without labels; give 'pca' or 'identity'.")
        n = linalg.count(task.Z)
        i, j = side.near_ends
        once = np.unique(i * n + j)  # a pair that stands in several comparisons counts once
        ends = once // n, once % n
        start = Start.of(self, task, ends, self.penalty(task.Z, ends), ridge=1e-9)
        solution = descend_margins(start, task, Hinges.of(start.Z, side, self.push))
        size = float(side.margin.mean())
        factor = np.sqrt(size) * solution.factor
        return replace(solution, factor=factor, objective=size * solution.objective, gap=size * solution.gap)

    def penalty(self, Z: Any, near: Any) -> float:
        """The weight of tr(M) as a number."""
        if not isinstance(self.reg, str):
            return float(self.reg)
        if isinstance(near, tuple):
            return float(np.trace(pull(Z, near))) / Z.shape[1]
        apart = (linalg.pair_sqdist(Z, linalg.take(Z, near[:, j])) for j in range(near.shape[1]))
        return sum(map(linalg.total, apart)) / Z.shape[1]


INTERVAL, FIRST, LONGEST = 5, 3, 80
"""Steps between two searches for impostors, before the second one, and at most."""
PATIENCE = 4
"""Searches without progress before the hinge is made sharper."""


@dataclass
class Watch:
    """What was reached so far: ``stalled`` counts searches since the residual or the objective was last at its best."""

    scale: float = 0.0
    residual: float = np.inf
    objective: float = np.inf
    stalled: int = 0

    def see(self, state: State, L: np.ndarray) -> float:
        """Take in a state; its residual relative to the objective, which may fall to 1/1000 of where it began."""
        self.scale = self.scale or 1e-3 * state.objective
        residual = state.residual(L, max(state.objective, self.scale))
        better = residual < self.residual or state.objective < 0.999 * self.objective
        self.stalled = 0 if better else self.stalled + 1
        self.residual, self.objective = min(self.residual, residual), min(self.objective, state.objective)
        return residual

    @property
    def circling(self) -> bool:
        """Whether multipliers go around in circles."""
        return self.stalled % PATIENCE == PATIENCE - 1

    @property
    def hopeless(self) -> bool:
        """Whether nothing has helped for long."""
        return self.stalled > 10 * PATIENCE

    def result(self, residual: float, tol: float, done: int, max_iter: int) -> Result:
        """How it ended: below full rank the hinges may have no stationary point in reach, and nothing helps."""
        return Result.stalled if self.hopeless and residual > tol else ended(residual, tol, done, max_iter)


def descend_margins(start: Start, task: Task, triplets: Triplets | Hinges, done: int = 0) -> Solution:
    """Minimize pull, hinges and penalty over L from a start; ``done`` steps are behind."""
    tol, max_iter, report = task.effort.tol, int(task.effort.max_iter or 1), task.report
    L = start.L
    watch = Watch()
    interval = INTERVAL
    longer = 2 if L.shape[0] >= L.shape[1] else 1
    while True:
        triplets = triplets.renewed(L, task.y)
        state = triplets.state(L, start.ridge)
        residual = watch.see(state, L)
        if report is not None:
            report(done, state.objective, residual)
        steps = min(interval if done else FIRST, max_iter - done)
        if residual <= tol or steps <= 0 or watch.hopeless:
            break
        end = descend(start.penalized(triplets.smoothed), L, max_iter=steps)
        L = end.point
        done += end.n_iter
        triplets = triplets.updated(L)
        if watch.circling:  # a sharper hinge helps, and, where it is convex, longer descents
            interval = min(longer * interval, LONGEST)
            triplets = replace(triplets, mu=triplets.mu / 2)
    return Solution(
        factor=start.coordinates.lift(L),
        objective=state.objective,
        gap=state.gap(L, to_numpy(triplets.pull()) + np.diag(to_numpy(start.ridge))),
        n_iter=max(done, 1),
        result=watch.result(residual, tol, done, max_iter),
        residual=residual,
        tol=tol,
    )
