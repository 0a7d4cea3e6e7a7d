"""Costs C' and penalties P' of transductive distance learning, and the eigenproblem that two of them make.

A cost is linear in squared distances (Li, Yang and Wang 2007, §2.1, §3.1): labels, or constraints, as a sparse matrix.

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
from gramian.constraints import Constraints, Pairs, Triplets
from gramian.manifold.eigen import Eigenvectors, Search, smallest_eigenvectors
from gramian.manifold.graph import neighbors_of
from gramian.metrics import Metric


def cost_matrix(X: Any, codes: np.ndarray, k: int, **search: Any) -> sparse.csr_array:
    """Symmetric C with tr(CD) = Σ_i C(D, x_i, y_i), equation (6).

    Row i holds 1/k on the k nearest labeled points of its class and −1/k on the k nearest of the others; with fewer
    than k of a kind the average is over those there are. (6) is not symmetric as printed: C = (C + Cᵀ)/2, which
    leaves tr(CD) as it is. ``codes`` is −1 for an unlabeled point; ``search`` goes to :func:`neighbors_of`, X
    was checked.
    """
    n = len(codes)
    C = sparse.csr_array((n, n))  # row by row 1/k and −1/k, before it is made symmetric
    for c in range(codes.max(initial=-1) + 1):
        inside = np.flatnonzero(codes == c)
        outside = np.flatnonzero((codes >= 0) & (codes != c))
        if len(inside) > 1:
            C = C + _edges(inside, inside[neighbors_of(X[inside], k, **search)[0]], n)
        if len(inside) and len(outside):
            C = C - _edges(inside, outside[neighbors_of(X[outside], k, queries=X[inside], **search)[0]], n)
    return sparse.csr_array(C + C.T) / 2


def _edges(rows: np.ndarray, ids: np.ndarray, n: int) -> sparse.csr_array:
    k = ids.shape[1]
    return sparse.csr_array((np.full(ids.size, 1 / k), (np.repeat(rows, k), ids.ravel())), shape=(n, n))


def on_gram(A: sparse.csr_array) -> sparse.csr_array:
    """A' = 2 (diag(Ae) − A), so that tr(AD) = tr(A'G) for the Gram matrix G of D (Proposition 3)."""
    return sparse.csr_array(2 * (sparse.diags_array(np.asarray(A.sum(axis=1)).ravel()) - A))


def constraint_cost(side: Constraints, n: int) -> sparse.csr_array:
    """C' of constraints on n points, tr(C'G) = Σ_i w_i ⟨C_i, G⟩, with the weights that (6) would give them.

    Every point averages over its similar pairs, and over its dissimilar ones; every anchor over its triplets. Other
    constraints have the weight 1/m each. Bounds play no part: the cost is linear, the scale of the embedding fixed.
    """
    if isinstance(side, Pairs):
        kinds = 2 * np.concatenate([side.left, side.right]) + np.tile(side.similar, 2)
        share = 1 / np.bincount(kinds)[kinds]  # (2m,): of each end in what its point has of this kind
        weights = share[: len(side)] + share[len(side) :]
    elif isinstance(side, Triplets):
        weights = 1 / np.bincount(side.anchor)[side.anchor]
    else:
        weights = np.full(len(side), 1 / len(side))
    return side.matrix(weights, n)


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
