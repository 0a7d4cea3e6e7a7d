"""Learned distances as immutable values.

Every metric of the package has the form (Jain 2009, (3.6)–(3.8) and Theorem 5)::

    k_W(x, y)  = z(x)ᵀ M z(y) + α ρ(x, y)
    d²_W(x, y) = k_W(x, x) + k_W(y, y) − 2 k_W(x, y)

with coordinates z, a PSD core M = LᵀL on them, and a weight α ≥ 0 on the rest ρ(x, y) = k(x, y) − z(x)ᵀz(y)
outside of their span. :class:`Metric` is this form; :class:`Mahalanobis` (z(x) = x), :class:`SubspaceMahalanobis`
(z(x) = Uᵀx) and :class:`KernelMetric` (the coordinates of a kernel basis) are its words.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from gramian import _validate, linalg
from gramian._arrays import asarray, foreign, namespace, same_place
from gramian.coordinates import Coordinates
from gramian.metrics.explain import by_name, of_basis, of_classes, of_features
from gramian.metrics.view import View, view
from gramian.persist import Stored

LARGEST = 1e150
"""No entry of a factor may exceed it."""

WORDS: dict[type[Coordinates], type["Metric"]] = {}
"""The word for a metric on some kind of coordinates."""


@dataclass(frozen=True, eq=False)
class Metric(Stored):
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
        L = _validate.array(self.components, owner, "components")
        if L.ndim != 2 or L.shape[1] != r or not np.isfinite(L).all():
            raise ValueError(f"{owner}: components must be a finite array (q, {r}), got shape {L.shape}.")
        if np.abs(L).max(initial=0.0) > LARGEST:
            raise ValueError(f"{owner}: components must be at most {LARGEST:g}, or M = LᵀL overflows; rescale them.")
        L.flags.writeable = False
        object.__setattr__(self, "components", L)
        alpha = 0.0 if self.coordinates.whole else _validate.number(self.alpha, owner, "alpha", low=0)
        object.__setattr__(self, "alpha", alpha)
        if self.feature_names is not None:
            names = _validate.feature_names(self.feature_names, owner, self.n_features)
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

    @cached_property
    def core(self) -> np.ndarray:
        """M = LᵀL on the coordinates, (r, r)."""
        return frozen(self.components.T @ self.components)

    @cached_property
    def root(self) -> np.ndarray:
        """Symmetric root G = M^{1/2}, (r, r): the factor that is free of an arbitrary rotation."""
        L = self.components
        symmetric = L.shape[0] == L.shape[1] and np.array_equal(L, L.T) and is_psd(L)
        return L if symmetric else frozen(linalg.psd_sqrt(self.core))

    def check(self, X: Any, name: str = "X", min_points: int = 1) -> Any:
        """Points as this metric takes them, or one sentence that says what is wrong."""
        _validate.same_columns(X, self.feature_names, type(self).__name__, name)
        return self.coordinates.check(X, type(self).__name__, name, min_points)

    def embed(self, X: Any) -> np.ndarray:
        """Lz(x) of checked points, (n, q)."""
        Z = self.coordinates.z(X)  # (n, r)
        return linalg.dense(Z @ asarray(self.components.T, Z))

    def sqdist(self, X: Any, Y: Any | None = None) -> np.ndarray:
        """Squared distances d²_W between the rows of X and of Y (or of X), shape (n, m)."""
        return answer(self.sqdist_of(*both(self, X, Y)), X)

    def sqdist_of(self, X: Any, Y: Any | None) -> np.ndarray:
        """:meth:`sqdist` of checked points."""
        ZX = self.coordinates.z(X)
        ZY = None if Y is None else self.coordinates.z(Y)
        L = asarray(self.components.T, ZX)
        D = linalg.sqdist(linalg.dense(ZX @ L), None if ZY is None else linalg.dense(ZY @ L))
        if self.alpha > 0:
            D += self.alpha * self.coordinates.rest(X, Y, ZX, ZY)
        return D

    def distance(self, X: Any, Y: Any | None = None) -> np.ndarray:
        """Distances d_W, the only place where a root is taken, shape (n, m)."""
        D = self.sqdist_of(*both(self, X, Y))
        return answer(namespace(D).sqrt(D) if foreign(D) else np.sqrt(D, out=D), X)

    def pair_sqdist(self, X: Any, Y: Any) -> np.ndarray:
        """Squared distance of row i of X to row i of Y, shape (n,)."""
        points = X
        X, Y = both(self, X, [] if Y is None else Y)
        n, m = linalg.count(X), linalg.count(Y)
        if n != m:
            raise ValueError(f"{type(self).__name__}: X and Y must pair up, got {n} and {m} rows.")
        return answer(self.pair_sqdist_of(X, Y), points)

    def pair_sqdist_of(self, X: Any, Y: Any) -> np.ndarray:
        """:meth:`pair_sqdist` of checked points, from their differences."""
        Z = self.coordinates.difference(X, Y)
        d = linalg.row_norms(linalg.dense(Z @ asarray(self.components.T, Z)))
        return d + self.alpha * self.coordinates.pair_rest(X, Y, Z) if self.alpha > 0 else d

    def kernel(self, X: Any, Y: Any | None = None) -> np.ndarray:
        """Learned kernel k_W(x, y), shape (n, m); with centered coordinates z is centered in the first term only."""
        points = X
        X, Y = both(self, X, Y)
        Y = X if Y is None else Y
        z = self.coordinates.z
        ZX = z(X)
        L = asarray(self.components.T, ZX)
        ZY = ZX if Y is X else z(Y)
        K = linalg.inner(linalg.dense(ZX @ L), linalg.dense(ZY @ L))
        if self.alpha > 0:
            mean = asarray(
                self.coordinates.mean, ZX
            )  # ρ = k − z̃ᵀz̃ takes the uncentered coordinates, or it would not be PSD
            K += self.alpha * (self.coordinates.inner(X, Y) - (ZX + mean) @ (ZY + mean).T)
        return answer(K, points)

    def transform(self, X: Any) -> np.ndarray:
        """Coordinates (n, q) in which the plain Euclidean distance is this metric (an isometry).

        With α > 0 these are √α φ + U (M^{1/2} − √α I) Uᵀφ where the points, or the features φ(x) of their kernel, are
        vectors, and (√α x, Lz(x)) where coordinates lie beside the features. For any other kernel they are Lz(x), an
        isometry on the span of the basis alone.
        """
        return answer(self.transform_of(self.check(X)), X)

    def transform_of(self, X: Any) -> np.ndarray:
        """:meth:`transform` of checked points."""
        return self.view_of(X).embed(X)

    def view(self, points: Any) -> View:
        """What the metric is to transform, search and exports, on points like these: one is enough.

        Examples
        --------
        >>> import numpy as np, gramian as gm
        >>> view = gm.Mahalanobis.from_matrix(np.diag([1.0, 4.0])).view(np.zeros((1, 2)))
        >>> view.identity, view.finite, view.affine.L.tolist()
        (False, True, [[1.0, 0.0], [0.0, 2.0]])
        """
        return self.view_of(self.check(points, "points"))

    def view_of(self, points: Any) -> View:
        """:meth:`view` of checked points; made once for each type of them."""
        if type(points) not in self._views:
            self._views[type(points)] = view(self, points)
        return self._views[type(points)]

    @cached_property
    def _views(self) -> dict[type, View]:
        return {}

    def __call__(self, u: Any, v: Any) -> float:
        """Distance of two single points, for libraries that take a callable metric."""
        one, owner = self.coordinates.one, type(self).__name__
        return float(self.pair_sqdist(one(u, owner, "u"), one(v, owner, "v"))[0] ** 0.5)

    def explain(self, x: Any, y: Any, names: Any = None, *, by: str = "features") -> Any:
        """What each feature adds to the squared distance of two points; the shares sum to it.

        Of a matrix W on the features these are v_j (Wv)_j with v = x − y. Kernels and angles are followed on the
        straight way from y to x (Aumann and Shapley 1974), which gives the same where there is a matrix. A share below
        zero comes from a feature that offsets others.

        Points that are no vectors, such as strings, have no features: ``by="basis"`` says instead what each point b of
        the basis adds by k(b, x) − k(b, y), and last, as "rest", what lies outside of their span. Beside class
        probabilities ``by="classes"`` says what each class adds, in the order of ``coordinates.classes``, and last, as
        "rest", what the features do.

        Parameters
        ----------
        x, y : point (d,)
            Two points; objects where the kernel takes objects.
        names : list of str or True, optional
            Names of the features, points of the basis or classes: the answer is then a dict from name to share, the
            largest first; otherwise an array. True takes the ``feature_names`` of the metric.
        by : {"features", "basis", "classes"}
            What the distance is shared among.
        """
        owner = type(self).__name__
        shares = {"features": of_features, "basis": of_basis, "classes": of_classes}
        _validate.one_of(by, owner, "by", tuple(shares))
        for point, name in ((x, "x"), (y, "y")):
            _validate.same_columns(point, self.feature_names, owner, name)
        x, y = self.coordinates.one(x, owner, "x"), self.coordinates.one(y, owner, "y")
        parts = shares[by](self, x, y)
        if names is None:
            return parts
        return by_name(parts, self.feature_names if names is True else names, owner, by)

    def __reduce__(self) -> Any:
        # Rebuilt from its state: pickle would bring back frozen arrays as writable ones.
        return type(self)._from_state, (self._state(),)

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> "Metric":
        return Metric.of(**state)

    def __repr__(self) -> str:
        features = "" if self.n_features is None else f"{self.n_features} features, "
        return f"{type(self).__name__}({features}rank {self.components.shape[0]}, alpha={self.alpha:g})"


def both(metric: "Metric", X: Any, Y: Any) -> tuple[Any, Any]:
    """Two sets of points, the second of which may be missing, checked, on one device."""
    X = metric.check(X)
    if Y is not None:
        Y = metric.check(Y, "Y")
        same_place(type(metric).__name__, X, Y)
    return X, Y


def answer(values: Any, given: Any) -> Any:
    """Values as the caller's points are: of their library and precision, on their device."""
    if not foreign(values) or not foreign(given):
        return values
    xp = namespace(values)
    return xp.astype(values, given.dtype, copy=False) if xp.isdtype(given.dtype, "real floating") else values


def frozen(array: np.ndarray) -> np.ndarray:
    """The array, which cannot be written to from here on."""
    array.flags.writeable = False
    return array


def is_psd(L: np.ndarray) -> bool:
    """Whether a symmetric matrix has no eigenvalue below zero but for rounding."""
    return bool(L.size == 0 or np.linalg.eigvalsh(L)[0] >= -1e-12 * np.abs(L).max())
