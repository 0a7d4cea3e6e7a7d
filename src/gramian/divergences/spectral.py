"""A divergence from any convex function of one variable."""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any

import numpy as np

from gramian._arrays import namespace
from gramian.divergences.base import Divergence, SpectralDerivative, spectral

TINY = 1e-300
"""Where f stands for its limit at 0."""


@dataclass(frozen=True)
class Spectral(Divergence):
    """A divergence of your own: any convex function of the eigenvalues.

    φ(M) = Σ_i f(λ_i(M)) on M ⪰ 0, for a convex f with derivative f′ (Jain 2009, Theorem 4).

    The divergence is D(M, M₀) = φ(M) − φ(M₀) − ⟨∇φ(M₀), M − M₀⟩, or φ(M) itself with ``relative=False``.
    f(x) = −log x is LogDet, x log x − x is von Neumann, x²/2 is Frobenius. M(λ) has the eigenvalues (f′)⁻¹(θ_i) for
    eigenvalues θ_i of Θ(λ), or 0 where f′ stays above θ_i; the inverse is found by bisection unless it is given.

    Parameters
    ----------
    f, derivative : callable
        f and f′ on arrays of positive numbers; f′ must not fall.
    inverse : callable, optional
        (f′)⁻¹ on arrays; inf where f′ never rises so far.
    relative : bool
        The Bregman divergence from the prior (True), or Σ f(λ_i) without a prior (False).

    See Also
    --------
    gramian.LogDet : −log.
    gramian.VonNeumann : x log x.
    gramian.Frobenius : Squares.

    Examples
    --------
    >>> import numpy as np, gramian as gm
    >>> cube = gm.Spectral(lambda x: x**3 / 3, lambda x: x**2)
    >>> round(cube.value(2 * np.eye(2), np.eye(2)), 6)
    2.666667
    """

    f: Callable[[np.ndarray], np.ndarray]
    derivative: Callable[[np.ndarray], np.ndarray]
    _: KW_ONLY
    inverse: Callable[[np.ndarray], np.ndarray] | None = None
    relative: bool = True

    @property
    def uses_prior(self) -> bool:  # type: ignore[override]  # a constant elsewhere
        """Whether the divergence is from a prior."""
        return self.relative

    def value(self, M: np.ndarray, M0: Any = None) -> float:
        """D(M, M0), or φ(M) without a prior."""
        if not self.relative:
            return self._phi(M)
        return self._phi(M) - self._phi(M0) - float(np.sum(self.grad(M0) * (M - M0)))

    def _phi(self, M: np.ndarray) -> float:
        values = np.linalg.eigvalsh(M)
        if values[0] < -1e-10 * max(values[-1], TINY):
            return np.inf
        return float(np.sum(self.f(np.maximum(values, TINY))))

    def grad(self, M: np.ndarray) -> np.ndarray:
        """f′ of the eigenvalues of M."""
        return spectral(M, lambda values: self.derivative(np.maximum(values, TINY)))

    def conjugate(self, Theta: np.ndarray) -> tuple[float, Any]:
        """Σ_i max_{x ≥ 0} θ_i x − f(x), and the matrix of the maximizers."""
        theta, U = np.linalg.eigh((Theta + Theta.T) / 2)
        x = self._maximizer(theta)
        if not np.isfinite(x).all():
            return np.inf, None
        return float(np.sum(theta * x - self.f(np.maximum(x, TINY)))), (U * x) @ U.T

    def hessian(self, Theta: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """Derivative of the matrix of maximizers, with slopes by differences."""
        return SpectralDerivative.at(Theta, self._maximizer, partial(slope_of, self._maximizer))

    def start(self, M0: np.ndarray) -> tuple[np.ndarray, float]:
        """Θ₀ and the constant c; both 0 without a prior."""
        return super().start(M0) if self.relative else (np.zeros_like(M0), 0.0)

    def _maximizer(self, theta: np.ndarray) -> np.ndarray:
        """x(θ) = argmax_{x ≥ 0} θx − f(x); inf where there is none."""
        if self.inverse is None:
            return monotone_inverse(self.derivative, theta)
        return np.where(self.derivative(np.full_like(theta, TINY)) >= theta, 0.0, self.inverse(theta))


def monotone_inverse(derivative: Callable[[np.ndarray], np.ndarray], theta: np.ndarray) -> np.ndarray:
    """The least x > 0 with f′(x) ≥ θ, by bisection of log x; 0 where all have it, inf where none."""
    low, high = np.full_like(theta, TINY), np.full_like(theta, 1 / TINY)
    for _ in range(70):  # 2⁻⁷⁰ of 1,382, the width of log x: rounding
        middle = np.exp((np.log(low) + np.log(high)) / 2)
        with np.errstate(over="ignore"):
            enough = derivative(middle) >= theta
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    x = np.where(high <= 2 * TINY, 0.0, high)
    return np.where(x >= 0.5 / TINY, np.inf, x)


def slope_of(function: Callable[[np.ndarray], np.ndarray], x: np.ndarray) -> np.ndarray:
    """Derivative by central differences; one-sided at the end of the domain, where the function becomes inf."""
    h = 1e-6 * np.maximum(np.abs(x), 1e-3 * np.abs(x).max(initial=0.0)) + TINY
    value, above, below = function(x), function(x + h), function(x - h)
    with np.errstate(invalid="ignore"):
        return np.where(np.isfinite(above), (above - below) / (2 * h), (value - below) / h)


@dataclass(frozen=True)
class VonNeumann(Divergence):
    """A divergence that multiplies eigenvalues in place of adding to them.

    D(M, M₀) = Tr(M log M − M log M₀ − M + M₀): φ(M) = Tr(M log M − M) (Jain 2009, (3.13)–(3.25)).

    M(λ) = exp(log M₀ − A(λ)) (3.24). The gradient printed after (3.25) has its first sign wrong.

    See Also
    --------
    gramian.LogDet : Does not depend on units.
    gramian.Spectral : Any function of the eigenvalues.

    Examples
    --------
    >>> import numpy as np, gramian as gm
    >>> round(gm.VonNeumann().value(2 * np.eye(2), np.eye(2)), 6)
    0.772589
    """

    keeps_range = True

    def value(self, M: np.ndarray, M0: Any = None) -> float:
        """Divergence of M from M0; 0 log 0 = 0."""
        xp = namespace(M)
        values = xp.linalg.eigvalsh(M)
        if float(xp.min(values)) < -1e-10 * max(float(xp.max(values)), 1e-300):
            return np.inf
        safe = xp.where(values > 0, values, xp.ones_like(values))
        entropy = float(xp.sum(xp.where(values > 0, values * xp.log(safe), xp.zeros_like(values))))
        cross = float(xp.sum(M * self.grad(M0)))
        return entropy - cross - float(xp.linalg.trace(M)) + float(xp.linalg.trace(M0))

    def grad(self, M: np.ndarray) -> np.ndarray:
        """The matrix logarithm of M."""
        return spectral(M, namespace(M).log)

    def hessian(self, Theta: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """Derivative of the matrix exponential."""
        exp = namespace(Theta).exp
        return SpectralDerivative.at(Theta, exp, exp)

    def conjugate(self, Theta: np.ndarray) -> tuple[float, Any]:
        """Tr exp Θ and exp Θ."""
        xp = namespace(Theta)
        values, vectors = xp.linalg.eigh(Theta)
        if float(values[-1]) > 600:
            return np.inf, None
        powers = xp.exp(values)
        return float(xp.sum(powers)), (vectors * powers) @ vectors.T
