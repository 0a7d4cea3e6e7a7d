"""Learned distances as immutable values.

Every metric of the package has the form (Jain 2009, (3.6)–(3.8) and Theorem 5)::

    k_W(x, y)  = z(x)ᵀ M z(y) + α ρ(x, y)
    d²_W(x, y) = k_W(x, x) + k_W(y, y) − 2 k_W(x, y)

with coordinates z, a PSD core M = LᵀL on them, and a weight α ≥ 0 on the rest ρ(x, y) = k(x, y) − z(x)ᵀz(y)
outside of their span. :class:`Metric` is this form; :class:`Mahalanobis` (z(x) = x), :class:`SubspaceMahalanobis`
(z(x) = Uᵀx) and :class:`KernelMetric` (the coordinates of a kernel basis) are its words.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gramian import _checks
from gramian.coordinates import Coordinates
from gramian.metrics.distances import Distances
from gramian.metrics.explain import by_name, of_basis, of_features
from gramian.persist import Stored

LARGEST = 1e150
"""No entry of a factor may exceed it."""

WORDS: dict[type[Coordinates], type["Metric"]] = {}
"""The word for a metric on some kind of coordinates."""


@dataclass(frozen=True, eq=False)
class Metric(Distances, Stored):
    """An immutable learned (pseudo-)distance on points.

    Parameters
    ----------
    coordinates : Coordinates
        z.
    components : array (q, r)
        The factor L of the core M = LᵀL.
    alpha : float
        Weight of what lies outside of the coordinates.
    feature_names : tuple of str, optional
        Names of the columns it was learned on. A frame whose columns are others, or in another order, is refused then.
    """

    coordinates: Coordinates
    components: np.ndarray
    alpha: float = 0.0
    feature_names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        owner, r = type(self).__name__, self.coordinates.size
        L = _checks.array(self.components, owner, "components")
        if L.ndim != 2 or L.shape[1] != r or not np.isfinite(L).all():
            raise ValueError(f"{owner}: components must be a finite array (q, {r}), got shape {L.shape}.")
        if np.abs(L).max(initial=0.0) > LARGEST:
            raise ValueError(f"{owner}: components must be at most {LARGEST:g}, or M = LᵀL overflows; rescale them.")
        L.flags.writeable = False
        object.__setattr__(self, "components", L)
        alpha = 0.0 if self.coordinates.whole else _checks.number(self.alpha, owner, "alpha", low=0)
        object.__setattr__(self, "alpha", alpha)
        if self.feature_names is not None:
            names = _checks.feature_names(self.feature_names, owner, self.n_features)
            object.__setattr__(self, "feature_names", names)

    @staticmethod
    def of(coordinates: Coordinates, components: Any, alpha: float = 0.0, feature_names: Any = None) -> "Metric":
        """The metric of some coordinates, under the word for it."""
        metric = object.__new__(WORDS.get(type(coordinates), Metric))
        Metric.__init__(metric, coordinates, components, alpha, feature_names)
        return metric

    def with_names(self, feature_names: Any) -> "Metric":
        """The same metric with names of its columns, or without them (None)."""
        return Metric.of(self.coordinates, self.components, self.alpha, feature_names)

    @property
    def n_features(self) -> int | None:
        """Number of features of a point; None where points need not be vectors."""
        return self.coordinates.n_features

    @property
    def matrix(self) -> np.ndarray:
        """The metric as a matrix: on the features where it has one, (d, d), otherwise M on the coordinates."""
        if self.coordinates.whole or self.coordinates.back(self.core[:0]) is None:
            return self.core
        back: Any = self.coordinates.back
        inside = back(self.core - self.alpha * np.eye(len(self.core)))
        return self.alpha * np.eye(inside.shape[1]) + back(inside.T)

    def explain(self, x: Any, y: Any, names: Any = None, *, by: str = "features") -> Any:
        """What each feature adds to the squared distance of two points; the shares sum to it.

        Of a matrix W on the features these are v_j (Wv)_j with v = x − y. Kernels and angles are followed on the
        straight way from y to x (Aumann and Shapley 1974), which gives the same where there is a matrix. A share below
        zero comes from a feature that offsets others.

        Points that are no vectors, such as strings, have no features: ``by="basis"`` says instead what each point b of
        the basis adds by k(b, x) − k(b, y), and last, as "rest", what lies outside of their span.

        Parameters
        ----------
        x, y : point (d,)
            Two points; objects where the kernel takes objects.
        names : list of str, optional
            Names of the features, or of the points of the basis: the answer is then a dict from name to share, the
            largest first; otherwise an array.
        by : {"features", "basis"}
            What the distance is shared among.
        """
        owner = type(self).__name__
        _checks.one_of(by, owner, "by", ("features", "basis"))
        for point, name in ((x, "x"), (y, "y")):
            _checks.same_columns(point, self.feature_names, owner, name)
        x, y = self.coordinates.one(x, owner, "x"), self.coordinates.one(y, owner, "y")
        found = of_basis(self, x, y) if by == "basis" else of_features(self, x, y)
        return found if names is None else by_name(found, names, owner, by)

    def __reduce__(self) -> Any:
        # Rebuilt from its state: pickle would bring back frozen arrays as writable ones.
        return type(self)._from_state, (self._state(),)

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> "Metric":
        return Metric.of(**state)

    def __repr__(self) -> str:
        features = "" if self.n_features is None else f"{self.n_features} features, "
        return f"{type(self).__name__}({features}rank {self.components.shape[0]}, alpha={self.alpha:g})"
