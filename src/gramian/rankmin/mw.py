"""RMP-MW: multiplicative weights on the constraints (Jain 2009, Algorithm 2 and Theorem 10)."""

from dataclasses import dataclass

import numpy as np

from gramian.rankmin.base import RankProblem
from gramian.rankmin.oracles import Atom


def mult_update(p: np.ndarray, penalty: np.ndarray, rho: float, delta: float) -> np.ndarray:
    """MultUpdate of Algorithm 2: a satisfied constraint loses weight, a violated one gains.

    The display in Jain 2009, §2.3, has the wrong sign in its second case; this is the one of Algorithm 2.
    """
    scaled = penalty / rho
    p = p * np.where(scaled >= 0, (1 - delta) ** scaled, (1 + delta) ** -scaled)
    return p / p.sum()


@dataclass(frozen=True)
class MultiplicativeWeights:
    """The rule of RMP-MW.

    With penalties M ∈ [−ρ, ρ] and shares γ_t = δ_t / ρ_t in the average, every expert k satisfies
    Σ_t γ_t p^t·M^t ≤ Σ_t γ_t M^t_k + Σ_t δ_t γ_t |M^t_k| + ln m, for all δ_t ≤ 1/2 and ρ_t ≥ max |M^t|. With
    constant ρ and δ = min(ε/4ρ, 1/2) and T = 16 ρ² ln m / ε² this is Jain 2009, Theorem 1. Algorithm 2 prints
    ρ = max M, which bounds the penalties from one side only; here ρ_t = max |M|.

    Parameters
    ----------
    delta : float or None
        δ_t; None: min(1/2, √(ln m / t)), which needs no horizon.
    rho : float or None
        ρ_t; None: max_i |M_i| at each step.
    """

    delta: float | None = None
    rho: float | None = None

    def update(self, p: np.ndarray, penalty: np.ndarray, atom: Atom, t: int) -> tuple[np.ndarray, float]:
        """One MultUpdate, and the share δ/ρ of this answer."""
        delta = min(0.5, np.sqrt(np.log(max(len(p), 2)) / t)) if self.delta is None else self.delta
        rho = max(np.abs(penalty).max(), np.finfo(float).tiny) if self.rho is None else self.rho
        return mult_update(p, penalty, rho, delta), delta / rho


def theory(problem: RankProblem) -> tuple[MultiplicativeWeights, int]:
    """The rule and the number of rounds T of Theorem 10, with ρ = max_i (D ‖A_i‖ + |b_i|)."""
    D, eps = problem.oracle.reach(problem.A.n), problem.epsilon
    rho = float((D * problem.A.norms + np.abs(problem.b)).max())
    rounds = int(np.ceil(16 * rho**2 * np.log(max(len(problem.b), 2)) / eps**2))
    return MultiplicativeWeights(min(eps / (4 * rho), 0.5), rho), rounds
