"""The divergence contract: a convex f on PSD matrices with its conjugate.

Every regularizer is written f(M) = φ(M) − ⟨Θ₀, M⟩ + c, with Θ₀ = ∇φ(M₀) for a Bregman divergence from a prior M₀ and
Θ₀ = −A₀ for a linear objective. One conjugate then serves every dual (Jain 2009, Lemma 1):

    min_M f(M) + ⟨A(λ), M⟩ = c − φ*(Θ₀ − A(λ)),   attained at M(λ) = ∇φ*(Θ₀ − A(λ)).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gramian._arrays import namespace
from gramian.persist import Stored


class Divergence(ABC, Stored):
    """A regularizer of the metric, on the array namespace of its input.

    Subclasses are frozen dataclasses and give ``conjugate(Theta) -> (φ*(Θ), ∇φ*(Θ))``, with value inf outside of the
    domain, ``grad(M) = ∇φ(M)`` and ``value(M, M0)``. A divergence that is a multiple of LogDet also gives
    ``as_logdet(M0) -> (prior, weight)``, which is what cyclic Bregman projections need.
    """

    uses_prior = True
    keeps_range = False
    """Whether the divergence is finite only for M within the range of M₀, so that a singular prior confines M to it."""

    @abstractmethod
    def value(self, M: np.ndarray, M0: Any = None) -> float:
        """f(M), the divergence of M from the prior M0."""

    @abstractmethod
    def grad(self, M: np.ndarray) -> np.ndarray:
        """∇φ(M)."""

    @abstractmethod
    def conjugate(self, Theta: np.ndarray) -> tuple[float, Any]:
        """φ*(Θ) and its gradient; (inf, None) outside of the domain."""

    @abstractmethod
    def hessian(self, Theta: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """H ↦ ∇²φ*(Θ)[H], the derivative of M = ∇φ*(Θ) in the direction H.

        It may have a method ``form(P, Q)``, about ⟨pqᵀ, ∇²φ*[pqᵀ]⟩ of each row, which makes solvers faster.
        """

    def grad_inverse(self, Theta: np.ndarray) -> np.ndarray:
        """M = ∇φ*(Θ), the inverse of ``grad``."""
        return self.conjugate(Theta)[1]

    def start(self, M0: np.ndarray) -> tuple[Any, float]:
        """Θ₀ and the constant c."""
        Theta = self.grad(M0)
        return Theta, self.conjugate(Theta)[0]

    def as_logdet(self, M0: np.ndarray) -> tuple[Any, float] | None:
        """(prior, weight) with f(M) = weight · D_ld(M, prior) + constant, None when there is none."""
        return None


@dataclass(frozen=True, eq=False)
class SpectralDerivative:
    """H ↦ U (Γ ∘ UᵀHU) Uᵀ, the derivative of a spectral function at U diag(θ) Uᵀ.

    Γ are its divided differences (Daleckii and Krein).
    """

    U: np.ndarray
    Gamma: np.ndarray

    @classmethod
    def at(cls, Theta: np.ndarray, function: Any, slope: Any) -> "SpectralDerivative":
        """Derivative at Θ of the spectral function of a scalar one with the given slope."""
        xp = namespace(Theta)
        values, U = xp.linalg.eigh((Theta + Theta.T) / 2)
        gaps = values[:, None] - values[None, :]
        rise = function(values)
        close = xp.abs(gaps) <= 1e-7 * (1 + xp.abs(values[:, None]))
        safe = xp.where(close, xp.ones_like(gaps), gaps)
        middle = slope((values[:, None] + values[None, :]) / 2)
        return cls(U, xp.where(close, middle, (rise[:, None] - rise[None, :]) / safe))

    def __call__(self, H: np.ndarray) -> np.ndarray:
        return self.U @ (self.Gamma * (self.U.T @ H @ self.U)) @ self.U.T

    def form(self, P: np.ndarray, Q: np.ndarray) -> np.ndarray:
        """About ⟨pqᵀ, ∇²φ*[pqᵀ]⟩ for each row, exact where p = q."""
        left = (P @ self.U) ** 2
        right = left if Q is P else (Q @ self.U) ** 2
        return namespace(left).sum((left @ self.Gamma) * right, axis=1)


@dataclass(frozen=True, eq=False)
class Congruence:
    """H ↦ M H M / weight, the derivative of (−Θ)⁻¹."""

    M: np.ndarray
    weight: float = 1.0

    def __call__(self, H: np.ndarray) -> np.ndarray:
        return self.M @ H @ self.M / self.weight

    def form(self, P: np.ndarray, Q: np.ndarray) -> np.ndarray:
        """About ⟨pqᵀ, ∇²φ*[pqᵀ]⟩ for each row, exact where p = q."""
        xp = namespace(P)
        left = xp.sum((P @ self.M) * P, axis=1)
        right = left if Q is P else xp.sum((Q @ self.M) * Q, axis=1)
        return left * right / self.weight


def spectral(M: np.ndarray, function: Any) -> np.ndarray:
    """Apply a scalar function to the eigenvalues of a symmetric matrix."""
    xp = namespace(M)
    values, vectors = xp.linalg.eigh(M)
    return (vectors * function(values)) @ vectors.T
