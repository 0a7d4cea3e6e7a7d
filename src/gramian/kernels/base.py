"""The kernel contract: a frozen value with one hook, ``_gram``; sums and products are kernels again."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import reduce
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse

from gramian import _checks, _device, _memory, linalg
from gramian.linalg import count as _length
from gramian.linalg import take as take  # noqa: PLC0414
from gramian.persist import Stored


class Kernel(ABC, Stored):
    """A positive semi-definite function of two points.

    Subclasses are frozen dataclasses and give ``_gram(X, Y) -> (n, m)``. ``_diag(X)`` and ``_pairs(X, Y)`` have
    generic versions that a subclass may replace by a closed form. A kernel on objects that are not vectors
    sets ``on_vectors = False`` and receives sequences as they are.
    """

    devices = True
    """Whether ``_gram`` takes arrays on a device, as NumPy's functions do."""

    @property
    def on_vectors(self) -> bool:
        """Whether points are rows of an array."""
        return True

    @abstractmethod
    def _gram(self, X: Any, Y: Any) -> np.ndarray: ...

    def _diag(self, X: Any) -> np.ndarray:
        return self._pairs(X, X)

    def _pairs(self, X: Any, Y: Any) -> np.ndarray:
        n = _length(X)
        return np.array([self._gram(X[i : i + 1], Y[i : i + 1])[0, 0] for i in range(n)], dtype=float)

    def check(self, X: Any, name: str = "X") -> Any:
        """Return X as this kernel takes it: a validated array of vectors, or the sequence itself."""
        if self.on_vectors:
            X = _checks.points(X, type(self).__name__, name=name, devices=self.devices)
        return self.accept(X, name)

    def accept(self, X: Any, name: str = "X") -> Any:
        """What this kernel asks of points that are known to be vectors, or objects."""
        if not self.on_vectors:
            return objects(X, type(self).__name__, name)
        # Single precision would leave eigenvalues of rounding noise, far above those that a factorization drops.
        return X.astype(np.float64, copy=False)

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
        self._check_widths(X, Y)
        n, m, owner = _length(X), _length(Y), type(self).__name__
        _memory.require(8.0 * n * m, owner, f"{n:,} × {m:,} values", "ask for a block of rows at a time")
        return _device.outside(self._gram(X, Y))

    def _check_widths(self, X: Any, Y: Any) -> None:
        _device.same_place(type(self).__name__, X, Y)
        if self.on_vectors and X.shape[1] != Y.shape[1]:
            raise ValueError(
                f"{type(self).__name__}: X and Y must have the same number of features, "
                f"got {X.shape[1]} and {Y.shape[1]}."
            )

    def diag(self, X: Any) -> np.ndarray:
        """k(x, x) for each row, shape (n,)."""
        return _device.outside(self._diag(self.check(X)))

    def pairs(self, X: Any, Y: Any) -> np.ndarray:
        """Kernel of row i of X with row i of Y, shape (n,)."""
        X, Y = self.check(X), self.check(Y, "Y")
        if _length(X) != _length(Y):
            raise ValueError(f"{type(self).__name__}: X and Y must pair up, got {_length(X)} and {_length(Y)} rows.")
        self._check_widths(X, Y)
        return _device.outside(self._pairs(X, Y))

    def sqdist(self, X: Any, Y: Any | None = None) -> np.ndarray:
        """Squared distance in feature space, k(x, x) + k(y, y) − 2 k(x, y), shape (n, m)."""
        X = self.check(X)
        if Y is not None:
            Y = self.check(Y, "Y")
            self._check_widths(X, Y)
        return _device.outside(self._sqdist(X, Y))

    def _sqdist(self, X: Any, Y: Any | None) -> np.ndarray:
        dx = self._diag(X)
        dy = dx if Y is None else self._diag(Y)
        K = self._gram(X, X if Y is None else Y)
        D = np.maximum(dx[:, None] + dy[None, :] - 2 * K, 0)
        if Y is None:
            np.fill_diagonal(D, 0)
        return D

    def __add__(self, other: "Kernel | float") -> "Kernel":
        return Sum((self, _as_kernel(other)))

    def __mul__(self, other: "Kernel | float") -> "Kernel":
        return Scaled(self, float(other)) if isinstance(other, Real) else Product((self, _as_kernel(other)))

    __radd__ = __add__
    __rmul__ = __mul__


def _as_kernel(value: Any) -> Kernel:
    if isinstance(value, Kernel):
        return value
    if isinstance(value, Real):
        return Constant(float(value))
    raise TypeError(f"Kernel: can only combine with a Kernel or a number, got {type(value).__name__}.")


