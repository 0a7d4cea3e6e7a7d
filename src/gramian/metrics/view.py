"""What a metric is to its users, decided once: transform, search, hashing and exports read one view of it.

A metric with coordinates z(x) = Uᵀφ(x), core M = LᵀL and weight α outside of them is W = αI + U (M − αI) Uᵀ on φ. Rows
v(x), dense, and perhaps u(x), sparse and never made dense, hold all that it needs::

    d²(x, y) = (v − v')ᵀ B (v − v') + α |u − u'|²

Where no u is left, E(x) = Fv(x) with B = FᵀF are coordinates whose plain distance is the metric. With the symmetric
root G = M^{1/2} a factor of W is √α I + U (G − √α I) Uᵀ (Jain 2009, Lemma 2): no d × d matrix is needed.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from gramian import _memory, linalg
from gramian._arrays import Array, Matrix, asarray, foreign, namespace

if TYPE_CHECKING:
    from gramian.metrics.base import Metric


@dataclass(frozen=True, eq=False)
class Affine:
    """E(x) = Lx + b, or by the angle E(x) = C u / |u| with u = Lx + b. None is the identity, and zero."""

    L: np.ndarray | None
    b: np.ndarray | None = None
    by_angle: bool = False
    C: np.ndarray | None = None

    def first(self, X: Matrix) -> np.ndarray:
        """u = Lx + b."""
        U = linalg.dense(X) if self.L is None else linalg.dense(X @ self.L.T)  # (n, r)
        return U if self.b is None else U + self.b

    def __call__(self, X: Matrix) -> np.ndarray:
        """E(x)."""
        return self._last(self.first(X))

    def _last(self, U: np.ndarray) -> np.ndarray:
        U = linalg.unit_rows(U) if self.by_angle else U
        return U if self.C is None else U @ self.C.T

    def sizes(self, X: Matrix) -> tuple[np.ndarray, np.ndarray]:
        """What raw points need beside them: ``norm`` (n,) and ``size`` (n,), 1 where no length divides; see ``query``.

        With s(x) = |Lx + b| by the angle, d²(x, q) = norm(x) − 2 (q′ᵀx + c) / s(x) but for a constant of the query.
        """
        U = self.first(X) if self.by_angle or self.b is None else self.first(X) - self.b
        size = np.sqrt(linalg.row_norms(U)) if self.by_angle else np.ones(len(U))
        return linalg.row_norms(self._last(U)), np.where(size > 0, size, 1.0)

    def query(self, Q: Matrix) -> tuple[np.ndarray, np.ndarray]:
        """q′ (m, d) and c (m,) of raw queries, for ``sizes`` of raw points: q′ = LᵀCᵀE(q) and c = bᵀCᵀE(q)."""
        weights = self(Q) if self.by_angle or self.b is None else self(Q) - self.b  # (m, r)
        weights = weights if self.C is None else weights @ self.C  # CᵀE(q)
        shift = weights @ self.b if self.by_angle and self.b is not None else np.zeros(len(weights))
        return weights if self.L is None else weights @ self.L, shift


@dataclass(frozen=True, eq=False)
class View:
    """How a metric looks on points of one form, dense or sparse. Its methods take points that went through ``check``.

    Parameters
    ----------
    metric : Metric
        Whose view it is.
    rows : callable
        v(x), dense (n, p).
    axes : array (k, p), optional
        Uᵀ, where B = αI + U (M − αI) Uᵀ; otherwise B = M, and M − αI beside sparse rows.
    outside : callable, optional
        u(x), CSR, weighed by ``alpha``.
    whole : bool
        False: of a kernel without features, whose distance is at least that of the view.
    dense : View, optional
        The view of the same points as dense ones, where these are vectors.
    """

    metric: "Metric"
    rows: Callable[[Any], Any]
    axes: np.ndarray | None = None
    outside: Callable[[Any], Any] | None = None
    whole: bool = True
    dense: "View | None" = None

    @property
    def alpha(self) -> float:
        """Weight of u."""
        return 0.0 if self.outside is None else self.metric.alpha

    @property
    def on_points(self) -> bool:
        """Whether v(x) is x."""
        return self.rows is same

    @property
    def offset(self) -> Any:
        """What was subtracted from v(x): the mean where v(x) = z(x), otherwise 0."""
        moved = self.on_points or self.axes is not None or self.outside is not None
        return 0.0 if moved else self.metric.coordinates.mean

    @cached_property
    def identity(self) -> bool:
        """Whether points are compared as they are."""
        return self.on_points and self.outside is None and is_identity(self.metric.components)

    @property
    def finite(self) -> bool:
        """Whether E(x) has all of the metric."""
        return self.whole and (self.outside is None or (self.dense is not None and self.dense.finite))

    @property
    def linear(self) -> bool:
        """Whether E(x) − E(y) is a function of x − y, behind the door."""
        return self.finite and self.metric.coordinates.linear

    def embed(self, X: Matrix) -> np.ndarray:
        """E(x), (n, q); of a part of the metric where it is not ``finite``."""
        metric = self.metric
        if self.outside is not None and self.dense is not None:
            needed = f"{X.shape[0]:,} × {X.shape[1]:,} coordinates"
            _memory.require(
                24.0 * X.shape[0] * X.shape[1], type(metric).__name__, needed, "ask for a few rows at a time"
            )
            return self.dense.embed(linalg.dense(X))
        if self.axes is None:
            return metric.embed(X)
        V, s, k = self.rows(X), np.sqrt(metric.alpha), len(self.axes)  # (n, p), √α, rows of Uᵀ
        s = float(s)
        if metric.coordinates.beside:  # (√α x, Lz(x)) is shorter
            return namespace(V).concat([s * V[:, :-k], V[:, -k:] @ asarray(metric.components.T, V)], axis=1)
        axes, inside = (asarray(matrix, V) for matrix in (self.axes, metric.root - s * np.eye(k)))
        return s * V + ((V @ axes.T) @ inside) @ axes  # √α v + U(G − √α I)Uᵀv

    def weigh(self, V: Array) -> Array:
        """BV of rows."""
        if self.axes is not None:
            return self.metric.alpha * V + ((V @ self.axes.T) @ self._inside) @ self.axes  # αv + U(M − αI)Uᵀv
        if self.outside is not None:
            return V @ self._inside
        return V @ self.metric.core if self._scales is None else V * self._scales

    def sqnorms(self, V: Array) -> np.ndarray:
        """Values vᵀBv of rows."""
        if self.axes is not None or not self.on_points:
            return linalg.row_inner(V, self.weigh(V))
        return linalg.row_norms(V @ self.metric.components.T) if self._scales is None else (V * V) @ self._scales

    @cached_property
    def _inside(self) -> np.ndarray:
        """M − αI."""
        return self.metric.core - self.metric.alpha * np.eye(len(self.metric.core))

    @cached_property
    def _scales(self) -> np.ndarray | None:
        """The diagonal of M, where that is all of it."""
        L = self.metric.components
        diagonal = L.shape[0] == L.shape[1] and np.count_nonzero(L) == np.count_nonzero(np.diagonal(L))
        return np.diagonal(L) ** 2 if diagonal and self.on_points else None

    @property
    def affine(self) -> Affine | None:
        """E as a formula of raw points: affine, or affine and divided by the length. None where it is neither."""
        coordinates, components = self.metric.coordinates, self.metric.components
        if coordinates.angle is not None:
            L, center = coordinates.angle
            b = None if center is None or not center.any() else -(center if L is None else L @ center)
            return Affine(L, b, True, None if is_identity(components) else components)
        if not self.linear:
            return None
        if self.on_points:
            return Affine(components)
        d = coordinates.n_features or 0
        origin = self.embed(np.zeros((1, d)))[0]  # b, (r,)
        return Affine((self.embed(np.eye(d)) - origin).T, origin if origin.any() else None)


def view(metric: "Metric", points: Matrix) -> View:
    """The view of a metric on points like these, of which one is enough."""
    z, one = metric.coordinates, linalg.take(points, slice(0, 1))
    if z.z(one) is one:
        return View(metric, same)
    coordinates = compact(z.z)
    if metric.alpha == 0:  # coordinates are all there is
        return View(metric, coordinates)
    phi = z.phi(one)
    if phi is None:  # a kernel without features: only pairs of points know what is outside of the basis
        return View(metric, coordinates, whole=False)
    if not sparse.issparse(phi):
        return View(metric, z.phi, axes=linalg.dense(z.on_axes(same)))
    dense = view(metric, linalg.dense(one)) if sparse.issparse(one) else None
    return View(metric, compact(lambda X: z.z(X) + z.mean), outside=z.phi, dense=dense)


def same(X: Matrix) -> Any:
    """The points themselves."""
    return X


def compact(rows: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The same rows, one behind the other in memory."""

    def laid(X: Matrix) -> Any:
        V = rows(X)
        return V if foreign(V) else np.ascontiguousarray(V)

    return laid


def is_identity(L: np.ndarray) -> bool:
    """Whether a factor is the identity."""
    return L.shape[0] == L.shape[1] and np.array_equal(L, np.eye(len(L)))
