"""Decorrelated k-means: clusterings that fit the data each by itself and have nothing to do with each other."""

from dataclasses import replace
from typing import Any

import numpy as np

from gramian import _checks, linalg
from gramian.clustering.base import Clusterings, Run
from gramian.clustering.moves import relocated
from gramian.clustering.points import Points, parts
from gramian.clustering.starts import first_labels

PATIENCE = 10
"""Iterations without a better objective after which a start ends: (8.1) can rise before it falls further."""

HEAT, WARMUP = 10.0, 20
"""Each start first takes some steps with a heavier penalty, which pulls the clusterings apart."""


def shrink(A: np.ndarray, B: np.ndarray, xi: np.ndarray) -> np.ndarray:
    """Rows (I + ξ_i BᵀB)⁻¹ a_i, with one thin SVD of B (m, d) in place of inverses, O(d m²) (Jain 2009, (8.4), (8.5)).

    With B = UΣR, each row loses the share ξσ² / (1 + ξσ²) of its component along each right singular vector.
    """
    _, sigma, R = np.linalg.svd(B, full_matrices=False)
    weight = xi[:, None] * sigma**2
    return A - ((A @ R.T) * (weight / (1 + weight))) @ R


def representatives(S: np.ndarray, counts: np.ndarray, k: tuple[int, ...], lam: float) -> tuple[np.ndarray, np.ndarray]:
    """Means α and the centers μ that minimize (8.1) for fixed labels, stacked (Jain 2009, (8.2), (8.3)).

    The means of all other clusterings take the place of the β_j, so that T ≥ 2 clusterings are one formula.
    """
    means = S / np.maximum(counts, 1)[:, None]
    centers = means.copy()
    for part in parts(k):
        others = np.delete(means, part, axis=0)
        if lam > 0 and len(others):
            centers[part] = shrink(means[part], others, lam / np.maximum(counts[part], 1))
    return means, centers


def objective(
    energy: float, S: np.ndarray, counts: np.ndarray, centers: np.ndarray, k: tuple[int, ...], lam: float
) -> float:
    """G of (8.1) from the cluster sums S and the energy Σ‖z‖², no pass over the data."""
    means = S / np.maximum(counts, 1)[:, None]
    fit = len(k) * energy - 2 * np.vdot(S, centers) + counts @ linalg.row_norms(centers)
    cross = (centers @ means.T) ** 2
    own = sum(cross[part, part].sum() for part in parts(k))
    return float(fit + lam * (cross.sum() - own))


