"""Base classes: what every learner of metric-learn can be asked, and what its pairs, triplets and quadruplets are."""

from abc import ABCMeta, abstractmethod
from functools import wraps
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import roc_auc_score
from sklearn.utils.validation import _is_arraylike, check_is_fitted, validate_data

from gramian import _validate
from gramian.compat.metric_learn.inputs import ArrayIndexer, check_input
from gramian.compat.metric_learn.settings import check_settings
from gramian.learners.tuples import STRATEGIES, best_threshold

NO_LABELS: Any = object()
"""What stands for labels that a learner does not take."""


def unchanged_by_errors(fit: Any) -> Any:
    """A ``fit`` that looks at the settings first and, when it fails, leaves a learner as it was."""

    @wraps(fit)
    def done(self: Any, *args: Any, **kwargs: Any) -> Any:
        check_settings(self)
        before = dict(vars(self))
        try:
            return fit(self, *args, **kwargs)
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise

    done.guarded = True  # type: ignore[attr-defined]
    return done


class BaseMetricLearner(BaseEstimator, metaclass=ABCMeta):
    """Base of all learners."""

    def __init__(self, preprocessor=None):
        self.preprocessor = preprocessor

    def __init_subclass__(cls, **named: Any) -> None:
        super().__init_subclass__(**named)
        fit = getattr(cls, "fit", None)
        if fit is not None and not hasattr(fit, "guarded"):  # its own, or that of a mixin
            cls.fit = unchanged_by_errors(fit)  # type: ignore[attr-defined]

    @abstractmethod
    def score_pairs(self, pairs: Any) -> np.ndarray:
        """Distance of each pair; use ``pair_distance``."""

    @abstractmethod
    def pair_score(self, pairs: Any) -> np.ndarray:
        """Similarity of each pair."""

    @abstractmethod
    def pair_distance(self, pairs: Any) -> np.ndarray:
        """Distance of each pair."""

    @abstractmethod
    def get_metric(self) -> Any:
        """A function of two points, which later fits do not change."""

    def _check_preprocessor(self) -> None:
        if _is_arraylike(self.preprocessor):
            self.preprocessor_ = ArrayIndexer(self.preprocessor)
        elif callable(self.preprocessor) or self.preprocessor is None:
            self.preprocessor_ = self.preprocessor
        else:
            raise ValueError(
                f"Invalid type for the preprocessor: {type(self.preprocessor)}. You should provide either None, an "
                "array-like object, or a callable."
            )

    def _prepare_inputs(self, X: Any, y: Any = NO_LABELS, type_of_inputs: str = "classic", **checks: Any) -> Any:
        """What ``fit`` was given, formed and validated."""
        self._check_preprocessor()
        if y is None:
            wanted = "labels (n,)" if type_of_inputs == "classic" else "1 or -1 for each pair"
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None; give {wanted}.")
        y = None if y is NO_LABELS else y
        formed = check_input(
            X,
            y,
            type_of_inputs=type_of_inputs,
            preprocessor=self.preprocessor_,
            estimator=self,
            tuple_size=getattr(self, "_tuple_size", None),
            **checks,
        )
        points = formed if y is None else formed[0]
        if points.ndim == 2:
            names = X if getattr(X, "ndim", 1) == 2 else points
            validate_data(self, names, reset=True, skip_check_array=True)
        self.n_features_in_ = points.shape[-1]
        return formed


class MetricTransformer(metaclass=ABCMeta):
    """Base of learners that can transform points."""

    @abstractmethod
    def transform(self, X: Any) -> Any:
        """Points in the learned space."""


