"""Penalties P' of transductive distance learning, and the eigenproblem each of them makes with a cost C'."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from gramian import linalg
from gramian.manifold.eigen import Eigenvectors, column_signs, smallest_eigenvectors
from gramian.manifold.neighbors import neighbors


@dataclass(frozen=True, eq=False)
class MatrixPenalty:
    """A given matrix P' (n, n): eigenvectors of C' + λP' off the trivial vector (Li, Yang and Wang 2007, (3))."""

    matrix: Any
    trivial: np.ndarray

    def solve(self, C: Any, lam: float, k: int, **options: Any) -> tuple[Eigenvectors, None]:
        """The embedding (n, k), and no coefficients."""
        S = C + lam * self.matrix
        S = sparse.csr_array(S) if sparse.issparse(S) else np.asarray(S)
        return smallest_eigenvectors(S, k, self.trivial, **options), None


@dataclass(frozen=True, eq=False)
class SpectralPenalty:
    """P' on the span of its smallest eigenvectors V (n, r) alone: P' = K⁺ of K = V diag(1/μ) Vᵀ, μ the eigenvalues.

    Only smooth functions are left, so that the cost cannot push a labeled point away from its unlabeled neighbors,
    and a problem takes r dimensions instead of n.
    """

    basis: Eigenvectors

    def solve(self, C: Any, lam: float, k: int, **options: Any) -> tuple[Eigenvectors, np.ndarray]:
        """The embedding F = Va (n, k) and the coefficients a (r, k)."""
        mu, V, n_iter = self.basis
        values, a, _ = smallest_eigenvectors(linalg.symmetrize(V.T @ (C @ V) + lam * np.diag(mu)), k)
        F = V @ a
        signs = column_signs(F)
        return Eigenvectors(values, F * signs, n_iter), a * signs


@dataclass(frozen=True, eq=False)
class KernelPenalty:
    """P' = K⁺ + HMH for K = ZZᵀ with centered coordinates Z (n, r): problem (7), in r dimensions.

    With Z = U diag(s) Vᵀ and f = Ua, K⁺ = U diag(s^{−2}) Uᵀ, the embedding is the smallest eigenvectors a of
    Uᵀ(C' + λM)U + λ diag(s^{−2}), and f(x) = z(x)ᵀw with w = V diag(1/s) a for any x (Lemma 6 there).
    """

    Z: np.ndarray
    M: Any = None

    def solve(self, C: Any, lam: float, k: int, **options: Any) -> tuple[Eigenvectors, np.ndarray]:
        """The embedding F = ZW (n, k) and the coefficients W (r, k)."""
        power, V = linalg.eigh(self.Z.T @ self.Z)
        keep = power > 1e-10 * power.max(initial=0.0)
        power, V = power[keep][::-1], V[:, keep][:, ::-1]
        U = (self.Z @ V) / np.sqrt(power)
        B = C if self.M is None else C + lam * self.M
        A = U.T @ (B @ U) + lam * np.diag(1 / power)
        values, a, n_iter = smallest_eigenvectors(linalg.symmetrize(A), k)
        F, W = U @ a, (V / np.sqrt(power)) @ a
        signs = column_signs(F)
        return Eigenvectors(values, F * signs, n_iter), W * signs


def isomap_coordinates(A_length: Any) -> np.ndarray:
    """Z with ZZᵀ = [−½ H D² H]₊ for the shortest-path distances D of a graph of edge lengths: Isomap's kernel.

    Points in different pieces get the largest finite distance, so that the kernel is always finite; 1 when pieces are
    copies of one point each.
    """
    D = csgraph.shortest_path(A_length, directed=False) ** 2
    far = np.isinf(D)
    D[far] = D[~far].max(initial=0.0) or 1.0
    K = -0.5 * (D - D.mean(axis=0) - D.mean(axis=1)[:, None] + D.mean())
    values, vectors = linalg.eigh(linalg.symmetrize(K))
    keep = values > 1e-10 * values.max(initial=0.0)
    return vectors[:, keep] * np.sqrt(values[keep])


def edge_lengths(X: Any, k: int) -> sparse.csr_array:
    """Distances to the k nearest neighbors as a sparse matrix; duplicates keep an edge of length tiny, not none."""
    ids, D = neighbors(X, k)
    lengths = np.maximum(np.sqrt(D), np.finfo(float).tiny)
    return sparse.csr_array((lengths.ravel(), ids.ravel(), np.arange(0, ids.size + 1, ids.shape[1])), (len(ids),) * 2)


def lle_matrix(X: np.ndarray, k: int, ridge: float = 1e-3) -> sparse.csr_array:
    """(I − W)ᵀ(I − W) with W the weights, summing to one, that rebuild each point from its k nearest neighbors."""
    ids, _ = neighbors(X, k)
    n, k = ids.shape
    V = X[ids] - X[:, None, :]
    G = V @ V.transpose(0, 2, 1)
    trace = np.trace(G, axis1=1, axis2=2)
    G = G + (ridge * np.where(trace > 0, trace, 1.0))[:, None, None] * np.eye(k)
    w = np.linalg.solve(G, np.ones((n, k, 1)))[:, :, 0]
    w /= w.sum(axis=1, keepdims=True)
    R = sparse.eye_array(n) - sparse.csr_array((w.ravel(), ids.ravel(), np.arange(0, n * k + 1, k)), (n, n))
    return sparse.csr_array(R.T @ R)
