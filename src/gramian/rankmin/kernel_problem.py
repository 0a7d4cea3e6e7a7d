"""Low-rank kernel learning as rank minimization, transductive and inductive in one form.

With coordinates Z of the kernel (ZZᵀ = K₀, ZᵀZ = diag(λ)) the learned matrix is K = Y S Yᵀ. Transductive, (7.7) of Jain
2009: Y = Z λ^{−1/2} has orthonormal columns, so ‖S‖ = ‖K‖ and S ranges over all K in the range of K₀. Inductive,
(7.11): Y = Z, so S is the L of the thesis and the kernel function is z(x)ᵀ S z(y). Either way K is a matrix on the
coordinates, Z M Zᵀ, and extends to new points.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from gramian.constraints import Constraints
from gramian.rankmin.base import RankProblem
from gramian.rankmin.measurements import LowRank, Measurements
from gramian.rankmin.oracles import SchattenBall
from gramian.solvers.rows import Rows, Stacked, rows_of

KEPT = 0.9
"""Share of the trace of K₀ that the rank keeps where none is asked for."""


@dataclass(frozen=True, eq=False)
class KernelProblem:
    """min rank(S) s.t. ⟨C_i, K⟩ ≤ b_i, ⟨K, K₀⟩ ≥ β ‖K₀‖², ‖S‖_F ≤ ρ, S ⪰ 0, everything divided by ρ.

    ρ is the norm of the S that gives K₀ back: ‖K₀‖ when transductive (the thesis takes ‖K₀‖ = 1), and ‖I‖ when
    inductive, where (7.9) leaves it open. With the norm √rank of a cut K₀ the pairs can hardly ever all be met.

    Parameters
    ----------
    Z : array (n, r)
        Orthogonal columns, the longest first.
    rows, bound
        The constraints A_i = ZᵀC_iZ and b_i, any that are linear in K.
    inductive : bool
    rank : int, optional
        Wanted rank; as many as keep 90% of the trace of K₀ when None.
    beta : float, optional
        β; the largest that can be met is sought when None.
    tol : float
        Violation allowed, relative to the least bound.
    """

    Z: np.ndarray
    rows: Rows | Stacked
    bound: np.ndarray
    inductive: bool
    rank: int | None = None
    beta: float | None = None
    tol: float = 0.05

    @classmethod
    def of(cls, Z: np.ndarray, side: Constraints, **settings: Any) -> "KernelProblem":
        """The problem of constraints on the points with coordinates Z."""
        return cls(Z, rows_of(side, Z), side.bound, **settings)

    @cached_property
    def spectrum(self) -> np.ndarray:
        """λ, the eigenvalues of K₀."""
        lam: np.ndarray = np.einsum("ij,ij->j", self.Z, self.Z)
        return lam

    @cached_property
    def target(self) -> int:
        """The rank to reach, at most what K₀ has."""
        if self.rank is not None:
            return min(self.rank, len(self.spectrum))
        traces = np.cumsum(self.spectrum)
        return int(np.searchsorted(traces, KEPT * traces[-1])) + 1 if len(traces) else 0

    @property
    def scaling(self) -> np.ndarray:
        """T with Y = Z T, diagonal."""
        return np.ones(self.Z.shape[1]) if self.inductive else self.spectrum**-0.5

    @property
    def radius(self) -> float:
        """The norm ρ of the ball."""
        return float(np.sqrt(len(self.spectrum)) if self.inductive else np.linalg.norm(self.spectrum))

    @property
    def unit(self) -> float:
        """The least size of a bound over ρ: violations are relative to it."""
        sizes = np.abs(self.bound[self.bound != 0])
        return float(sizes.min() if sizes.size else 1.0) / self.radius

    def start(self) -> np.ndarray:
        """The factor of the best approximation of K₀ of the wanted rank, in units of the ball."""
        prior = np.ones(self.target) if self.inductive else self.spectrum[: self.target]
        return np.eye(self.Z.shape[1], self.target) * np.sqrt(prior / self.radius)

    def share(self, F: np.ndarray) -> float:
        """⟨K, K₀⟩ / ‖K₀‖² of S = ρ FFᵀ."""
        return float(self._weights() @ np.einsum("ij,ij->i", F, F))

    def _weights(self) -> np.ndarray:
        """ρ (λT)² / ‖λ‖², the diagonal form that :meth:`share` is in FFᵀ."""
        lam = self.spectrum  # (r,)
        weights: np.ndarray = self.radius * (lam * self.scaling) ** 2 / (lam @ lam)
        return weights

    @cached_property
    def _measurements(self) -> Measurements:
        """−C_i on S, and ⟨K, K₀⟩ / ‖K₀‖² as the last row."""
        on_S = self.rows.mapped(np.diag(self.scaling))
        kinds = on_S.parts if isinstance(on_S, Stacked) else (on_S,)
        constraints = [A for rows in kinds for A in _negated(rows)]
        return Measurements([*constraints, sparse.diags_array(self._weights())])

    def at(self, beta: float) -> RankProblem:
        """The rank problem for one β; the constraint is void at β = 0."""
        b = np.append(-self.bound / self.radius, beta)  # ≥ in place of ≤, and all over ρ
        epsilon = max(self.tol * self.unit, np.finfo(float).tiny)
        return RankProblem(self._measurements, b, epsilon, SchattenBall())

    def lift(self, F: np.ndarray) -> np.ndarray:
        """The factor G of M = GGᵀ on the coordinates Z."""
        G: np.ndarray = self.scaling[:, None] * F * np.sqrt(self.radius)
        return G


def _negated(rows: Rows) -> list[LowRank]:
    """−A_i = −Σ_s w_s (p_s q_sᵀ + q_s p_sᵀ) / 2, where p ≠ q by squares of sums and differences."""
    shape = (*rows.weight.shape, rows.left.shape[1])
    left = rows.left.reshape(shape)  # (m, t, r)
    if rows.right is None:
        return [LowRank(p.T, -w) for p, w in zip(left, rows.weight)]
    right = rows.right.reshape(shape)
    vectors = np.concatenate([left + right, left - right], axis=1)
    signs = np.concatenate([-rows.weight, rows.weight], axis=1) / 4
    # p qᵀ + q pᵀ = ½ ((p + q)(p + q)ᵀ − (p − q)(p − q)ᵀ)
    return [LowRank(p.T, w) for p, w in zip(vectors, signs)]
