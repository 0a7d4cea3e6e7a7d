"""Sets 𝓜 of kernels on given points, and the nearest member of each: step B of Algorithm 1 (Jain 2009, §6.2)."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import isotonic_regression, minimize, minimize_scalar

from gramian import linalg
from gramian.constraints import Constraints
from gramian.features import KernelFeatures
from gramian.kernels import Gaussian
from gramian.manifold.metric import kernel_map
from gramian.manifold.penalties import Spectrum
from gramian.metrics import KernelMetric, Metric


class KernelSet(ABC):
    """Kernels M(θ) = Z C(θ) Zᵀ on n points, with fixed coordinates Z (n, m) and θ beginning at ``start``."""

    Z: np.ndarray
    start: np.ndarray
    basis: Spectrum | None = None
    """The smoothest vectors, where the set is made of them."""
    graph: Any = None
    """The graph behind the set, where there is one: ``adjacency`` and ``n_components``."""
    resolution: ClassVar[float] = 1e-14
    """Share of the largest distance below which points are copies of each other."""
    spectral: ClassVar[bool] = False
    """Whether ``nearest`` is right for every spectral divergence, and not for LogDet alone."""

    @abstractmethod
    def core(self, theta: np.ndarray) -> np.ndarray:
        """C(θ), (m, m), positive definite."""

    @abstractmethod
    def nearest(self, B: np.ndarray, theta: np.ndarray) -> np.ndarray:
        """argmin_θ D(B, C(θ)), from ``theta``."""

    @abstractmethod
    def metric(self, core: np.ndarray, theta: np.ndarray, k: int | None) -> Metric:
        """The distance of K = Z core Zᵀ, or of its best approximation of rank k, on the points and on new ones."""

    def facing(self, side: Constraints) -> "KernelSet":
        """The set for these constraints."""
        return self

    def principal(self, core: np.ndarray, k: int | None) -> np.ndarray:
        """A (m, k) such that ZA are the leading eigenvectors of K times the roots of their eigenvalues."""
        root = linalg.psd_sqrt(core)  # (m, m)
        F = self.Z @ root  # (n, m), FFᵀ = K
        vectors = linalg.eigh(F.T @ F)[1][:, ::-1]
        A: np.ndarray = root @ vectors[:, :k]
        A *= linalg.column_signs(self.Z @ A)
        return A


@dataclass(frozen=True, eq=False)
class Ordered(KernelSet):
    """{Σ α_i v_i v_iᵀ : α₁ ≥ … ≥ α_r ≥ 0} (6.3); θ = α."""

    Z: np.ndarray
    start: np.ndarray
    place: Callable[[Spectrum], Metric]
    keep_volume: bool | None = None
    basis: Spectrum = field(kw_only=True)
    graph: Any = field(default=None, kw_only=True)
    spectral: ClassVar[bool] = True

    def facing(self, side: Constraints) -> "Ordered":
        """Hold det M, if nothing else is said, where no constraint keeps points apart."""
        return replace(self, keep_volume=bool((side.bound > 0).all())) if self.keep_volume is None else self

    def core(self, theta: np.ndarray) -> np.ndarray:
        """C = diag(α)."""
        return np.diag(theta)

    def nearest(self, B: np.ndarray, theta: np.ndarray) -> np.ndarray:
        """Min Σ B_ii/α_i + log α_i over the cone: isotonic regression of B_ii = v_iᵀKv_i solves it, as for squares.

        So it does for every divergence Σ D(B_ii, α_i) + const. that is a Bregman divergence of φ: means are the best
        second arguments of them all. The cyclic projections of FindAlpha in the thesis approach the same point. Under
        the further constraint Π α_i = const. the multiplier of the logarithms only rescales that point.
        """
        alpha: np.ndarray = isotonic_regression(np.diag(B), increasing=False).x
        alpha = np.maximum(alpha, 1e-12 * alpha[0])
        if self.keep_volume:
            alpha = alpha * np.exp(np.mean(np.log(self.start) - np.log(alpha)))  # Π α_i as at the start
        return alpha

    def metric(self, core: np.ndarray, theta: np.ndarray, k: int | None) -> Metric:
        """Principal coordinates of K; new points as the vectors v_i go on to them."""
        return self.place(self.basis.mapped(self.principal(core, k)))


@dataclass(frozen=True, eq=False)
class Regularized(KernelSet):
    """{(S⁻¹ + T)⁻¹ : T = Σ θ_i v_i v_iᵀ + θ_{r+1}(I − VVᵀ), 0 ≤ θ₁ ≤ … ≤ θ_{r+1}}, S = ZZᵀ (6.5).

    ``W`` = VᵀZ (r, m). As printed, θ has r entries, which fall.
    """

    Z: np.ndarray
    start: np.ndarray
    W: np.ndarray
    printed: bool
    features: KernelFeatures
    basis: Spectrum = field(kw_only=True)
    graph: Any = field(default=None, kw_only=True)

    @cached_property
    def rough(self) -> np.ndarray:
        """Zᵀ(I − VVᵀ)Z."""
        rough: np.ndarray = self.Z.T @ self.Z - self.W.T @ self.W
        return rough

    @cached_property
    def steps_to_theta(self) -> np.ndarray:
        """The matrix that makes of steps ≥ 0 a θ in order."""
        ones = np.tril(np.ones((len(self.start), len(self.start))))
        return ones.T if self.printed else ones

    def core(self, theta: np.ndarray) -> np.ndarray:
        """C = (I + ZᵀTZ)⁻¹, so that ZCZᵀ = S − S(I + TS)⁻¹TS."""
        r = len(self.W)
        # ZᵀTZ, (m, m)
        T = (self.W.T * theta[:r]) @ self.W
        if not self.printed:
            T = T + theta[r] * self.rough
        return linalg.symmetrize(np.linalg.inv(np.eye(len(T)) + T))

    def along(self, B: np.ndarray) -> np.ndarray:
        """v_iᵀKv_i for K = ZBZᵀ, and tr(K − VVᵀK): the slopes of ⟨B, ZᵀTZ⟩ in θ."""
        slopes = np.sum((self.W @ B) * self.W, axis=1)  # v_iᵀKv_i
        return slopes if self.printed else np.append(slopes, np.sum(B * self.rough))

    def nearest(self, B: np.ndarray, theta: np.ndarray) -> np.ndarray:
        """Min ⟨B, ZᵀTZ⟩ − log det(I + ZᵀTZ), convex (Lemma 9), in the steps between the θ_i."""
        target = self.along(B)  # (r,) or (r + 1,)
        order = self.steps_to_theta  # θ = order @ steps

        def fun(steps: np.ndarray) -> tuple[float, np.ndarray]:
            t = order @ steps
            C = self.core(t)
            return float(target @ t + np.linalg.slogdet(C)[1]), order.T @ (target - self.along(C))

        steps = np.linalg.solve(order, theta)
        end = minimize(fun, steps, jac=True, method="L-BFGS-B", bounds=[(0, None)] * len(steps))
        best: np.ndarray = order @ end.x if end.fun <= fun(steps)[0] else theta
        return best

    def metric(self, core: np.ndarray, theta: np.ndarray, k: int | None) -> Metric:
        """Principal coordinates of K as functions of the landmarks."""
        return kernel_map(self.features, self.principal(core, k))


@dataclass(frozen=True, eq=False)
class Widths(KernelSet):
    """{α exp(−‖x_i − x_j‖² / 2σ²)} (6.6); θ = (α, σ).

    ``D`` (n, n) holds squared distances of ``points``; coordinates are the points themselves, Z = I. The jitter keeps
    duplicates from making M singular.
    """

    points: Any
    D: np.ndarray
    start: np.ndarray
    jitter: ClassVar[float] = 1e-8
    resolution: ClassVar[float] = 3 * jitter**0.5

    @cached_property
    def Z(self) -> np.ndarray:  # type: ignore[override]
        """The identity."""
        return np.eye(len(self.D))

    def core(self, theta: np.ndarray) -> np.ndarray:
        """M itself."""
        M: np.ndarray = theta[0] * self.shape(theta[1])
        return M

    def shape(self, scale: float) -> np.ndarray:
        """exp(−D/2σ²)."""
        R: np.ndarray = np.exp(-self.D / (2 * scale**2)) + self.jitter * np.eye(len(self.D))
        return R

    def weight(self, B: np.ndarray, scale: float) -> float:
        """The best α for a width: tr(B R⁻¹)/n."""
        return float(np.trace(np.linalg.solve(self.shape(scale), B))) / len(B)

    def nearest(self, B: np.ndarray, theta: np.ndarray) -> np.ndarray:
        """Min n log α(σ) + log det R(σ) in one variable, not convex: α is profiled out."""

        def fun(log_scale: float) -> float:
            scale = np.exp(log_scale)
            return float(len(B) * np.log(self.weight(B, scale)) + np.linalg.slogdet(self.shape(scale))[1])

        start = np.log(theta[1])
        end = minimize_scalar(fun, bounds=(start - 1, start + 1), method="bounded")
        scale = float(np.exp(end.x if end.fun <= fun(start) else start))
        return np.array([self.weight(B, scale), scale])

    def metric(self, core: np.ndarray, theta: np.ndarray, k: int | None) -> Metric:
        """K = ZBZᵀ in the coordinates of M itself; outside of them the learned kernel is M (Jain 2009, Theorem 5)."""
        alpha, scale = (float(value) for value in theta)
        features = KernelFeatures(alpha * Gaussian(scale), basis="all").fit(self.points)
        inverse = np.linalg.pinv(features.transform(self.points))  # (r, n)
        if k is not None:
            return kernel_map(features, inverse @ self.principal(core, k))
        return KernelMetric(features, linalg.project_psd(inverse @ core @ inverse.T), alpha=1.0)
