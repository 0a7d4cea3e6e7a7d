"""Sums, products and multiples of kernels, which are kernels again."""

import operator
from dataclasses import dataclass
from functools import reduce
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse

from gramian import linalg
from gramian._arrays import namespace
from gramian._settings import Size, require
from gramian.kernels.base import Kernel


@dataclass(frozen=True)
class Combination(Kernel):
    """Kernels on one kind of input taken together."""

    parts: tuple

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", tuple(self.parts))

    @property
    def on_vectors(self) -> bool:  # type: ignore[override]  # a constant elsewhere
        return all(part.on_vectors for part in self.parts)

    def accept(self, X: Any, name: str = "X") -> Any:
        for part in self.parts:
            X = part.accept(X, name) if part.on_vectors == self.on_vectors else part.check(X, name)
        return X

    def bound(self, X: Any) -> Kernel:
        return type(self)(tuple(part.bound(X) for part in self.parts))


class Sum(Combination):
    """k(x, y) = Σ_j k_j(x, y)."""

    def _phi(self, X: Any) -> Any:
        """Vectors φ_j side by side, where every part has them."""
        columns = [part._phi(X) for part in self.parts]
        if any(phi is None for phi in columns):
            return None
        if any(sparse.issparse(phi) for phi in columns):
            return sparse.csr_array(sparse.hstack(columns))
        return namespace(columns[0]).concat(columns, axis=1)

    def _gram(self, X: Any, Y: Any) -> np.ndarray:
        total = self.parts[0]._gram(X, Y)
        for part in self.parts[1:]:
            total = total + part._gram(X, Y)
        return total

    def _diag(self, X: Any) -> np.ndarray:
        return sum(part._diag(X) for part in self.parts)

    def _pairs(self, X: Any, Y: Any) -> np.ndarray:
        return sum(part._pairs(X, Y) for part in self.parts)


class Product(Combination):
    """k(x, y) = Π_j k_j(x, y)."""

    def _gram(self, X: Any, Y: Any) -> np.ndarray:
        total = self.parts[0]._gram(X, Y)
        for part in self.parts[1:]:
            total = total * part._gram(X, Y)
        return total

    def _diag(self, X: Any) -> np.ndarray:
        return reduce(operator.mul, (part._diag(X) for part in self.parts))

    def _pairs(self, X: Any, Y: Any) -> np.ndarray:
        return reduce(operator.mul, (part._pairs(X, Y) for part in self.parts))


@dataclass(frozen=True)
class Scaled(Kernel):
    """k(x, y) = weight · base(x, y), weight ≥ 0."""

    base: Kernel
    weight: float

    def __post_init__(self) -> None:
        require(Size, self.weight, "Kernel", "scalar factor")

    @property
    def on_vectors(self) -> bool:  # type: ignore[override]  # a constant elsewhere
        return self.base.on_vectors

    @property
    def linear(self) -> bool:  # type: ignore[override]  # a constant elsewhere
        return self.base.linear

    def accept(self, X: Any, name: str = "X") -> Any:
        return self.base.accept(X, name)

    def bound(self, X: Any) -> Kernel:
        return Scaled(self.base.bound(X), self.weight)

    def _phi(self, X: Any) -> Any:
        phi = self.base._phi(X)
        return None if phi is None else phi * float(np.sqrt(self.weight))

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
        require(Size, self.value, "Kernel", "constant")

    def check(self, X: Any, name: str = "X") -> Any:
        return X

    accept = check

    def _phi(self, X: Any) -> Any:
        return linalg.full((linalg.count(X), 1), float(np.sqrt(self.value)), X)

    def _gram(self, X: Any, Y: Any) -> np.ndarray:
        return linalg.full((linalg.count(X), linalg.count(Y)), self.value, X)

    def _diag(self, X: Any) -> np.ndarray:
        return linalg.full(linalg.count(X), self.value, X)

    def _pairs(self, X: Any, Y: Any) -> np.ndarray:
        return linalg.full(linalg.count(X), self.value, X)


def as_term(value: Any) -> Kernel:
    """A kernel, or a number as a constant one."""
    if isinstance(value, Kernel):
        return value
    if isinstance(value, Real):
        return Constant(float(value))
    raise TypeError(f"Kernel: can only combine with a Kernel or a number, got {type(value).__name__}.")
