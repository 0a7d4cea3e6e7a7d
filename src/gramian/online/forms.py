"""Constraints on forms ⟨A, M⟩ of rank two: relative distances, similarities (Jain 2009, §3.1, one at a time).

A = w₁ v₁v₁ᵀ + w₂ v₂v₂ᵀ. With A = vvᵀ the steps are those of a pair.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class Form:
    """One form: vectors (2, d) and their weights (2,)."""

    vectors: np.ndarray
    weights: np.ndarray

    @property
    def matrix(self) -> np.ndarray:
        """A (d, d)."""
        return (self.vectors.T * self.weights) @ self.vectors

    def value(self, M: np.ndarray) -> float:
        """⟨A, M⟩."""
        return float(self.weights @ np.einsum("ij,ij->i", self.vectors @ M, self.vectors))


@dataclass(frozen=True, eq=False)
class Forms:
    """A stream of forms: vectors (m, 2, d) and weights (m, 2), of which a row is a :class:`Form`."""

    vectors: np.ndarray
    weights: np.ndarray

    def __len__(self) -> int:
        return len(self.vectors)

    def __getitem__(self, rows: Any) -> "Forms":
        return Forms(self.vectors[rows], self.weights[rows])

    def __iter__(self) -> Iterator[Form]:
        return map(Form, self.vectors, self.weights)


@dataclass(frozen=True, eq=False)
class Axes:
    """The axes of a form under M = GᵀG: vectors z_k with z_jᵀMz_k = δ_jk, and μ_k, the eigenvalues of AM.

    M⁺⁻¹ = M⁻¹ + cA has G⁺ = G + Σ_k ((1 + cμ_k)^{-1/2} − 1) Gz_k (Mz_k)ᵀ.
    """

    mu: np.ndarray
    images: np.ndarray
    """Gz_k as columns (r, 2), orthonormal."""
    combination: np.ndarray
    """The z_k as combinations of the vectors, (2, 2)."""

    @classmethod
    def of(cls, G: np.ndarray, form: Form) -> "Axes":
        """Through the thin QR factors of GV: the nonzero eigenvalues of AM are those of R diag(w) Rᵀ."""
        Q, R = np.linalg.qr(G @ form.vectors.T)
        mu, T = np.linalg.eigh((R * form.weights) @ R.T)
        return cls(mu, Q @ T, np.linalg.pinv(R) @ T)

    def stretch(self, c: float) -> np.ndarray:
        """The numbers (1 + cμ_k)^{-1/2} − 1."""
        return 1 / np.sqrt(1 + c * self.mu) - 1

    def moved(self, G: np.ndarray, c: float) -> np.ndarray:
        """G⁺."""
        return G + (self.images * self.stretch(c)) @ (self.images.T @ G)

    def follow(self, rows: np.ndarray, G: np.ndarray, form: Form, c: float) -> None:
        """Rows h = rG become rG⁺, in place."""
        z = form.vectors.T @ self.combination
        rows += ((rows @ z) * self.stretch(c)) @ (self.images.T @ G)
