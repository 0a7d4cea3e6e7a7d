"""What a metric measures: distances, the kernel, and coordinates in which it is Euclidean."""

from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from gramian import _checks, _device, _memory, linalg
from gramian.coordinates import Coordinates


class Distances:
    """d²_W and k_W of points, from coordinates z, a factor L and the weight α of the rest.

    Methods that end in ``_of`` take points that went through ``check``.
    """

    coordinates: Coordinates
    components: np.ndarray
    alpha: float
    feature_names: tuple[str, ...] | None

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
        _checks.same_columns(X, self.feature_names, type(self).__name__, name)
        return self.coordinates.check(X, type(self).__name__, name, min_points)

    def embed(self, X: Any) -> np.ndarray:
        """Lz(x) of checked points, (n, q)."""
        return linalg.dense(self.coordinates.z(X) @ self.components.T)

    def sqdist(self, X: Any, Y: Any | None = None) -> np.ndarray:
        """Squared distances d²_W between the rows of X and of Y (or of X), shape (n, m)."""
        return answer(self.sqdist_of(*both(self, X, Y)), X)

    def sqdist_of(self, X: Any, Y: Any | None) -> np.ndarray:
        """:meth:`sqdist` of checked points."""
        ZX = self.coordinates.z(X)
        ZY = None if Y is None else self.coordinates.z(Y)
        L = self.components.T
        D = linalg.sqdist(linalg.dense(ZX @ L), None if ZY is None else linalg.dense(ZY @ L))
        if self.alpha > 0:
            D += self.alpha * self.coordinates.rest(X, Y, ZX, ZY)
        return D

    def distance(self, X: Any, Y: Any | None = None) -> np.ndarray:
        """Distances d_W, the only place where a root is taken, shape (n, m)."""
        D = self.sqdist_of(*both(self, X, Y))
        return answer(np.sqrt(D, out=D), X)

    def pair_sqdist(self, X: Any, Y: Any) -> np.ndarray:
        """Squared distance of row i of X to row i of Y, shape (n,)."""
        given = X
        X, Y = both(self, X, [] if Y is None else Y)
        n, m = linalg.count(X), linalg.count(Y)
        if n != m:
            raise ValueError(f"{type(self).__name__}: X and Y must pair up, got {n} and {m} rows.")
        return answer(self.pair_sqdist_of(X, Y), given)

    def pair_sqdist_of(self, X: Any, Y: Any) -> np.ndarray:
        """:meth:`pair_sqdist` of checked points, from their differences."""
        Z = self.coordinates.difference(X, Y)
        d = linalg.row_norms(linalg.dense(Z @ self.components.T))
        return d + self.alpha * self.coordinates.pair_rest(X, Y, Z) if self.alpha > 0 else d

    def kernel(self, X: Any, Y: Any | None = None) -> np.ndarray:
        """Learned kernel k_W(x, y), shape (n, m); with centered coordinates z is centered in the first term only."""
        given = X
        X, Y = both(self, X, Y)
        Y = X if Y is None else Y
        z, L = self.coordinates.z, self.components.T
        ZX = z(X)
        ZY = ZX if Y is X else z(Y)
        K = linalg.inner(linalg.dense(ZX @ L), linalg.dense(ZY @ L))
        if self.alpha > 0:
            mean = self.coordinates.mean  # ρ = k − z̃ᵀz̃ takes the uncentered coordinates, or it would not be PSD
            K += self.alpha * (self.coordinates.inner(X, Y) - (ZX + mean) @ (ZY + mean).T)
        return answer(K, given)

    def transform(self, X: Any) -> np.ndarray:
        """Coordinates (n, q) in which the plain Euclidean distance is this metric (an isometry).

        With α > 0 these are all features, √α x + U (M^{1/2} − √α I) Uᵀx, where points are vectors, and (√α x, Lz(x))
        where coordinates lie beside the features; in the space of a kernel they are Lz(x), an isometry on the span
        of the basis alone.
        """
        return answer(self.transform_of(self.check(X)), X)

    def transform_of(self, X: Any) -> np.ndarray:
        """:meth:`transform` of checked points."""
        s = np.sqrt(self.alpha)
        rest = self.coordinates.rest_vectors(X) if s > 0 else None
        whole = rest is not None or (s > 0 and self.coordinates.back(self.core[:0]) is not None)
        if whole and sparse.issparse(X):
            needed = f"{X.shape[0]:,} × {X.shape[1]:,} coordinates"
            _memory.require(24.0 * X.shape[0] * X.shape[1], type(self).__name__, needed, "ask for a few rows at a time")
        if rest is not None:
            return np.concatenate([s * linalg.dense(rest), self.embed(X)], axis=1)
        if not whole:
            return self.embed(X)
        inside: Any = self.coordinates.back(self.coordinates.z(X) @ (self.root - s * np.eye(len(self.core))))
        return s * linalg.dense(X) + inside

    def __call__(self, u: Any, v: Any) -> float:
        """Distance of two single points, for libraries that take a callable metric."""
        one, owner = self.coordinates.one, type(self).__name__
        return float(self.pair_sqdist(one(u, owner, "u"), one(v, owner, "v"))[0] ** 0.5)


def both(metric: Distances, X: Any, Y: Any) -> tuple[Any, Any]:
    """Two sets of points, the second of which may be missing, checked, on one device."""
    X = metric.check(X)
    if Y is not None:
        Y = metric.check(Y, "Y")
        _device.same_place(type(metric).__name__, X, Y)
    return X, Y


def answer(values: Any, given: Any) -> Any:
    """Values as the caller's points are: of their library and precision, on their device."""
    if not _device.held(values):
        return values
    dtype = _device.inside(given).dtype
    return _device.outside(values.astype(dtype, copy=False) if dtype.kind == "f" else values)


def frozen(array: np.ndarray) -> np.ndarray:
    """The array, which cannot be written to from here on."""
    array.flags.writeable = False
    return array


def is_psd(L: np.ndarray) -> bool:
    """Whether a symmetric matrix has no eigenvalue below zero but for rounding."""
    return bool(L.size == 0 or np.linalg.eigvalsh(L)[0] >= -1e-12 * np.abs(L).max())
