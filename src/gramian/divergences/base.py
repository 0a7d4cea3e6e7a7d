"""The divergence contract: a convex f on PSD matrices with its conjugate.

Every regularizer is written f(M) = φ(M) − ⟨Θ₀, M⟩ + c, with Θ₀ = ∇φ(M₀) for a Bregman divergence from a prior M₀ and
Θ₀ = −A₀ for a linear objective. One conjugate then serves every dual (Jain 2009, Lemma 1):

    min_M f(M) + ⟨A(λ), M⟩ = c − φ*(Θ₀ − A(λ)),   attained at M(λ) = ∇φ*(Θ₀ − A(λ)).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from gramian._array import namespace
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
    def value(self, M: Any, M0: Any = None) -> float:
        """f(M), the divergence of M from the prior M0."""

    @abstractmethod
    def grad(self, M: Any) -> Any:
        """∇φ(M)."""

    @abstractmethod
    def conjugate(self, Theta: Any) -> tuple[float, Any]:
        """φ*(Θ) and its gradient; (inf, None) outside of the domain."""

    @abstractmethod
    def hessian(self, Theta: Any) -> Callable[[Any], Any]:
        """H ↦ ∇²φ*(Θ)[H], the derivative of M = ∇φ*(Θ) in the direction H."""

    def grad_inverse(self, Theta: Any) -> Any:
        """M = ∇φ*(Θ), the inverse of ``grad``."""
        return self.conjugate(Theta)[1]

    def start(self, M0: Any) -> tuple[Any, float]:
        """Θ₀ and the constant c."""
        Theta = self.grad(M0)
        return Theta, self.conjugate(Theta)[0]

    def as_logdet(self, M0: Any) -> tuple[Any, float] | None:
        """(prior, weight) with f(M) = weight · D_ld(M, prior) + constant, None when there is none."""
        return None


def spectral_derivative(Theta: Any, function: Any, slope: Any) -> Callable[[Any], Any]:
    """Derivative H ↦ U (Γ ∘ UᵀHU) Uᵀ of a spectral function, Γ its divided differences (Daleckii and Krein)."""
    xp = namespace(Theta)
    values, U = xp.linalg.eigh((Theta + Theta.T) / 2)
    near, rise = values[:, None] - values[None, :], function(values)
    close = xp.abs(near) <= 1e-7 * (1 + xp.abs(values[:, None]))
    safe = xp.where(close, xp.ones_like(near), near)
    middle = slope((values[:, None] + values[None, :]) / 2)
    Gamma = xp.where(close, middle, (rise[:, None] - rise[None, :]) / safe)
    return lambda H: U @ (Gamma * (U.T @ H @ U)) @ U.T


def spectral(M: Any, function: Any) -> Any:
    """Apply a scalar function to the eigenvalues of a symmetric matrix."""
    xp = namespace(M)
    values, vectors = xp.linalg.eigh(M)
    return (vectors * function(values)) @ vectors.T
