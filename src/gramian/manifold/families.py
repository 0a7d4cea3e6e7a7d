"""Sets 𝓜 of kernels that follow the data, for geometry-aware learning (Jain 2009, (6.3), (6.5), (6.6)).

On the points each kernel is M(θ) = Z C(θ) Zᵀ with fixed coordinates Z (n, m), and so is the learned one, K = Z B Zᵀ.
The divergence is then D_ld(B, C(θ)) in m dimensions, and a family says only: Z, where θ starts, C(θ), and which
θ is nearest to a given B (step B of Algorithm 1 there).
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from scipy.optimize import minimize, minimize_scalar

from gramian import linalg


class Family(Protocol):
    """What :class:`~gramian.GeometryAwareKernel` needs of a set 𝓜."""

    Z: np.ndarray
    start: np.ndarray

    def core(self, theta: np.ndarray) -> np.ndarray:
        """C(θ), (m, m), positive definite."""

    def nearest(self, B: np.ndarray, theta: np.ndarray) -> np.ndarray:
        """argmin_θ D_ld(B, C(θ)), from ``theta``."""


def decreasing(values: np.ndarray) -> np.ndarray:
    """Isotonic regression: the nonincreasing vector nearest to ``values`` (pool adjacent violators)."""
    sums: list[float] = []
    sizes: list[int] = []
    for value in values:
        sums.append(float(value))
        sizes.append(1)
        while len(sums) > 1 and sums[-1] / sizes[-1] > sums[-2] / sizes[-2]:
            sums[-2:] = [sums[-2] + sums[-1]]
            sizes[-2:] = [sizes[-2] + sizes[-1]]
    return np.repeat(np.divide(sums, sizes), sizes)


@dataclass(frozen=True, eq=False)
class Spectral:
    """{Σ α_i v_i v_iᵀ : α₁ ≥ … ≥ α_r ≥ 0} on eigenvectors V of a graph Laplacian (6.3); θ = α."""

    Z: np.ndarray
    start: np.ndarray
    keep_volume: bool = False

    def core(self, theta: np.ndarray) -> np.ndarray:
        """C = diag(α)."""
        return np.diag(theta)

    def nearest(self, B: np.ndarray, theta: np.ndarray) -> np.ndarray:
        """Min Σ B_ii/α_i + log α_i over the cone: pooling B_ii = v_iᵀKv_i solves it, as for squares.

        The cyclic projections of FindAlpha in the thesis approach the same point. Under the further constraint
        Π α_i = const. the multiplier of the logarithms only rescales that point.
        """
        alpha = decreasing(np.diag(B))
        alpha = np.maximum(alpha, 1e-12 * alpha[0])
        return alpha * np.exp(np.mean(np.log(self.start) - np.log(alpha))) if self.keep_volume else alpha


@dataclass(frozen=True, eq=False)
class Inductive:
    """{(S⁻¹ + T)⁻¹ : T = Σ θ_i v_i v_iᵀ + θ_{r+1}(I − VVᵀ), 0 ≤ θ₁ ≤ … ≤ θ_{r+1}}, S = ZZᵀ, for new points too (6.5).

    The thesis prints θ₁ ≥ … ≥ θ_r, but names (6.3) as the limit S⁻¹ → 0, where α_i = 1/θ_i must fall: the order
    is reversed here. It then has to go on: without θ_{r+1}, one number for all vectors rougher than the r-th, these
    alone would be free, and a kernel S of high rank would follow them instead of the graph. ``W`` = VᵀZ (r, m).
    """

    Z: np.ndarray
    W: np.ndarray
    start: np.ndarray

    def core(self, theta: np.ndarray) -> np.ndarray:
        """C = (I + ZᵀTZ)⁻¹, so that ZCZᵀ = S − S(I + TS)⁻¹TS."""
        T = (self.W.T * theta[:-1]) @ self.W + theta[-1] * self.rough
        return linalg.symmetrize(np.linalg.inv(np.eye(len(T)) + T))

    @cached_property
    def rough(self) -> np.ndarray:
        """Zᵀ(I − VVᵀ)Z."""
        return self.Z.T @ self.Z - self.W.T @ self.W

    def along(self, B: np.ndarray) -> np.ndarray:
        """v_iᵀKv_i for K = ZBZᵀ, and tr(K − VVᵀK): the slopes of ⟨B, ZᵀTZ⟩ in θ."""
        return np.append(np.sum((self.W @ B) * self.W, axis=1), np.sum(B * self.rough))

    def nearest(self, B: np.ndarray, theta: np.ndarray) -> np.ndarray:
        """Min ⟨B, ZᵀTZ⟩ − log det(I + ZᵀTZ), convex (Lemma 9), in steps θ_i − θ_{i−1} ≥ 0."""
        target = self.along(B)

        def fun(steps: np.ndarray) -> tuple[float, np.ndarray]:
            t = np.cumsum(steps)
            C = self.core(t)
            slope = target - self.along(C)
            return float(target @ t + np.linalg.slogdet(C)[1]), np.cumsum(slope[::-1])[::-1]

        steps = np.diff(theta, prepend=0.0)
        found = minimize(fun, steps, jac=True, method="L-BFGS-B", bounds=[(0, None)] * len(steps))
        return np.cumsum(found.x) if found.fun <= fun(steps)[0] else theta


@dataclass(frozen=True, eq=False)
class RBF:
    """{α exp(−‖x_i − x_j‖² / 2σ²)}: the choice of a Gaussian kernel's scale and width (6.6); θ = (α, σ).

    ``D`` (n, n) holds squared distances; coordinates are the points themselves, Z = I. The jitter keeps
    duplicates from making M singular.
    """

    D: np.ndarray
    start: np.ndarray
    jitter: float = 1e-8

    @property
    def resolution(self) -> float:
        """Share of the largest distance below which the jitter hides a distance."""
        return 3 * self.jitter**0.5

    @property
    def Z(self) -> np.ndarray:
        """The identity."""
        return np.eye(len(self.D))

    def core(self, theta: np.ndarray) -> np.ndarray:
        """M itself."""
        return theta[0] * self.shape(theta[1])

    def shape(self, width: float) -> np.ndarray:
        """exp(−D/2σ²)."""
        return np.exp(-self.D / (2 * width**2)) + self.jitter * np.eye(len(self.D))

    def nearest(self, B: np.ndarray, theta: np.ndarray) -> np.ndarray:
        """Profile over α = tr(B R⁻¹)/n, then one variable: min n log α(σ) + log det R(σ), not convex."""
        n = len(B)

        def scale(width: float) -> float:
            return float(np.trace(np.linalg.solve(self.shape(width), B))) / n

        def fun(log_width: float) -> float:
            width = np.exp(log_width)
            return n * np.log(scale(width)) + np.linalg.slogdet(self.shape(width))[1]

        here = np.log(theta[1])
        found = minimize_scalar(fun, bounds=(here - 1, here + 1), method="bounded")
        width = float(np.exp(found.x if found.fun <= fun(here) else here))
        return np.array([scale(width), width])


def spectral_start(values: np.ndarray, diffusion: float) -> np.ndarray:
    """The diffusion kernel's α_i = exp(−t μ_i), nonincreasing because eigenvalues ascend, and never 0."""
    return np.exp(-np.clip(diffusion * values, 0, 30))


FAMILIES: dict[str, Any] = {"spectral": Spectral, "inductive": Inductive, "rbf": RBF}