class DecorrelatedKMeans(Clusterings):
    """Several clusterings of the same data with orthogonal centers.

    For fixed numbers of clusters k_t minimize over labels c^t and centers μ^t (Jain 2009, (8.1))::

        Σ_t Σ_z ‖z − μ^t_{c^t(z)}‖²  +  λ Σ_{s≠t} Σ_{i,j} (α^s_j · μ^t_i)²

    where α^s_j is the mean of cluster j of clustering s. Centers have a closed form for fixed labels; each point goes
    to the closest center of each clustering (Algorithm 4).

    Differences from the thesis: unless λ is given, the data are centered first, since orthogonality of means depends on
    the origin (``center=False`` is the printed form). Reassignment moves the means in the penalty, so a step can raise
    the objective: iterations go on, and the best iterate is returned; ``predict`` on the same points can differ from
    ``labels_`` then. Empty clusters take the point that fits worst. The first clustering starts from k-means, the
    others by turns from k-means on the orthogonal complement, k-means, and random labels (as in the thesis). Each start
    takes its first steps with 10 λ, and ends with merges and splits of clusters as long as the objective falls; both
    find lower objectives.

    Parameters
    ----------
    n_clusters : sequence of int
        Numbers of clusters (k₁, …, k_T), one per clustering.
    penalty : float or "auto"
        λ ≥ 0. ``"auto"`` follows the largest drop of the objective as λ falls (§8.1.1.2), see
        :func:`gramian.clustering.largest_drop`.
    n_init : int
        Number of starts; the lowest objective wins.
    random_state : int, RandomState or None
    center : bool or "auto"
        Whether the mean of the data is the origin. ``"auto"``: it is when λ is found automatically; a λ that you give
        belongs to (8.1) on X as it is.
    max_iter : int
        Most iterations of a start.
    tol : float
        Share of labels that may still change at the end of a start.

    Attributes
    ----------
    labels_ : array (n, T)
    cluster_centers_ : list of T arrays (k_t, d)
        Centers μ in the coordinates of X.
    objective_ : float
        (8.1) of ``labels_``.
    objective_path_ : array
        Lowest objective so far, after each iteration of the start that won.
    penalty_ : float
        λ in use.
    mean_ : array (d,)
    n_iter_ : int
    converged_ : bool

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

    def __init__(
        self,
        n_clusters: Any = (2, 2),
        penalty: Any = "auto",
        n_init: int = 10,
        random_state: Any = None,
        center: Any = "auto",
        max_iter: int = 200,
        tol: float = 0.0,
    ):
        self.n_clusters = n_clusters
        self.penalty = penalty
        self.n_init = n_init
        self.random_state = random_state
        self.center = center
        self.max_iter = max_iter
        self.tol = tol

    def _centers(self) -> bool:
        if isinstance(self.center, str):
            _checks.one_of(self.center, "DecorrelatedKMeans", "center", ("auto",))
            return isinstance(self.penalty, str)
        return bool(self.center)

    def _begin(self, points: Points, k: tuple[int, ...], rng: np.random.RandomState) -> None:
        from gramian.clustering.penalty import largest_drop

        _checks.number(self.tol, "DecorrelatedKMeans", "tol", low=0, high=1)
        if isinstance(self.penalty, str):
            _checks.one_of(self.penalty, "DecorrelatedKMeans", "penalty", ("auto",))
            self.penalty_ = largest_drop(points, k, rng)
        else:
            self.penalty_ = _checks.number(self.penalty, "DecorrelatedKMeans", "penalty", low=0)

    def _run(self, points: Points, k: tuple[int, ...], start: int, rng: np.random.RandomState) -> Run:
        rest = ("orthogonal", "independent", "random")[start % 3]
        labels = refill(points, first_labels(points, k, rng, rest), k)
        warm = descend(points, labels, k, HEAT * self.penalty_, WARMUP)
        return self._improve(points, descend(points, warm.labels, k, self.penalty_, self.max_iter, self.tol), k, rng)

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


def descend(
    points: Points, labels: np.ndarray, k: tuple[int, ...], lam: float, max_iter: int = 200, tol: float = 0.0
) -> Run:
    """Steps 2.1–2.5 of Algorithm 4 from given labels; the best iterate, and the running best as the path."""
    energy, path, best, since, residual = points.norms.sum(), [], None, 0, 1.0
    for _ in range(max_iter):
        S, counts = points.sums(labels, k)
        _, centers = representatives(S, counts, k, lam)
        value = objective(energy, S, counts, centers, k, lam)
        since += 1
        if best is None or value < best[0]:
            best, since = (value, labels, centers), 0
        path.append(best[0])
        moved = refill(points, points.nearest(centers, k), k, centers)
        residual = float(np.mean(moved != labels))
        if residual <= tol or since >= PATIENCE:
            residual = min(residual, tol)
            break
        labels = moved
    value, labels, centers = best
    return Run(labels, centers, value, np.array(path), residual, tol)


def refill(points: Points, labels: np.ndarray, k: tuple[int, ...], centers: np.ndarray | None = None) -> np.ndarray:
    """Give each empty cluster the worst fitting point of a cluster that can spare one; labels are changed in place."""
    for t, part in enumerate(parts(k)):
        counts = np.bincount(labels[:, t], minlength=k[t])
        if counts.all():
            continue
        errors = points.norms.copy() if centers is None else points.errors(centers[part], labels[:, t])
        for empty in np.flatnonzero(counts == 0):
            row = np.where(counts[labels[:, t]] > 1, errors, -1.0).argmax()
            counts[labels[row, t]] -= 1
            labels[row, t], counts[empty], errors[row] = empty, 1, 0.0
    return labels