def objects(X: Any, owner: str, name: str = "X") -> Any:
    """A sequence of objects that counts from 0: a pandas column or frame as the array of its rows, others as is."""
    X = X.to_numpy() if hasattr(X, "iloc") else X
    listed = hasattr(X, "__len__") and hasattr(X, "__getitem__") and not isinstance(X, str | bytes | dict)
    if not listed or getattr(X, "ndim", 1) == 0:
        raise TypeError(f"{owner}: {name} must be points or a list of objects, got {_checks.shown(X)}.")
    return X


@dataclass(frozen=True)
class _Combination(Kernel):
    """Kernels on one kind of input taken together."""

    parts: tuple

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", tuple(self.parts))

    @property
    def on_vectors(self) -> bool:
        return all(part.on_vectors for part in self.parts)

    def accept(self, X: Any, name: str = "X") -> Any:
        for part in self.parts:
            X = part.accept(X, name) if part.on_vectors == self.on_vectors else part.check(X, name)
        return X

    def bound(self, X: Any) -> Kernel:
        return type(self)(tuple(part.bound(X) for part in self.parts))


class Sum(_Combination):
    """k(x, y) = Σ_j k_j(x, y)."""

    def _phi(self, X: Any) -> Any:
        """Vectors φ_j side by side, where every part has them."""
        columns = [part._phi(X) for part in self.parts]
        if any(phi is None for phi in columns):
            return None
        if any(sparse.issparse(phi) for phi in columns):
            return sparse.csr_array(sparse.hstack(columns))
        return np.concatenate(columns, axis=1)

    def _gram(self, X: Any, Y: Any) -> np.ndarray:
        total = self.parts[0]._gram(X, Y)
        for part in self.parts[1:]:
            total = total + part._gram(X, Y)
        return total

    def _diag(self, X: Any) -> np.ndarray:
        return sum(part._diag(X) for part in self.parts)

    def _pairs(self, X: Any, Y: Any) -> np.ndarray:
        return sum(part._pairs(X, Y) for part in self.parts)


class Product(_Combination):
    """k(x, y) = Π_j k_j(x, y)."""

    def _gram(self, X: Any, Y: Any) -> np.ndarray:
        total = self.parts[0]._gram(X, Y)
        for part in self.parts[1:]:
            total = total * part._gram(X, Y)
        return total

    def _diag(self, X: Any) -> np.ndarray:
        return reduce(np.multiply, (part._diag(X) for part in self.parts))

    def _pairs(self, X: Any, Y: Any) -> np.ndarray:
        return reduce(np.multiply, (part._pairs(X, Y) for part in self.parts))


@dataclass(frozen=True)
class Scaled(Kernel):
    """k(x, y) = weight · base(x, y), weight ≥ 0."""

    base: Kernel
    weight: float

    def __post_init__(self) -> None:
        _checks.number(self.weight, "Kernel", "scalar factor", low=0)

    @property
    def on_vectors(self) -> bool:
        return self.base.on_vectors

    def accept(self, X: Any, name: str = "X") -> Any:
        return self.base.accept(X, name)

    def bound(self, X: Any) -> Kernel:
        return Scaled(self.base.bound(X), self.weight)

    def _phi(self, X: Any) -> Any:
        phi = self.base._phi(X)
        return None if phi is None else phi * np.sqrt(self.weight)

    def _gram(self, X: Any, Y: Any) -> np.ndarray:
        return self.weight * self.base._gram(X, Y)

    def _diag(self, X: Any) -> np.ndarray:
        return self.weight * self.base._diag(X)

    def _pairs(self, X: Any, Y: Any) -> np.ndarray:
        return self.weight * self.base._pairs(X, Y)


@dataclass(frozen=True)
class Constant(Kernel):
    """k(x, y) = value ≥ 0: what a number means in a sum of kernels."""

    value: float

    def __post_init__(self) -> None:
        _checks.number(self.value, "Kernel", "constant", low=0)

    def check(self, X: Any, name: str = "X") -> Any:
        return X

    accept = check

    def _phi(self, X: Any) -> Any:
        return linalg.full((_length(X), 1), np.sqrt(self.value), X)

    def _gram(self, X: Any, Y: Any) -> np.ndarray:
        return linalg.full((_length(X), _length(Y)), self.value, X)

    def _diag(self, X: Any) -> np.ndarray:
        return linalg.full(_length(X), self.value, X)

    def _pairs(self, X: Any, Y: Any) -> np.ndarray:
        return linalg.full(_length(X), self.value, X)
