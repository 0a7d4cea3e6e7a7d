"""Sparse compositional metric learning."""

from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, Literal

import numpy as np
from scipy import linalg as sla

from gramian import _validate, linalg
from gramian._settings import Count, Positive, Within
from gramian.constraints import Comparisons, Triplets
from gramian.learners import neighbor_targets
from gramian.learners.anchored import leading_directions
from gramian.learners.base import Iterative
from gramian.learners.combinations import Combination, combine
from gramian.learners.task import Effort, Task, Traits
from gramian.solvers.base import Solution

MOST_BASES = 10_000
"""Local bases that are made at most."""
SHARES = (1.0, 0.3, 0.1)
"""Shares of the anchors that the cells of local bases hold."""
POINTS_EACH = 5
"""Points that a direction needs."""
RIDGE = 0.1
"""Share of the scatter of all near pairs that is added to that of a cell."""


def local_bases(X: np.ndarray, side: Comparisons, n_bases: int, rng: np.random.RandomState) -> np.ndarray:
    """Directions (K, d) along which, in cells of near anchors, far pairs differ most relative to near pairs.

    Each cell gives leading generalized eigenvectors of the scatter of its far pairs against that of its near pairs:
    Fisher's directions, computed from comparisons. Cells are of three sizes, around anchors drawn at random. Few points
    in many dimensions could be told apart by anything, so all bases are in the leading directions U of the points, at
    least five points for each.
    """
    most = max(2, len(X) // POINTS_EACH)
    if most < X.shape[1]:
        U = leading_directions(X - X.mean(axis=0), most)
        return local_bases(X @ U, side, n_bases, rng) @ U.T
    within, between = (PairScatter(X, *ends) for ends in (side.near_ends, side.far_ends))
    whole = within(np.ones(len(X), dtype=bool))  # (d, d)
    whole += 1e-6 * max(np.trace(whole) / len(whole), np.finfo(float).tiny) * np.eye(len(whole))
    anchors = np.unique(within.first)  # rows of X that anchor a comparison
    each = max(1, min(X.shape[1], n_bases // 8))
    bases = [_leading(between(np.ones(len(X), dtype=bool)), whole, each)]
    while sum(map(len, bases)) < n_bases:
        size = int(np.ceil(SHARES[len(bases) % len(SHARES)] * len(anchors)))
        center = X[anchors[rng.randint(len(anchors))]]  # (d,), the middle of a cell
        inside = np.zeros(len(X), dtype=bool)  # (n,)
        inside[anchors[np.argsort(linalg.row_norms(X[anchors] - center), kind="stable")[:size]]] = True
        bases.append(_leading(between(inside), within(inside) + RIDGE * whole, each))
    return np.concatenate(bases)[:n_bases]


class PairScatter:
    """Mean of (x_i − x_j)(x_i − x_j)ᵀ over the pairs whose first point is in a cell; zero when there is none.

    A pair that occurs several times is kept once, with a count.
    """

    def __init__(self, X: np.ndarray, i: np.ndarray, j: np.ndarray):
        pairs, self.count = np.unique(i * len(X) + j, return_counts=True)
        self.first = pairs // len(X)  # (p,)
        self.differences = X[self.first] - X[pairs % len(X)]  # (p, d)

    def __call__(self, inside: np.ndarray) -> np.ndarray:
        """The scatter of the cell of points that are ``inside``, (d, d)."""
        rows = np.flatnonzero(inside[self.first])
        V, count = self.differences[rows], self.count[rows]
        return V.T @ (V * count[:, None]) / max(int(count.sum()), 1)


def _leading(S: np.ndarray, W: np.ndarray, count: int) -> np.ndarray:
    """The leading generalized eigenvectors of S against W, as rows."""
    d = len(S)
    return sla.eigh(S, W, subset_by_index=[d - count, d - 1], check_finite=False)[1].T[::-1]


@dataclass(eq=False, repr=False)
class SCML(Iterative):
    """Learn from comparisons a metric that is a sum of few directions.

    min_{w ≥ 0} mean_i [margin + d²_M(near pair) − d²_M(far pair)]₊ + β Σ_k w_k  with  M = Σ_k w_k b_k b_kᵀ.

    Shi, Bellet and Sha (2014), (2): a metric put together from few of many given directions b_k. It is a linear
    program in w, solved here to a duality gap (``solution_.gap``) by Newton steps on a smoothed hinge, over bases that
    enter when their price says so. Directions are scaled to a mean squared length of 1 over the pairs, so that β Σ w_k
    is β times the mean of d² and the result does not depend on the units of X.

    Labels become triplets of each point with its nearest points of its own and of other classes.

    Parameters
    ----------
    beta : float, > 0
        Weight β of the sum of the weights, relative to the mean of d².
    bases : "local" or array (K, d)
        "local": directions that tell far pairs from near ones best in cells of the data, which is Fisher's criterion
        on comparisons.
    n_bases : int, optional
        Number of local bases; 10 d + 20 when None. They lie in as many leading directions of the points as have five
        points each.
    prior : {"identity", "covariance"} or array (d, d)
        What the metric is where the labels say nothing.
    anchor : "auto" or float in [0, 1]
        Weight of the prior. 0 is the problem as it stands above; "auto" chooses the weight with the largest gain on
        points and on classes that are held out, in the leading directions of the points (see the guide on anchored
        learning).
    n_near, n_far : int
        Nearest points of the same class and of others that make triplets from labels.
    max_iter, tol
        Limit on Newton steps, and the duality gap relative to the objective to stop at.
        None: 1000 and 0.05; 1000 and 0.2 in a blend with a prior.
    verbose : bool
        Show progress: a bar, or lines where rich is not installed.
    callback : callable, optional
        Called as ``callback(n_iter, value, residual)``.
    random_state : int or generator, optional
        For the cells.

    Attributes
    ----------
    metric_ : Metric
        The learned distance, an immutable value.
    n_iter_, converged_, objective_, solution_
        Steps taken, whether ``solution_.tol`` was met, the objective (of a blend there is none), and the whole answer.

    See Also
    --------
    gramian.LSML : Stays near a prior, by LogDet.

    Examples
    --------
    >>> import gramian as gm
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> scml = gm.SCML(anchor=0, random_state=0).fit(X, y)
    >>> scml.score(X, y) > 0.9, scml.solution_.gap <= 0.05 * scml.objective_
    (True, True)
    """

    traits = Traits(
        takes=(Comparisons,),
        exact=Effort(tol=5e-2, max_iter=1000),
        blended=Effort(tol=0.2, max_iter=1000),
        care=0.0,
        pair_cost=(20, 1.5, 0),
        joins=True,
    )

    beta: Positive = 1e-2
    bases: Literal["local"] | np.ndarray = "local"
    _: KW_ONLY
    n_bases: Annotated[int, Within(1, MOST_BASES)] | None = None
    n_near: Count = 3
    n_far: Count = 10

    def solve(self, task: Task) -> Solution:
        """A linear program over the bases, by smoothing and column generation."""
        side: Any = task.y.filled(task.Z) if isinstance(task.y, Comparisons) else self.triplets(task)
        problem = Combination.make(task.Z, side, self.bases_of(side, task), self.beta)
        return combine(problem, max_iter=int(task.effort.max_iter or 1), tol=task.effort.tol, report=task.report)

    def triplets(self, task: Task) -> Triplets:
        """Each point with its nearest of its own class and of others."""
        labels = task.y
        neighbor_targets.require_classes(labels, "SCML")
        most = len(labels.codes)
        return neighbor_targets.neighbor_triplets(task.Z, labels, min(self.n_near, most), min(self.n_far, most))

    def bases_of(self, side: Any, task: Task) -> np.ndarray:
        """The bases as rows (K, r), those that were given on the features as seen from the coordinates."""
        if isinstance(self.bases, str):
            count = min(10 * task.Z.shape[1] + 20, MOST_BASES) if self.n_bases is None else self.n_bases
            return local_bases(task.Z, side, count, task.rng)
        d = task.Z.shape[1] if task.axes is None else len(task.axes)
        bases = _validate.array(self.bases, "SCML", "bases")
        if bases.ndim != 2 or bases.shape[1] != d or not np.isfinite(bases).all():
            raise ValueError(f"SCML: bases must be a finite array (K, {d}), got shape {bases.shape}.")
        return bases if task.axes is None else bases @ task.axes
