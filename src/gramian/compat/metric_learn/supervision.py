"""How learners are told what is near: pairs with ±1 and a threshold, or labels that pairs are drawn from."""

from typing import Any

from sklearn.base import TransformerMixin

from gramian._settings import require
from gramian.compat.metric_learn.base_metric import _PairsClassifierMixin
from gramian.compat.metric_learn.constraints import drawn_pairs


class FromPairs(_PairsClassifierMixin):
    """Learners whose ``_fit`` takes pairs with ±1; their threshold is then calibrated on the same pairs."""

    def fit(self, pairs: Any, y: Any, calibration_params: Any = None) -> Any:
        """Learn from pairs with ±1, and calibrate the threshold on them."""
        return self._fit_and_calibrate(pairs, y, calibration_params)

    def _fit_and_calibrate(self, pairs: Any, y: Any, calibration_params: Any, **more: Any) -> Any:
        require(dict | None, calibration_params, type(self).__name__, "calibration_params")
        options = calibration_params or {}
        self._validate_calibration_params(**options)
        self._fit(pairs, y, **more)
        return self.calibrate_threshold(pairs, y, **options)


class FromLabels(TransformerMixin):
    """The supervised form of a learner, whose ``_fit`` takes tuples: points with labels, of which these are drawn."""

    _tuple_size: int | None = None  # points, not tuples

    def fit(self, X: Any, y: Any) -> Any:
        """Learn from points with labels."""
        return self._fit_drawn(X, y)

    def _fit_drawn(self, X: Any, y: Any, **more: Any) -> Any:
        X, y = self._prepare_inputs(X, y, ensure_min_samples=2)
        self._fit(*drawn_pairs(X, y, self.n_constraints, self.random_state), **more)
        return self
