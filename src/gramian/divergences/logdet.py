"""The LogDet (Burg, Stein) divergence."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gramian._arrays import cholesky_or_none, inverse_or_none, namespace
from gramian.divergences.base import Congruence, Divergence


@dataclass(frozen=True)
class LogDet(Divergence):
    """A divergence that keeps a matrix positive definite and does not depend on units.

    D(M, M₀) = Tr(M M₀⁻¹) − log det(M M₀⁻¹) − d: φ(M) = −log det M (Jain 2009, §3.1.1, ITML).

    M(λ) = (M₀⁻¹ + A(λ))⁻¹ stays positive definite by itself. From a singular prior the divergence is finite only for M
    of the same range, and the problem is solved there (Kulis et al. 2006).

    See Also
    --------
    gramian.VonNeumann : Also for matrices below full rank.
    gramian.Frobenius : Plain squares.
    gramian.ITML : The learner that it makes.

    Examples
    --------
    >>> import numpy as np, gramian as gm
    >>> round(gm.LogDet().value(2 * np.eye(2), np.eye(2)), 6)
    0.613706
    """

    keeps_range = True

    def value(self, M: np.ndarray, M0: Any = None) -> float:
        """Divergence of M from M0."""
        xp = namespace(M)
        R = xp.linalg.solve(M0, M)
        sign, logdet = xp.linalg.slogdet(M)
        if float(sign) <= 0:
            return np.inf
        return float(xp.linalg.trace(R)) - float(logdet) + float(xp.linalg.slogdet(M0)[1]) - M.shape[0]

    def grad(self, M: np.ndarray) -> np.ndarray:
        """−M⁻¹."""
        return -namespace(M).linalg.inv(M)

    def conjugate(self, Theta: np.ndarray) -> tuple[float, Any]:
        """−log det(−Θ) − d and (−Θ)⁻¹; a barrier."""
        return logdet_conjugate(Theta)

    def hessian(self, Theta: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """H ↦ M H M with M = (−Θ)⁻¹."""
        return Congruence(namespace(Theta).linalg.inv(-Theta))

    def as_logdet(self, M0: np.ndarray) -> tuple[np.ndarray, float]:
        """Itself."""
        return M0, 1.0

    @staticmethod
    def project_rank_one(M: np.ndarray, v: np.ndarray, b: float) -> tuple[float, np.ndarray]:
        """Bregman projection of M onto vᵀMv = b: (a, M') with M'⁻¹ = M⁻¹ + a v vᵀ, a = 1/b − 1/p."""
        Mv = M @ v
        p = float(v @ Mv)
        a = 1 / b - 1 / p
        return a, M - (a / (1 + a * p)) * (Mv[:, None] * Mv[None, :])


def logdet_conjugate(Theta: np.ndarray) -> tuple[float, Any]:
    """Value −log det(−Θ) − d and gradient (−Θ)⁻¹, inf outside of the negative definite cone."""
    xp = namespace(Theta)
    L, M = cholesky_or_none(-Theta), inverse_or_none(-Theta)
    if L is None or M is None:
        return np.inf, None
    value = -2 * float(xp.sum(xp.log(xp.linalg.diagonal(L)))) - Theta.shape[0]
    return value, (M + M.T) / 2
