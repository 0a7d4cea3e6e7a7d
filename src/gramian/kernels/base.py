"""The kernel contract: a frozen value with one hook, ``_gram``; sums and products are kernels again."""

from abc import ABC, abstractmethod
from numbers import Real
from typing import Any

import numpy as np

from gramian import _memory, _validate, linalg
from gramian._arrays import same_place
from gramian._settings import check, shown
from gramian.linalg import count
from gramian.persist import Stored


class Kernel(ABC, Stored):
    """A positive semi-definite function of two points.

    Subclasses are frozen dataclasses and give ``_gram(X, Y) -> (n, m)``. ``_diag(X)`` and ``_pairs(X, Y)`` have
    generic versions that a subclass may replace by a closed form. A kernel on objects that are not vectors
    sets ``on_vectors = False`` and receives sequences as they are.
    """

    devices = True
    """Whether ``_gram`` takes arrays on a device."""
    on_vectors = True
    """Whether points are rows of an array."""
    linear = False
    """Whether k(x, y) = w xᵀy."""

    __post_init__ = check

    @abstractmethod
    def _gram(self, X: Any, Y: Any) -> np.ndarray: ...

    def _diag(self, X: Any) -> np.ndarray:
        return self._pairs(X, X)

    def _pairs(self, X: Any, Y: Any) -> np.ndarray:
        n = count(X)
        return np.array([self._gram(X[i : i + 1], Y[i : i + 1])[0, 0] for i in range(n)], dtype=float)

    def check(self, X: Any, name: str = "X") -> Any:
        """Return X as this kernel takes it: a validated array of vectors, or the sequence itself."""
        if self.on_vectors:
            X = _validate.points(X, type(self).__name__, name=name, devices=self.devices)
        return self.accept(X, name)

    def accept(self, X: Any, name: str = "X") -> Any:
        """What this kernel asks of points that are known to be vectors, or objects."""
        if not self.on_vectors:
            return objects(X, type(self).__name__, name)
        # Single precision would leave eigenvalues of rounding noise, far above those that a factorization drops.
        return linalg.double(X)

    def embed(self, X: Any) -> Any:
        """Explicit feature vectors φ(x) as rows, dense or CSR, with k(x, y) = φ(x)ᵀφ(y); None when there are none."""
        return self._phi(self.check(X))

    def _phi(self, X: Any) -> Any:
        return None

    def bound(self, X: Any) -> "Kernel":
        """Return this kernel with what it takes from a training set X settled; most kernels take nothing."""
        return self

    def __call__(self, X: Any, Y: Any | None = None) -> np.ndarray:
        """Gram matrix between the rows of X and of Y (or of X), shape (n, m)."""
        X = self.check(X)
        Y = X if Y is None else self.check(Y, "Y")
        same_space(self, X, Y)
        n = count(X)
        m = count(Y)
        owner = type(self).__name__
        _memory.require(8.0 * n * m, owner, f"{n:,} × {m:,} values", "ask for a block of rows at a time")
        return self._gram(X, Y)

    def diag(self, X: Any) -> np.ndarray:
        """k(x, x) for each row, shape (n,)."""
        return self._diag(self.check(X))

    def pairs(self, X: Any, Y: Any) -> np.ndarray:
        """Kernel of row i of X with row i of Y, shape (n,)."""
        X, Y = self.check(X), self.check(Y, "Y")
        if count(X) != count(Y):
            raise ValueError(f"{type(self).__name__}: X and Y must pair up, got {count(X)} and {count(Y)} rows.")
        same_space(self, X, Y)
        return self._pairs(X, Y)

    def sqdist(self, X: Any, Y: Any | None = None) -> np.ndarray:
        """Squared distance in feature space, k(x, x) + k(y, y) − 2 k(x, y), shape (n, m)."""
        X = self.check(X)
        if Y is not None:
            Y = self.check(Y, "Y")
            same_space(self, X, Y)
        return self._sqdist(X, Y)

    def _sqdist(self, X: Any, Y: Any | None) -> np.ndarray:
        dx = self._diag(X)
        dy = dx if Y is None else self._diag(Y)
        K = self._gram(X, X if Y is None else Y)
        D = linalg.at_least(dx[:, None] + dy[None, :] - 2 * K, 0.0)
        return linalg.with_diagonal(D, 0.0) if Y is None else D

    def __add__(self, other: "Kernel | float") -> "Kernel":
        from gramian.kernels.combinations import Sum, as_term

        return Sum((self, as_term(other)))

    def __mul__(self, other: "Kernel | float") -> "Kernel":
        from gramian.kernels.combinations import Product, Scaled, as_term

        return Scaled(self, float(other)) if isinstance(other, Real) else Product((self, as_term(other)))

    __radd__ = __add__
    __rmul__ = __mul__


class ByVectors(Kernel):
    """A kernel by its vectors alone: subclasses give ``_phi``, and k(x, y) = φ(x)ᵀφ(y)."""

    def _gram(self, X: Any, Y: Any) -> np.ndarray:
        phi = self._phi(X)
        return linalg.inner(phi, phi if Y is X else self._phi(Y))

    def _diag(self, X: Any) -> np.ndarray:
        return linalg.row_norms(self._phi(X))

    def _pairs(self, X: Any, Y: Any) -> np.ndarray:
        return linalg.row_inner(self._phi(X), self._phi(Y))


def same_space(kernel: Kernel, X: Any, Y: Any) -> None:
    """Refuse two sets of points on different devices, or of different numbers of features."""
    owner = type(kernel).__name__
    same_place(owner, X, Y)
    if kernel.on_vectors and X.shape[1] != Y.shape[1]:
        raise ValueError(f"{owner}: X and Y must have the same number of features, got {X.shape[1]} and {Y.shape[1]}.")


def objects(X: Any, owner: str, name: str = "X") -> Any:
    """A sequence of objects that counts from 0: a pandas column or frame as the array of its rows, others as is."""
    X = X.to_numpy() if hasattr(X, "iloc") else X
    listed = hasattr(X, "__len__") and hasattr(X, "__getitem__") and not isinstance(X, str | bytes | dict)
    if not listed or getattr(X, "ndim", 1) == 0:
        raise TypeError(f"{owner}: {name} must be points or a list of objects, got {shown(X)}.")
    return X
