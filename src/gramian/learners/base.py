"""The learner contract: a scikit-learn estimator whose one hook is ``_learn(Z, side, rest, rng) -> Solution``."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from gramian import _checks, _device, _memory, linalg
from gramian.constraints import Constraints, Feedback, Labels, Pairs
from gramian.coordinates import Coordinates, Plain, Rest
from gramian.learners import doubts, many
from gramian.learners.anchorable import Anchorable
from gramian.learners.fitted import reading
from gramian.learners.tuples import TupleMixin, are_tuples, split
from gramian.metrics import Metric
from gramian.metrics.base import answer
from gramian.metrics.named import leading_root
from gramian.solvers.base import Solution, on_host

COPIES = 6
"""Matrices of d × d that a fit holds at a time."""


class MetricLearner(Anchorable, TupleMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, ABC):
    """Base of all learners.

    ``fit(X, y)`` takes points (n, d) with labels or :class:`.Constraints`, pairs (n, 2, d) with ±1, or triplets
    (n, 3, d). It sets ``metric_``, ``n_iter_``, ``converged_``, ``objective_`` and ``solution_``.

    The road is one line: points → coordinates z → side information → ``_learn`` → metric. Subclasses give
    ``_learn(Z, side, rest, rng) -> Solution``, pure: Z are the coordinates of the points, ``side`` what ``_side`` makes
    of labels or the constraints that were given (of a type in ``_accepts``), ``rest`` what the coordinates leave out
    of the points. ``_coordinates`` says where to learn; all features when not given.
    """

    _accepts: tuple[type[Constraints], ...] = (Constraints,)
    _bounds = True
    """Whether bounds that constraints left open are needed, and taken from the points."""
    _sparse = False
    _min_points = 2
    _most_points: int | None = None
    """Points that a fit with ``anchor="auto"`` learns from at most, where its work grows with n²; None is all."""
    _numbers = False
    """Whether labels may be measurements."""
    _devices = False
    """Whether the fit runs where the points are; otherwise they must be on the host."""
    _has_unit = False
    """Whether the problem depends on the unit of the points: an anchored fit brings them to a spread of 1 first."""
    _anywhere = True
    """Whether it may learn on points that were scaled or turned to unit length, as well as on those given."""
    _by_angle = False
    """Whether what it learns is meant for angles around the mean."""
    _remedy = "raise max_iter or tol"
    _scale_free = False
    """Whether columns of any unit weigh the same at the start."""

    @abstractmethod
    def _learn(self, Z: Any, side: Any, rest: Rest, rng: np.random.RandomState) -> Solution: ...

    def _coordinates(self, X: Any) -> tuple[Coordinates, Any]:
        """The coordinates to learn on, and the points in them."""
        d = X.shape[1]
        owner = type(self).__name__
        remedy = "drop columns, or give Kernelized(…, kernel=Linear(), rank=…)"
        _memory.require(8.0 * COPIES * d * d, owner, f"{COPIES} matrices of {d} × {d}", remedy)
        return Plain(d), X

    def _from_labels(self, Z: Any, labels: Labels, rest: Rest, rng: np.random.RandomState) -> Any:
        """Side information from labels; learners that use the labels themselves return them."""
        return Pairs.from_labels(labels, random_state=rng)

    def _side(self, y: Labels | Constraints, Z: Any, rest: Rest, rng: np.random.RandomState) -> Any:
        """Side information for the points Z, checked."""
        owner = type(self).__name__
        side = self._from_labels(Z, y, rest, rng) if isinstance(y, Labels) else y
        if isinstance(side, Labels):
            return side
        if not isinstance(side, self._accepts):
            wanted = doubts.listed(self._accepts)
            raise ValueError(
                f"{owner}: takes {wanted}, got {type(side).__name__}; {doubts.takers(MetricLearner, type(side))}."
            )
        return side.check(Z, owner, fill=self._bounds)

    def fit(self, X: Any, y: Any = None, *, unknown: Any = None) -> "MetricLearner":
        """Learn the metric.

        Parameters
        ----------
        X : array (n, d), or pairs (n, 2, d), triplets (n, 3, d) or quadruplets (n, 4, d)
        y : labels (n,), or a Constraints object, or ±1 for pairs; nothing for triplets and quadruplets
        unknown : label, optional
            What stands for "no label" (−1, NaN, …); such points, and those labeled None, are left out.
        """
        with _checks.intact(self):
            rng = _checks.random(getattr(self, "random_state", None), type(self).__name__)
            self._fit_checked(*self._door(X, y, unknown=unknown), rng)
        return self

    def _fit_checked(self, X: Any, y: Labels | Constraints, rng: np.random.RandomState) -> None:
        """:meth:`fit` of points and side information that went through the door."""
        X, y = self._fewer(X, y, rng)
        coordinates, Z = self._coordinates(X)
        solution = self.solve(Z, y, Rest(coordinates, X, Z), rng)
        for name in ("tuple_size_", "threshold_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        self._store(coordinates, solution)
        self._learn_to_decide(X, y)

    def _fewer(self, X: Any, y: Labels | Constraints, rng: np.random.RandomState) -> tuple[Any, Any]:
        """What is learned from: a part of many points, where the weight of the prior is chosen anyway."""
        if self._most_points is None or not isinstance(getattr(self, "anchor", 0), str):
            return X, y
        return many.fewer(X, y, self._most_points, type(self).__name__, "give anchor a number", rng)

    def _door(self, X: Any, y: Any, vectors: bool = True, unknown: Any = None) -> tuple[Any, Labels | Constraints]:
        """Points as float64, and y as labels or constraints; tuples are taken apart. The one validation of a fit."""
        owner = type(self).__name__
        y = _device.whole_numbers(y)
        if vectors and are_tuples(X):
            X, y = split(_checks.placed(X, owner, devices=self._devices), y, owner)
        if y is None:
            raise ValueError(f"{owner}: requires y to be passed, but the target y is None; give labels or constraints.")
        given = isinstance(y, Constraints | Feedback)
        if isinstance(y, list | tuple | np.ndarray):
            doubts.refuse_tuples(_checks.plain(y, owner, "y"), owner)
        if vectors:
            X, y = self._vectors(X, y, together=not given and unknown is None)
        if isinstance(y, Feedback):
            return X, y.pairs(X)
        side = y if given else Labels.from_array(y, owner, linalg.count(X), unknown, self._numbers)
        if vectors:
            doubts.warn(self, X, side, unknown)
        return (X, side) if given else labeled(X, side, owner)

    def _vectors(self, X: Any, y: Any, together: bool) -> tuple[Any, Any]:
        """Points as float64, and y; ``together`` with them scikit-learn looks at what may be wrong with labels."""
        if together:
            array = _checks.plain(y, type(self).__name__, "y")
            # Whole numbers or words, one for each point: nothing to find there.
            sound = array.dtype.kind in "biuU" and array.shape == getattr(X, "shape", ())[:1]
            together = not sound and array.dtype != object
        checked = _checks.estimator_points(
            self,
            X,
            y if together else None,
            reset=True,
            allow_sparse=self._sparse,
            min_points=self._min_points,
            devices=self._devices,
        )
        X, y = checked if together else (checked, y)
        return X.astype(np.float64, copy=False), y

    def _store(self, coordinates: Coordinates, solution: Solution) -> None:
        """Keep what was found; the only place that writes to the learner."""
        self.solution_ = solution = on_host(solution)
        for name, value in solution.found.items():
            setattr(self, f"{name}_", value)
        root = linalg.psd_sqrt if coordinates.whole else leading_root
        components = root(solution.M) if solution.factor is None else solution.factor
        names = getattr(self, "feature_names_in_", None)
        names = names if names is not None and len(names) == coordinates.n_features else None
        self.metric_ = Metric.of(coordinates, components, solution.alpha, names)
        if not solution.converged:
            _checks.warn(
                f"{type(self).__name__}: stopped after {solution.n_iter} iterations with residual "
                f"{solution.residual:.3g} > tol {solution.tol:.3g}; {reason(self, solution)}.",
                ConvergenceWarning,
            )

    n_iter_ = reading("solution_", "n_iter", "Iterations taken.")
    converged_ = reading("solution_", "converged", "Whether the residual fell to ``tol``.", bool)
    objective_ = reading("solution_", "objective", "The objective at the metric.", float)
    components_ = reading("metric_", "components", "The factor L (r, d) of the metric.")

    @property
    def _n_features_out(self) -> int:
        return self.metric_.transform(np.zeros((1, self.n_features_in_))).shape[1]

    def _seen(self, X: Any) -> Any:
        """Points for the fitted metric, validated."""
        check_is_fitted(self, "metric_")
        coordinates = self.metric_.coordinates
        if coordinates.n_features is None:  # objects of a kernel
            return coordinates.check(X, type(self).__name__)
        return coordinates.accept(
            _checks.estimator_points(self, X, reset=False, allow_sparse=self._sparse, devices=self._devices)
        )

    def transform(self, X: Any) -> np.ndarray:
        """Coordinates in which the Euclidean distance is the learned one."""
        return answer(self.metric_.transform_of(self._seen(X)), X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = self._sparse
        tags.input_tags.three_d_array = True
        return tags


def reason(learner: MetricLearner, solution: Solution) -> str:
    """Why a fit stopped before its tolerance, and what helps."""
    limit = getattr(learner, "max_iter", None)
    if isinstance(limit, int | np.integer) and solution.n_iter < limit:
        return f"no further step made it better, so more than max_iter={limit} would not help; raise tol to accept it"
    return learner._remedy


def labeled(X: Any, labels: Labels, owner: str) -> tuple[Any, Labels]:
    """The points that have a label."""
    if (labels.codes >= 0).all():
        return X, labels
    known = np.flatnonzero(labels.codes >= 0)
    if len(known) < 2:
        raise ValueError(f"{owner}: needs at least two labeled points, got {len(known)}.")
    return linalg.take(X, known), labels.of(known)
