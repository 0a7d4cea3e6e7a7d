"""Sums, products and multiples of kernels, which are kernels again."""

import operator
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import reduce
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse

from gramian import linalg
from gramian._arrays import namespace
from gramian._settings import Count, Size, Sizes, checked, require
from gramian.kernels.base import Kernel
from gramian.kernels.basic import Gaussian, Polynomial


@dataclass(frozen=True)
class Combination(Kernel):
    """Kernels on one kind of input taken together."""

    parts: tuple[Any, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", tuple(self.parts))

    @property
    def on_vectors(self) -> bool:  # type: ignore[override]  # a constant elsewhere
        return all(kernel.on_vectors for kernel in self.parts)

    def accept(self, X: Any, name: str = "X") -> Any:
        for kernel in self.parts:
            X = kernel.accept(X, name) if kernel.on_vectors == self.on_vectors else kernel.check(X, name)
        return X

    def bound(self, X: Any) -> Kernel:
        return type(self)(tuple(kernel.bound(X) for kernel in self.parts))


class Sum(Combination):
    """k(x, y) = Σ_j k_j(x, y)."""

    def _phi(self, X: Any) -> Any:
        """Vectors φ_j side by side, where every part has them."""
        columns = [kernel._phi(X) for kernel in self.parts]
        if any(phi is None for phi in columns):
            return None
        if any(sparse.issparse(phi) for phi in columns):
            return sparse.csr_array(sparse.hstack(columns))
        return namespace(columns[0]).concat(columns, axis=1)

    def _gram(self, X: Any, Y: Any) -> np.ndarray:
        total = self.parts[0]._gram(X, Y)
        for kernel in self.parts[1:]:
            total = total + kernel._gram(X, Y)
        return total

    def _diag(self, X: Any) -> np.ndarray:
        return sum(kernel._diag(X) for kernel in self.parts)

    def _pairs(self, X: Any, Y: Any) -> np.ndarray:
        return sum(kernel._pairs(X, Y) for kernel in self.parts)


class Product(Combination):
    """k(x, y) = Π_j k_j(x, y)."""

    def _gram(self, X: Any, Y: Any) -> np.ndarray:
        total = self.parts[0]._gram(X, Y)
        for kernel in self.parts[1:]:
            total = total * kernel._gram(X, Y)
        return total

    def _diag(self, X: Any) -> np.ndarray:
        return reduce(operator.mul, (kernel._diag(X) for kernel in self.parts))

    def _pairs(self, X: Any, Y: Any) -> np.ndarray:
        return reduce(operator.mul, (kernel._pairs(X, Y) for kernel in self.parts))


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


WIDTHS = (0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 25, 50, 75, 100, 250, 500, 750, 1000)
"""The 21 widths of Chatpatanasiri et al. (2010), §5.1."""


@checked
def scaled_gaussians(n_features: Count, widths: Sizes = WIDTHS) -> list[Gaussian]:
    """exp(−‖x − y‖² / (2 D σ²)) for each width σ and D = ``n_features`` (Chatpatanasiri et al. 2010, §5.1)."""
    return [Gaussian(float(width) * float(np.sqrt(n_features))) for width in widths]


@checked
def polynomials(n_features: Count, degrees: Sequence[Count] = (1, 2, 3, 4, 5)) -> list[Polynomial]:
    """(xᵀy / D)^p for each degree p and D = ``n_features``; the paper names the degrees only."""
    return [Polynomial(degree, offset=0.0, scale=1.0 / n_features) for degree in degrees]


@dataclass(frozen=True, eq=False)
class Weighted(Combination):
    """k(x, y) = Σ_j weights_j k_j(x, y), weights ≥ 0; kernels of weight zero are not evaluated.

    ``alignment`` is the alignment (9) that the weights reach on the points they were found on.
    """

    weights: np.ndarray
    _: KW_ONLY
    alignment: float = np.nan

    def __post_init__(self) -> None:
        super().__post_init__()
        w = np.array(self.weights, dtype=np.float64)
        if w.shape != (len(self.parts),) or not np.isfinite(w).all() or (w < 0).any():
            raise ValueError(f"Weighted: weights must be {len(self.parts)} finite numbers ≥ 0, got {self.weights!r}.")
        w.flags.writeable = False
        object.__setattr__(self, "weights", w)

    def bound(self, X: Any) -> Kernel:
        return replace(self, parts=tuple(kernel.bound(X) for kernel in self.parts))

    def _terms(self) -> list[tuple[float, Kernel]]:
        terms = [(float(w), kernel) for w, kernel in zip(self.weights, self.parts) if w > 0]
        return terms or [(0.0, self.parts[0])]

    def _gram(self, X: Any, Y: Any) -> np.ndarray:
        total: Any = 0.0
        for weight, kernel in self._terms():
            K = kernel._gram(X, Y)
            K *= weight
            if isinstance(total, float):
                total = K
            else:
                total += K
        return total

    def _diag(self, X: Any) -> np.ndarray:
        return reduce(operator.add, (weight * kernel._diag(X) for weight, kernel in self._terms()))

    def _pairs(self, X: Any, Y: Any) -> np.ndarray:
        return reduce(operator.add, (weight * kernel._pairs(X, Y) for weight, kernel in self._terms()))
