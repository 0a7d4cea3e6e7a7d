"""The squared Frobenius divergence on the PSD cone."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gramian._arrays import namespace
from gramian.divergences.base import Divergence, SpectralDerivative


@dataclass(frozen=True)
class Frobenius(Divergence):
    """Half the squared difference of two matrices, entry by entry.

    D(M, M₀) = ½ ‖M − M₀‖²_F on M ⪰ 0 (Jain 2009, (3.26)–(3.27)).

    M(λ) = [M₀ − A(λ)]₊. With M₀ = 0 and margin constraints this is batch POLA.

    See Also
    --------
    gramian.LogDet : Does not depend on units.
    gramian.VonNeumann : Multiplies eigenvalues.

    Examples
    --------
    >>> import numpy as np, gramian as gm
    >>> gm.Frobenius().value(2 * np.eye(2), np.eye(2))
    1.0
    """

    def value(self, M: np.ndarray, M0: Any = None) -> float:
        """Half the squared Frobenius distance of M to M0."""
        return 0.5 * float(namespace(M).sum((M - M0) ** 2))

    def grad(self, M: np.ndarray) -> np.ndarray:
        """M itself."""
        return M

    def conjugate(self, Theta: np.ndarray) -> tuple[float, Any]:
        """½ ‖[Θ]₊‖² and [Θ]₊."""
        return psd_conjugate(Theta)

    def hessian(self, Theta: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """Generalized derivative of [Θ]₊."""
        return psd_hessian(Theta)


def psd_hessian(Theta: np.ndarray) -> Any:
    """Generalized derivative of the projection [Θ]₊."""
    xp = namespace(Theta)
    return SpectralDerivative.at(
        Theta, lambda t: xp.where(t > 0, t, xp.zeros_like(t)), lambda t: xp.astype(t > 0, Theta.dtype)
    )


def psd_conjugate(Theta: np.ndarray) -> tuple[float, np.ndarray]:
    """½ ‖[Θ]₊‖²_F and the projection [Θ]₊ onto the PSD cone."""
    xp = namespace(Theta)
    values, vectors = xp.linalg.eigh((Theta + Theta.T) / 2)
    values = xp.where(values > 0, values, xp.zeros_like(values))
    return 0.5 * float(xp.sum(values**2)), (vectors * values) @ vectors.T
