"""Linear objectives with a regularizer: semi-definite programs such as LMNN and MMC (Jain 2009, §3.3.1.3)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from gramian import _validate, linalg
from gramian._arrays import asarray, namespace
from gramian._settings import Positive, check
from gramian.divergences.base import Congruence, Divergence, SpectralDerivative
from gramian.divergences.frobenius import psd_conjugate, psd_hessian
from gramian.divergences.logdet import logdet_conjugate


@dataclass(frozen=True, eq=False)
class _Linear(Divergence):
    """⟨A₀, M⟩ + γ · regularizer.

    Parameters
    ----------
    linear : array (d, d), or sparse (n, n)
        The symmetric matrix A₀; a sparse matrix is C₀ over the points and stands for A₀ = XᵀC₀X, as in the thesis.
    gamma : float, > 0
        Weight of the regularizer.
    """

    linear: np.ndarray
    gamma: Positive = 1.0

    uses_prior = False

    def __post_init__(self) -> None:
        owner = type(self).__name__
        check(self)
        if not sparse.issparse(self.linear) and not hasattr(self.linear, "__array_namespace__"):
            object.__setattr__(self, "linear", _validate.array(self.linear, owner, "linear"))
        shape = self.linear.shape
        if len(shape) != 2 or shape[0] != shape[1]:
            raise ValueError(f"{owner}: linear must be a square matrix, got shape {tuple(shape)}.")
        if isinstance(self.linear, np.ndarray) and not np.isfinite(self.linear).all():
            raise ValueError(f"{owner}: linear contains NaN or infinity.")

    def at(self, X: np.ndarray, lower: Callable[[np.ndarray], np.ndarray] | None = None) -> "_Linear":
        """This objective for the points X: A₀ = XᵀC₀X when ``linear`` is sparse, checked otherwise.

        ``lower`` brings a matrix on the features to the coordinates X.
        """
        owner, A = type(self).__name__, self.linear
        if sparse.issparse(A):
            if A.shape[0] != X.shape[0]:
                raise ValueError(f"{owner}: sparse linear must be ({X.shape[0]},) * 2 over the points, got {A.shape}.")
            A = X.T @ linalg.product(A, X)
        elif lower is not None:
            A = lower(A)
        if A.shape[0] != X.shape[1]:
            raise ValueError(f"{owner}: linear must have shape ({X.shape[1]},) * 2, got {tuple(A.shape)}.")
        return type(self)((A + A.T) / 2, self.gamma)

    def _inner(self, M: np.ndarray) -> float:
        return float(namespace(M).sum(asarray(self.linear, M) * M))

    def start(self, M0: np.ndarray) -> tuple[np.ndarray, float]:
        """Θ₀ = −A₀, no constant."""
        return -asarray(self.linear, M0), 0.0


class LinearFrobenius(_Linear):
    """A linear cost on a matrix with a penalty on its size.

    ⟨A₀, M⟩ + γ/2 ‖M‖²_F on M ⪰ 0 (Jain 2009, (3.29)); M(λ) = [−(A₀ + A(λ))]₊ / γ.

    Parameters
    ----------
    linear : array (d, d), or sparse (n, n)
        A₀, or C₀ over the points with A₀ = XᵀC₀X.
    gamma : float, > 0
        Weight γ of the second term.

    See Also
    --------
    gramian.LinearLogDet : With a barrier.
    gramian.Frobenius : A distance from a prior.

    Examples
    --------
    >>> import numpy as np, gramian as gm
    >>> gm.LinearFrobenius(np.eye(2), gamma=2.0).value(np.eye(2))
    4.0
    """

    def value(self, M: np.ndarray, M0: Any = None) -> float:
        """The objective; M0 is not used."""
        return self._inner(M) + 0.5 * self.gamma * float(namespace(M).sum(M**2))

    def grad(self, M: np.ndarray) -> np.ndarray:
        """Gradient γ M of the regularizer."""
        return self.gamma * M

    def conjugate(self, Theta: np.ndarray) -> tuple[float, Any]:
        """‖[Θ]₊‖² / 2γ and [Θ]₊ / γ."""
        value, M = psd_conjugate(Theta)
        return value / self.gamma, M / self.gamma

    def hessian(self, Theta: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """Generalized derivative of [Θ]₊ / γ."""
        derivative = psd_hessian(Theta)
        return SpectralDerivative(derivative.U, derivative.Gamma / self.gamma)


class LinearLogDet(_Linear):
    """A linear cost on a matrix with a barrier that keeps it positive definite.

    ⟨A₀, M⟩ − γ log det M (Jain 2009, (3.32)); M(λ) = γ (A₀ + A(λ))⁻¹.

    RCA is A₀ = 0 with the one chunklet constraint (3.4).

    Parameters
    ----------
    linear : array (d, d), or sparse (n, n)
        A₀, or C₀ over the points with A₀ = XᵀC₀X.
    gamma : float, > 0
        Weight γ of the second term.

    See Also
    --------
    gramian.LinearFrobenius : With squares.
    gramian.LogDet : A divergence from a prior.

    Examples
    --------
    >>> import numpy as np, gramian as gm
    >>> gm.LinearLogDet(np.eye(2), gamma=2.0).value(np.eye(2))
    2.0
    """

    def value(self, M: np.ndarray, M0: Any = None) -> float:
        """The objective; M0 is not used."""
        sign, logdet = namespace(M).linalg.slogdet(M)
        return self._inner(M) - self.gamma * float(logdet) if float(sign) > 0 else np.inf

    def grad(self, M: np.ndarray) -> np.ndarray:
        """Gradient −γ M⁻¹ of the regularizer."""
        return -self.gamma * namespace(M).linalg.inv(M)

    def conjugate(self, Theta: np.ndarray) -> tuple[float, Any]:
        """−γ log det(−Θ/γ) − γ d and γ (−Θ)⁻¹."""
        value, M = logdet_conjugate(Theta / self.gamma)
        return self.gamma * value, M

    def hessian(self, Theta: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """H ↦ M H M / γ with M = γ (−Θ)⁻¹."""
        return Congruence(namespace(Theta).linalg.inv(-Theta / self.gamma), self.gamma)

    def as_logdet(self, M0: np.ndarray) -> tuple[np.ndarray, float] | None:
        """γ · D_ld(M, γ A₀⁻¹) + constant, when A₀ is positive definite."""
        A = asarray(self.linear, M0)
        return None if logdet_conjugate(-A)[1] is None else (self.gamma * namespace(A).linalg.inv(A), self.gamma)
