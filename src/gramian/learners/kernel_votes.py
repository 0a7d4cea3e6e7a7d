"""Class probabilities by kernel least squares: closed forms, of distances alone.

K_ij = 1 + exp(−d²_ij / 2σ²), with σ half of the spread of the points, so that nothing has a unit. The scores
K(K + λI)⁻¹Y come near to the classes Y (ridge regression, Saunders, Gammerman and Vovk 1998), and what a point would
score without its own label is known without another fit: s_i = y_i − a_i / (K + λI)⁻¹_ii with A = (K + λI)⁻¹Y. By these
scores the temperature τ of p ∝ exp(s/τ) is the one with the largest likelihood.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax

WIDTH = 0.5
"""σ, as a share of the root of the spread."""
PENALTY = 0.1
"""λ; K is 2 on the diagonal."""
SHARPEST, SOFTEST = 0.1, 10.0
"""Temperatures to choose from: scores lie between 0 and 1, and where all are right the likelihood knows no end."""


@dataclass(frozen=True, eq=False)
class KernelVotes:
    """σ and A/τ: each labeled point votes for classes, the nearer the more."""

    scale: float
    coefficients: np.ndarray
    """(n, c)."""

    @classmethod
    def fit(cls, D: np.ndarray, codes: np.ndarray, softer: float = 1.0) -> "KernelVotes":
        """Votes from d² of labeled points, (n, n), and their classes, counted from 0; at τ times ``softer``."""
        scale = WIDTH * float(np.sqrt(D.mean() / 2)) or 1.0  # mean |x − μ|² is half of mean |x − y|²
        inverse = np.linalg.inv(kernel(D, scale) + PENALTY * np.eye(len(D)))
        Y = np.eye(codes.max() + 1)[codes]  # (n, c)
        A = inverse @ Y
        tau = temperature(Y - A / np.diag(inverse)[:, None], codes)
        return cls(scale, A / (softer * tau))

    def roots(self, D: np.ndarray) -> np.ndarray:
        """√p, (m, c), from d² to the labeled points, (m, n)."""
        return np.sqrt(softmax(kernel(D, self.scale) @ self.coefficients, axis=1))


def kernel(D: np.ndarray, scale: float) -> np.ndarray:
    """1 + exp(−d² / 2σ²)."""
    return 1 + np.exp(D / (-2 * scale**2))


def temperature(scores: np.ndarray, codes: np.ndarray) -> float:
    """τ with the largest likelihood of the classes under p ∝ exp(s/τ)."""
    rows = np.arange(len(codes))

    def loss(logarithm: float) -> float:
        return -float(log_softmax(scores / np.exp(logarithm), axis=1)[rows, codes].mean())

    ends = np.log(SHARPEST), np.log(SOFTEST)
    return float(np.exp(minimize_scalar(loss, bounds=ends, method="bounded", options={"xatol": 1e-3}).x))
