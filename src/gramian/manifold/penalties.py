"""Penalties P' of transductive distance learning, and the eigenproblem each of them makes with a cost C'.

The smallest eigenvectors of C' + λP' are coordinates of the points; with no cost they are the smoothest vectors that a
geometry has, which is also where geometry-aware kernels live (Jain 2009, (6.3)).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from gramian import linalg
from gramian.manifold.eigen import Eigenvectors, Search, smallest_eigenvectors
from gramian.metrics import Metric


class Spectrum(NamedTuple):
    """Eigenvalues ascending (k,), coordinates F (n, k), the matrix-vector products that they took, and for new points:

    ``coefficients`` (r, k) of F in the coordinates of a kernel, or ``shift`` (k,), the eigenvalues of the geometry.
    """

    values: np.ndarray
    vectors: np.ndarray
    n_iter: int
    coefficients: np.ndarray | None = None
    shift: np.ndarray | None = None

    def mapped(self, A: np.ndarray) -> "Spectrum":
        """The coordinates FA."""
        coefficients = None if self.coefficients is None else self.coefficients @ A
        return Spectrum(self.values, self.vectors @ A, self.n_iter, coefficients)


class Penalty(ABC):
    """P' on given points: ``solve`` gives coordinates of these, ``place`` the metric that goes on to others."""

    place: Callable[[Spectrum], Metric]

    @abstractmethod
    def solve(self, C: Any, lam: float, k: int, search: Search | None = None) -> Spectrum:
        """The k smallest eigenvectors of C' + λP' off the trivial one; no cost when C is None."""


@dataclass(frozen=True, eq=False)
class MatrixPenalty(Penalty):
    """A given matrix P' (n, n): eigenvectors of C' + λP' off the trivial vector (Li, Yang and Wang 2007, (3))."""

    matrix: Any
    trivial: np.ndarray
    place: Callable[[Spectrum], Metric]

    def solve(self, C: Any, lam: float, k: int, search: Search | None = None) -> Spectrum:
        """Coordinates, shifted by the eigenvalues over λ."""
        S = lam * self.matrix if C is None else C + lam * self.matrix
        S = sparse.csr_array(S) if sparse.issparse(S) else np.asarray(S)
        values, F, n_iter = smallest_eigenvectors(S, k, self.trivial, search)
        return Spectrum(values, F, n_iter, shift=values / lam)


@dataclass(frozen=True, eq=False)
class SmoothPenalty(Penalty):
    """P' on the span of its smallest eigenvectors V (n, r) alone: P' = K⁺ of K = V diag(1/μ) Vᵀ, μ the eigenvalues.

    Only smooth functions are left, so that the cost cannot push a labeled point away from its unlabeled neighbors,
    and a problem takes r dimensions instead of n.
    """

    basis: Eigenvectors
    place: Callable[[Spectrum], Metric]

    def solve(self, C: Any, lam: float, k: int, search: Search | None = None) -> Spectrum:
        """Coordinates F = Va, shifted by their Rayleigh quotients of P'."""
        mu, V, n_iter = self.basis  # (r,), (n, r)
        S = lam * np.diag(mu)  # (r, r)
        if C is not None:
            S = S + V.T @ (C @ V)
        values, a, _ = smallest_eigenvectors(linalg.symmetrize(S), k)
        F = V @ a
        return Spectrum(values, F * linalg.column_signs(F), n_iter, shift=mu @ a**2)


@dataclass(frozen=True, eq=False)
class KernelPenalty(Penalty):
    """P' = K⁺ + HMH for K = ZZᵀ with centered coordinates Z (n, r): problem (7), in r dimensions.

    With Z = U diag(s) Vᵀ and f = Ua, K⁺ = U diag(s^{−2}) Uᵀ, the embedding is the smallest eigenvectors a of
    Uᵀ(C' + λM)U + λ diag(s^{−2}), and f(x) = z(x)ᵀw with w = V diag(1/s) a for any x (Lemma 6 there).
    """

    Z: np.ndarray
    M: Any
    place: Callable[[Spectrum], Metric]

    def solve(self, C: Any, lam: float, k: int, search: Search | None = None) -> Spectrum:
        """Coordinates F = ZW and the coefficients W (r, k)."""
        power, V = linalg.eigh(self.Z.T @ self.Z)  # (r,), (r, r)
        keep = np.flatnonzero(power > 1e-10 * power.max(initial=0.0))[::-1]
        root = np.sqrt(power[keep])  # s, the singular values of Z
        whiten = V[:, keep] / root
        U = self.Z @ whiten  # (n, r), orthonormal
        S = lam * np.diag(1 / root**2)
        if C is not None:
            S = S + U.T @ (C @ U)
        if self.M is not None:
            S = S + lam * (U.T @ (self.M @ U))
        values, a, n_iter = smallest_eigenvectors(linalg.symmetrize(S), k)
        F = U @ a  # (n, k)
        signs = linalg.column_signs(F)
        return Spectrum(values, F * signs, n_iter, coefficients=(whiten @ a) * signs)
