"""Decorrelated k-means: clusterings that fit the data each by itself and have nothing to do with each other."""

from dataclasses import KW_ONLY, dataclass, replace
from typing import Literal

import numpy as np

from gramian import linalg
from gramian._settings import Share
from gramian.clustering.base import Clusterings, Run
from gramian.clustering.penalty import Penalty, choose
from gramian.clustering.points import Points, parts
from gramian.clustering.starts import (
    attempt,
    descend,
    directions,
    first_labels,
    kmeans,
    project_off,
    projected,
    promising,
    refill,
)


@dataclass(eq=False, repr=False)
class DecorrelatedKMeans(Clusterings):
    """Several clusterings of the same data with orthogonal centers.

    For fixed numbers of clusters k_t minimize over labels c^t and centers μ^t (Jain 2009, (8.1))::

        Σ_t Σ_z ‖z − μ^t_{c^t(z)}‖²  +  λ Σ_{s≠t} Σ_{i,j} (α^s_j · μ^t_i)²

    where α^s_j is the mean of cluster j of clustering s. Centers have a closed form for fixed labels; each point goes
    to the closest center of each clustering (Algorithm 4).

    Differences from the thesis: unless λ is given, the data are centered first, since orthogonality of means depends on
    the origin (``center=False`` is the printed form). Reassignment moves the means in the penalty, so a step can raise
    the objective: iterations go on, and the best iterate is returned; ``predict`` on the same points can differ from
    ``labels_`` then. Empty clusters take the point that fits worst. A start is the best of a few short tries on some of
    the points, whose first clustering is k-means, and the others by turns k-means on the orthogonal complement,
    k-means, and random labels (as in the thesis); every second start is k-means of each clustering in the complement of
    the others, in turn (§8.3). Starts take their first steps with 10 λ, and end with merges and splits of clusters as
    long as the objective falls; all of this finds lower objectives.

    Parameters
    ----------
    n_clusters : sequence of int
        Numbers of clusters (k₁, …, k_T), one per clustering.
    penalty : float, "auto", "drop" or "average"
        λ ≥ 0. ``"auto"`` is a little above the weight at which the clusterings part, see
        :func:`gramian.clustering.parting`; ``"drop"`` follows the largest drop of the objective as λ falls, the
        heuristic of the thesis (§8.1.1.2), see :func:`gramian.clustering.largest_drop`; ``"average"`` the average drop
        over several draws, which it names for noisy data.
    n_init : int
        Number of starts; the lowest objective wins.
    init : array (n, T), optional
        Labels to start from, once.
    variant : {"improved", "as_printed"}
        "as_printed" is Algorithm 4 with nothing added: k-means for the first clustering and random labels for the
        others, one descent with λ, no merges and splits; ``center="auto"`` then leaves the data as they are.
    center : bool or "auto"
        Whether the mean of the data is the origin. ``"auto"``: it is when λ is found automatically; a λ that you give
        belongs to (8.1) on X as it is.
    max_iter : int
        Most iterations of a start.
    tol : float
        Share of labels that may still change at the end of a start.
    verbose : bool
        Show progress over the starts: a bar, or lines where rich is not installed.
    callback : callable, optional
        Called as ``callback(start, objective, residual)`` after each start.
    random_state : int, RandomState or None
        Draws, where there are any: the same number gives the same result.

    Attributes
    ----------
    labels_ : array (n, T)
        Cluster of each point, one column per clustering.
    cluster_centers_ : list of T arrays (k_t, d)
        Centers μ in the coordinates of X.
    objective_ : float
        (8.1) of ``labels_``.
    objective_path_ : array
        Lowest objective so far, after each iteration of the start that won.
    penalty_ : float
        λ in use.
    mean_ : array (d,)
        Mean of the training points, the origin of the centers.
    n_iter_ : int
        Iterations of the start that won.
    converged_ : bool
        Whether the tolerance was met.

    See Also
    --------
    gramian.ConvolutionalEM : Points as sums of parts.

    Examples
    --------
    >>> import numpy as np, gramian as gm
    >>> rng = np.random.default_rng(0)
    >>> rows, columns = rng.integers(2, size=200), rng.integers(2, size=200)
    >>> X = np.column_stack([5 * rows, 6 * columns]) + rng.normal(size=(200, 2))
    >>> labels = gm.DecorrelatedKMeans((2, 2), random_state=0).fit(X).labels_
    >>> from gramian.clustering import match
    >>> match(labels, np.column_stack([rows, columns])).scores.min() > 0.9
    np.True_
    """

    _most_points = 20_000

    penalty: Penalty = "auto"
    _: KW_ONLY
    variant: Literal["improved", "as_printed"] = "improved"
    center: Literal["auto"] | bool = "auto"  # type: ignore[assignment]  # True or False elsewhere
    tol: Share = 0.0

    def _centers(self) -> bool:
        if isinstance(self.center, str):
            return isinstance(self.penalty, str) and not self._printed
        return bool(self.center)

    @property
    def _printed(self) -> bool:
        return self.variant == "as_printed"

    def _begin(self, points: Points, k: tuple[int, ...], rng: np.random.RandomState) -> None:
        self.penalty_ = choose(self.penalty, points, k, rng)

    def _first(self, points: Points, k: tuple[int, ...], start: int, rng: np.random.RandomState) -> np.ndarray:
        if self._printed:
            return first_labels(points, k, rng, "random")
        begin = projected if start % 2 and len(k) > 1 else promising
        return begin(points, k, self.penalty_, rng)

    def _run(self, points: Points, k: tuple[int, ...], labels: np.ndarray, rng: np.random.RandomState) -> Run:
        settings = self.penalty_, self.max_iter, self.tol
        if self._printed:
            return descend(points, refill(points, labels, k), k, *settings)
        return self._improve(points, attempt(points, labels, k, *settings), k, rng)

    def _improve(self, points: Points, run: Run, k: tuple[int, ...], rng: np.random.RandomState) -> Run:
        """Merge and split clusters as long as (8.1) falls, one clustering after the other."""
        t, failed, path = 0, 0, run.path
        while failed < len(k):
            labels = relocated(points, run.labels, run.centers, k, t, rng)
            new = None if labels is None else descend(points, labels, k, self.penalty_, self.max_iter, self.tol)
            if new is not None and new.objective < run.objective:
                path = np.concatenate([path, np.minimum(new.path, path[-1])])
                run, failed = new, 0
            else:
                t, failed = (t + 1) % len(k), failed + 1
        return replace(run, path=path)

    def _labels(self, points: Points) -> np.ndarray:
        k = tuple(len(C) for C in self.cluster_centers_)
        return points.nearest(np.vstack(self.cluster_centers_) - self.mean_, k)


