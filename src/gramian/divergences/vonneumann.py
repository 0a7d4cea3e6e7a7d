"""The von Neumann divergence."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gramian._arrays import namespace
from gramian.divergences.base import Divergence, SpectralDerivative, spectral


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

    def value(self, M: Any, M0: Any = None) -> float:
        """Divergence of M from M0; 0 log 0 = 0."""
        xp = namespace(M)
        values = xp.linalg.eigvalsh(M)
        if float(xp.min(values)) < -1e-10 * max(float(xp.max(values)), 1e-300):
            return np.inf
        safe = xp.where(values > 0, values, xp.ones_like(values))
        entropy = float(xp.sum(xp.where(values > 0, values * xp.log(safe), xp.zeros_like(values))))
        cross = float(xp.sum(M * self.grad(M0)))
        return entropy - cross - float(xp.linalg.trace(M)) + float(xp.linalg.trace(M0))

    def grad(self, M: Any) -> Any:
        """The matrix logarithm of M."""
        return spectral(M, namespace(M).log)

    def hessian(self, Theta: Any) -> Any:
        """Derivative of the matrix exponential."""
        exp = namespace(Theta).exp
        return SpectralDerivative.at(Theta, exp, exp)

    def conjugate(self, Theta: Any) -> tuple[float, Any]:
        """Tr exp Θ and exp Θ."""
        xp = namespace(Theta)
        values, vectors = xp.linalg.eigh(Theta)
        if float(values[-1]) > 600:
            return np.inf, None
        powers = xp.exp(values)
        return float(xp.sum(powers)), (vectors * powers) @ vectors.T