class MahalanobisMixin(BaseMetricLearner, MetricTransformer, metaclass=ABCMeta):
    """Learners of a Mahalanobis distance: ``fit`` sets ``components_``, the factor L (r, d) with M = LᵀL."""

    components_: np.ndarray

    def score_pairs(self, pairs: Any) -> np.ndarray:
        """Distance of each pair; deprecated there."""
        _validate.warn(
            "score_pairs will be deprecated in release 0.7.0. Use pair_score to compute similarity scores, or "
            "pair_distances to compute distances.",
            FutureWarning,
        )
        return self.pair_distance(pairs)

    def pair_score(self, pairs: Any) -> np.ndarray:
        """−d of each pair."""
        return -1 * self.pair_distance(pairs)

    def pair_distance(self, pairs: Any) -> np.ndarray:
        """Distance d of each pair, not squared."""
        check_is_fitted(self, "preprocessor_")
        pairs = check_input(
            pairs, type_of_inputs="tuples", preprocessor=self.preprocessor_, estimator=self, tuple_size=2
        )
        check_is_fitted(self, "components_")
        return np.linalg.norm((pairs[:, 1] - pairs[:, 0]) @ self.components_.T, axis=-1)

    def transform(self, X: Any) -> Any:
        """Lx of each point; takes sparse points too."""
        check_is_fitted(self, ["preprocessor_", "components_"])
        points = check_input(X, preprocessor=self.preprocessor_, estimator=self, accept_sparse=True)
        validate_data(self, X if getattr(X, "ndim", 1) == 2 else points, reset=False, skip_check_array=True)
        return points @ self.components_.T

    def get_metric(self) -> "Distance":
        """The distance as a function of two points; unlike theirs it can be pickled."""
        check_is_fitted(self, "components_")
        return Distance(self.components_)

    def get_mahalanobis_matrix(self) -> np.ndarray:
        """M = LᵀL."""
        check_is_fitted(self, "components_")
        return self.components_.T @ self.components_


class Distance:
    """d(u, v) = ‖L(u − v)‖ of two points."""

    def __init__(self, components: np.ndarray):
        self.components = components.copy()

    def __call__(self, u: Any, v: Any, squared: bool = False) -> float:
        """The distance, or its square."""
        difference = self.components @ (_vector(u) - _vector(v))  # L(u − v)
        value = np.dot(difference, difference)
        return value if squared else np.sqrt(value)


def _vector(u: Any) -> np.ndarray:
    u = np.atleast_1d(np.squeeze(np.asarray(u)))
    if u.ndim > 1:
        raise ValueError("Input vector should be 1-D.")
    return u