def merge_costs(C: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Rise of the error when clusters i and j share one center, n_i n_j / (n_i + n_j) ‖μ_i − μ_j‖² (Ward 1963)."""
    total = np.maximum(counts[:, None] + counts[None, :], 1)
    cost: np.ndarray = counts[:, None] * counts[None, :] / total * linalg.sqdist(C)  # (k, k)
    np.fill_diagonal(cost, np.inf)
    return cost


def cheapest(cost: np.ndarray, without: int) -> tuple[float, int, int]:
    """The lowest cost of two clusters other than ``without``, and which they are."""
    out = np.arange(len(cost)) == without
    cost = np.where(out[:, None] | out[None, :], np.inf, cost)
    i, j = divmod(int(np.argmin(cost.ravel())), len(cost))
    return float(cost[i, j]), i, j


def split(points: Points, rows: np.ndarray, off: np.ndarray, rng: np.random.RandomState) -> tuple[float, np.ndarray]:
    """Fall of the error when the points at ``rows`` get two centers off ``off``, and the rows of the second."""
    if len(rows) < 2:
        return 0.0, rows[:0]
    labels, means = kmeans(points.take(rows), 2, rng, off, max_iter=4)
    counts = np.bincount(labels, minlength=2)
    gap = float(linalg.row_norms(project_off(means[:1] - means[1:], off))[0])
    return float(counts[0] * counts[1]) / len(rows) * gap, rows[labels == 1]


def relocated(
    points: Points, labels: np.ndarray, centers: np.ndarray, k: tuple[int, ...], t: int, rng: np.random.RandomState
) -> np.ndarray | None:
    """Labels after the best merge and split in clustering t, None when no such move promises to pay.

    Splits are judged in what the centers of the other clusterings leave, since the spread that those explain is not a
    reason to split.
    """
    rows = parts(k)[t]
    off = directions(np.delete(centers, rows, axis=0))  # orthonormal rows
    if k[t] < 3 or len(off) == points.X.shape[1]:
        return None
    counts = np.bincount(labels[:, t], minlength=k[t])
    splits = [split(points, np.flatnonzero(labels[:, t] == b), off, rng) for b in range(k[t])]
    cost, moves = merge_costs(centers[rows], counts), []
    for b, (gain, _) in enumerate(splits):
        rise, i, j = cheapest(cost, without=b)
        moves.append((gain - rise, i, j, b))  # i and j become one, and b becomes two
    promise, i, j, b = max(moves, key=lambda move: move[0])
    if promise <= 0:
        return None
    moved = labels.copy()
    moved[labels[:, t] == j, t] = i
    moved[splits[b][1], t] = j
    return moved
