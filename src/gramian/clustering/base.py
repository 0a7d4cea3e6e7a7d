"""The contract of estimators that find several clusterings of the same data."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import reduce
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from gramian import _memory, _validate, linalg
from gramian._settings import Count, Loudness, Seed, Size, require, whole
from gramian.clustering.points import Points, precise
from gramian.learners.progress import progress
from gramian.metrics import Mahalanobis

Counts = Count | Sequence[Count]
"""Numbers of clusters: of one clustering, or one for each."""


@dataclass(frozen=True)
class Run:
    """What one start ended with: the lower the objective the better."""

    labels: np.ndarray
    centers: np.ndarray
    objective: float
    path: np.ndarray
    residual: float
    tol: float
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def converged(self) -> bool:
        """Whether the iterations ended by themselves."""
        return self.residual <= self.tol


def lowest(runs: Iterable[Run]) -> Run:
    """The run with the lowest objective; one that is lower by rounding only does not replace an earlier one."""
    return reduce(lambda best, run: run if best.objective - run.objective > 1e-10 * abs(best.objective) else best, runs)


@dataclass(eq=False, repr=False)
class Clusterings(BaseEstimator, ABC):
    """Base of all estimators with ``labels_`` (n, T).

    Subclasses give ``_run(points, k, labels, rng)``, the descent from given labels, ``_first(points, k, start, rng)``,
    the labels that a start begins with, ``_labels(points)`` of new points, and, where starts share something,
    ``_begin(points, k, rng)``. ``fit`` keeps the start with the lowest objective.
    """

    _sparse = True
    """Whether points may be sparse."""
    _most_points: ClassVar[int | None] = None
    """Points on which starts are compared at most; the best one then goes on with all of them. None is all."""

    n_clusters: Counts = (2, 2)
    _: KW_ONLY
    n_init: Count = 10
    init: np.ndarray | None = None
    center: bool = True
    max_iter: Count = 200
    tol: Size = 1e-6
    verbose: Loudness = False
    callback: Callable[..., Any] | None = None
    random_state: Seed = None

    @abstractmethod
    def _run(self, points: Points, k: tuple[int, ...], labels: np.ndarray, rng: np.random.RandomState) -> Run: ...

    @abstractmethod
    def _first(self, points: Points, k: tuple[int, ...], start: int, rng: np.random.RandomState) -> np.ndarray: ...

    @abstractmethod
    def _labels(self, points: Points) -> np.ndarray: ...

    def _begin(self, points: Points, k: tuple[int, ...], rng: np.random.RandomState) -> None:
        pass

    def _centers(self) -> bool:
        """Whether the mean of the data is the origin."""
        return bool(self.center)

    @whole
    def fit(self, X: Any, y: Any = None) -> "Clusterings":
        """Find the clusterings of X (n, d); y is ignored."""
        k = sizes(self.n_clusters, type(self).__name__)
        X = self._door(X, reset=True, min_points=max(2, *k))
        needed = f"{sum(k)} centers of {X.shape[1]:,} features"
        _memory.require(32.0 * sum(k) * X.shape[1], type(self).__name__, needed, "take TruncatedSVD(100) of X first")
        center = self._centers()
        mean = linalg.dense(X.mean(axis=0, dtype=np.float64)).ravel() if center else np.zeros(X.shape[1])
        self.mean_ = mean
        return self._fit_points(Points.compact(X, center), k)

    def _fit_points(self, points: Points, k: tuple[int, ...]) -> "Clusterings":
        """:meth:`fit` of points that went through the door."""
        owner = type(self).__name__
        rng = _validate.random(self.random_state, owner)
        self._begin(points, k, rng)
        init = None if self.init is None else checked_init(self.init, len(points), k, owner)
        starts = int(self.n_init) if init is None else 1
        sample = points if init is not None else compared_on(self, points, starts, rng)
        penalty = getattr(self, "penalty_", None)
        if penalty is not None:  # stands beside sums over the points
            self.penalty_ = penalty * (len(sample) / len(points))

        def started(start: int) -> Run:
            run = self._run(sample, k, self._first(sample, k, start, rng) if init is None else init, rng)
            if report is not None:
                report(start + 1, run.objective, run.residual)
            return run

        with progress(owner, bool(self.verbose), starts, self.callback) as report:
            best = lowest(map(started, range(starts)))
            if sample is not points:
                self.penalty_ = penalty
                best = self._go_on(points, k, best, rng)
            self._store(replace(best, centers=points.lifted(best.centers)), k)
        return self

    def _go_on(self, points: Points, k: tuple[int, ...], run: Run, rng: np.random.RandomState) -> Run:
        """The descent on all points from where a run on some of them ended."""
        return self._run(points, k, self._spread(points, run, k), rng)

    def _spread(self, points: Points, run: Run, k: tuple[int, ...]) -> np.ndarray:
        """Labels of all points by a run on some of them."""
        return points.nearest(run.centers, k)

    def _door(self, X: Any, **options: Any) -> Any:
        # (8.1) and the rest hold squares of inner products.
        X = _validate.estimator_points(self, X, allow_sparse=self._sparse, degree=4, **options)
        return precise(X)

    def _store(self, run: Run, k: tuple[int, ...]) -> None:
        self.labels_ = run.labels.astype(np.int32, copy=False)
        self.cluster_centers_ = [C + self.mean_ for C in np.split(run.centers, np.cumsum(k)[:-1])]
        self.objective_, self.objective_path_ = float(run.objective), run.path
        self.n_iter_, self.converged_ = len(run.path), run.converged
        for name, value in run.extra.items():
            setattr(self, f"{name}_", value)
        if not run.converged:
            _validate.warn(
                f"{type(self).__name__}: stopped after {self.n_iter_} iterations with residual "
                f"{run.residual:.3g} > tol {run.tol:.3g}; raise max_iter or tol.",
                ConvergenceWarning,
            )

    def fit_predict(self, X: Any, y: Any = None) -> np.ndarray:
        """Fit and return ``labels_`` (n, T)."""
        labels: np.ndarray = self.fit(X).labels_
        return labels

    def predict(self, X: Any) -> np.ndarray:
        """Labels (n, T) of new points."""
        check_is_fitted(self, "labels_")
        labels = self._labels(self._around_mean(self._door(X, reset=False)))
        return labels.astype(np.int32, copy=False)

    def _around_mean(self, X: Any) -> Points:
        """New points around the mean of the points of ``fit``."""
        # ‖x − μ‖² without forming x − μ
        norms = linalg.row_norms(X) - 2 * linalg.dense(X @ self.mean_.astype(X.dtype)) + self.mean_ @ self.mean_
        return Points(X, self.mean_, np.maximum(norms, 0))

    @property
    def metrics_(self) -> tuple[Mahalanobis, ...]:
        """The distance that each clustering defines: M = Σ_i (n_i / n) (μ_i − μ̄)(μ_i − μ̄)ᵀ.

        This is the scatter between the centers of the clustering, of rank below its number of clusters: differences
        along which the clusters of this view lie apart count, all others do not.
        """
        check_is_fitted(self, "labels_")
        return tuple(between(C, labels) for C, labels in zip(self.cluster_centers_, self.labels_.T))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._sparse
        tags.target_tags.multi_output, tags.target_tags.single_output = True, False
        return tags


def compared_on(estimator: Clusterings, points: Points, starts: int, rng: np.random.RandomState) -> Points:
    """The points on which starts are compared, which a warning says where they are not all."""
    most = estimator._most_points
    if most is None or starts == 1 or len(points) <= most:
        return points
    _validate.warn(
        f"{type(estimator).__name__}: compares its {starts} starts on {most:,} of the {len(points):,} points, and goes "
        "on with the best one on all of them; n_init=1 uses all from the start."
    )
    return points.take(np.sort(rng.choice(len(points), most, replace=False)))


def between(C: np.ndarray, labels: np.ndarray) -> Mahalanobis:
    """The metric of the scatter between centers C (k, d), each as heavy as its share of the labels."""
    weight = np.bincount(labels, minlength=len(C)) / len(labels)  # (k,): n_i / n
    return Mahalanobis(np.sqrt(weight)[:, None] * (C - weight @ C))


def checked_init(init: Any, n: int, k: tuple[int, ...], owner: str) -> np.ndarray:
    """Labels (n, T) to start from, a copy; the clusters of clustering t are 0 … k_t − 1."""
    labels = _validate.plain(init, owner, "init")
    labels = labels[:, None] if labels.ndim == 1 else labels
    if labels.shape != (n, len(k)) or labels.dtype.kind not in "iu":
        raise ValueError(f"{owner}: init must hold integer labels ({n}, {len(k)}), got shape {labels.shape}.")
    if labels.min() < 0 or (labels.max(axis=0) >= k).any():
        raise ValueError(f"{owner}: init must hold labels below {k}, got {labels.max(axis=0)}.")
    return labels.astype(np.int32)


def sizes(n_clusters: Any, owner: str) -> tuple[int, ...]:
    """The numbers of clusters (k₁, …, k_T), checked; a single number is a single clustering."""
    require(Counts, n_clusters, owner, "n_clusters")
    k = tuple(map(int, n_clusters if np.iterable(n_clusters) else (n_clusters,)))
    if not k:
        raise ValueError(f"{owner}: n_clusters must hold one number of clusters per clustering, got {n_clusters!r}.")
    return k