class _TupleClassifierMixin(ClassifierMixin, BaseMetricLearner):
    """Classifiers of tuples of ``_tuple_size`` points."""

    classes_ = np.array([-1, 1])
    _tuple_size: int | None

    def _formed_tuples(self, tuples: Any) -> np.ndarray:
        check_is_fitted(self, "preprocessor_")
        return check_input(
            tuples,
            type_of_inputs="tuples",
            preprocessor=self.preprocessor_,
            estimator=self,
            tuple_size=self._tuple_size,
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        tags.classifier_tags.multi_class = False
        tags.target_tags.required = self._tuple_size == 2
        return tags


class _PairsClassifierMixin(_TupleClassifierMixin):
    """Learners of pairs: those nearer than ``threshold_``, a distance, are similar."""

    _tuple_size: int | None = 2
    threshold_: float

    def predict(self, pairs: Any) -> np.ndarray:
        """1 for similar pairs, −1 for others."""
        check_is_fitted(self, "preprocessor_")
        if "threshold_" not in vars(self):
            raise AttributeError(
                "A threshold for this estimator has not been set, call its set_threshold or calibrate_threshold method."
            )
        return 2 * (-self.decision_function(pairs) <= self.threshold_) - 1

    def decision_function(self, pairs: Any) -> np.ndarray:
        """−d of each pair."""
        return self.pair_score(self._formed_tuples(pairs))

    def score(self, pairs: Any, y: Any) -> float:
        """Area under the ROC curve."""
        similar = _validate.plain(y, type(self).__name__, "y")
        if similar.ndim != 1 or not set(similar.tolist()) <= {-1, 1}:
            raise ValueError(f"{type(self).__name__}: y must be 1 or -1 for each pair, got {_validate.shown(y)}.")
        return roc_auc_score(similar, self.decision_function(pairs))

    def set_threshold(self, threshold: Any) -> Any:
        """Set ``threshold_``, a distance."""
        check_is_fitted(self, "preprocessor_")
        try:
            self.threshold_ = float(threshold)
        except (TypeError, ValueError) as error:
            raise ValueError(f"Parameter threshold must be a real number. Got {type(threshold)} instead.") from error
        return self

    def calibrate_threshold(
        self, pairs_valid: Any, y_valid: Any, strategy: Any = "accuracy", min_rate: Any = None, beta: Any = 1.0
    ) -> Any:
        """Set ``threshold_`` to the distance that is best for some pairs."""
        check_is_fitted(self, "preprocessor_")
        self._validate_calibration_params(strategy, min_rate, beta)
        pairs, y = self._prepare_inputs(pairs_valid, y_valid, type_of_inputs="tuples")
        score = self.decision_function(pairs)
        self.threshold_ = -best_threshold(score, np.asarray(y) == 1, strategy, min_rate=min_rate, beta=beta)
        return self

    @staticmethod
    def _validate_calibration_params(strategy: Any = "accuracy", min_rate: Any = None, beta: Any = 1.0) -> None:
        if not isinstance(strategy, str) or strategy not in STRATEGIES:
            got = strategy if isinstance(strategy, str) else _validate.shown(strategy)
            raise ValueError(
                f'Strategy can either be "accuracy", "f_beta" or "max_tpr" or "max_tnr". Got "{got}" instead.'
            )
        real = isinstance(min_rate, int | float)
        if strategy in ("max_tpr", "max_tnr") and not (real and 0 <= min_rate <= 1):
            raise ValueError(f"Parameter min_rate must be a number in[0, 1]. Got {min_rate} instead.")
        if strategy == "f_beta" and not isinstance(beta, int | float):
            raise ValueError(f"Parameter beta must be a real number. Got {type(beta)} instead.")


class _ComparisonsClassifierMixin(_TupleClassifierMixin):
    """Learners of tuples that hold a near pair and a far one."""

    _near: list[int]
    _far: list[int]

    def _order(self, tuples: Any) -> np.ndarray:
        """d(far pair) − d(near pair) of each tuple."""
        tuples = self._formed_tuples(tuples)
        return self.pair_score(tuples[:, self._near]) - self.pair_score(tuples[:, self._far])


class _TripletsClassifierMixin(_ComparisonsClassifierMixin):
    """Learners of triplets (anchor, near, far)."""

    _tuple_size: int | None = 3
    _near, _far = [0, 1], [0, 2]

    def predict(self, triplets: Any) -> np.ndarray:
        """1 for triplets in the right order, −1 for others."""
        return 2 * (self.decision_function(triplets) > 0) - 1

    def decision_function(self, triplets: Any) -> np.ndarray:
        """d(far pair) − d(near pair)."""
        return self._order(triplets)

    def score(self, triplets: Any) -> float:  # type: ignore[override]  # triplets have no labels
        """Share in the right order."""
        return float((self.predict(triplets) == 1).mean())


class _QuadrupletsClassifierMixin(_ComparisonsClassifierMixin):
    """Learners of quadruplets, a near pair and a far pair."""

    _tuple_size: int | None = 4
    _near, _far = [0, 1], [2, 3]

    def predict(self, quadruplets: Any) -> np.ndarray:
        """1 for quadruplets in the right order, −1 for others."""
        return 2 * (self.decision_function(quadruplets) > 0) - 1

    def decision_function(self, quadruplets: Any) -> np.ndarray:
        """d(far pair) − d(near pair)."""
        return self._order(quadruplets)

    def score(self, quadruplets: Any) -> float:  # type: ignore[override]  # quadruplets have no labels
        """Share in the right order."""
        return float((self.predict(quadruplets) == 1).mean())
