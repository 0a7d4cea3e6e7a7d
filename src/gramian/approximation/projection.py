"""Linear maps from kernel values at R to kernel values at all of Q, one for each choice of W.

β̂ = (K_RQ⁺ + W) k_R(q) of Epstein and Betke, (14), enters the distance (15) only through K β̂, so a projection is the
matrix B = K (K_RQ⁺ + W), shape (n, m), that guesses the column k_Q(q) of a new object as B k_R(q). Any B that is right
at R belongs to some W. Each function returns B and, for every q_j of Q, the guess when q_j is left out of Q.
"""

import numpy as np

from gramian import linalg

EXPONENTS = (0.25, 0.5)
RIDGES = (1e-8, 1e-6, 1e-4)


def pinv(K: np.ndarray, R: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """W = 0, the paper: B = K K_RQ⁺, the least-squares guess of the columns of K from their entries at R."""
    inverse = np.linalg.pinv(K[R])
    B = K @ inverse
    leverage = np.einsum("jr,rj->j", inverse, K[R])
    error = (K - B @ K[R]) / np.maximum(1 - leverage, 1e-6)  # leave-one-out residual of least squares
    return B, K - error


def span(K: np.ndarray, R: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """β̂ supported on R, the Nyström member: B = K_QR K_RR⁺. (Equation (30) of the paper takes it for W = 0.)"""
    B = K[:, R] @ np.linalg.pinv(K[np.ix_(R, R)], hermitian=True)
    return B, B @ K[R]


def learned(K: np.ndarray, R: np.ndarray, D: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """W by weighted ridge regression on Q, shrunk to the member supported on R.

    For each q_i not in R, min_δ Σ_j w_ij (K_ij − (b_i + δ)ᵀk_R(q_j))² + ridge · δᵀK_RR δ, with b_i the row of the span
    member and w_ij = d_ij^(−2p): what is near should be exact, and near objects are the ones that are asked for. W = 0
    is p = 0 without a ridge. Exponent and ridge are those with the smallest leave-one-out error; W = 0 stays unless its
    error is larger by more than two standard errors of the difference over the left-out members, and those are at
    least as many as the members of R (fewer cannot judge so many coefficients).
    """
    plain = pinv(K, R)
    path = [member for exponent in EXPONENTS for member in _ridge_path(K, R, _weights(D, exponent))]
    if not path:
        return plain
    best = min(path, key=lambda member: left_out_errors(K, D, R, member[1]).mean())
    gain = left_out_errors(K, D, R, plain[1]) - left_out_errors(K, D, R, best[1])
    clear = len(gain) > 1 and gain.mean() > 2 * gain.std(ddof=1) / np.sqrt(len(gain))
    return best if clear and len(gain) >= len(R) else plain


def _weights(D: np.ndarray, exponent: float) -> np.ndarray:
    """w_ij = d_ij^(−2p), rows summing to one; d_ii and copies count as the nearest other distance."""
    nearest = np.where(D > 0, D, np.inf).min(axis=1, keepdims=True)
    weights = np.maximum(D, np.where(np.isfinite(nearest), nearest, 1.0)) ** -exponent
    return weights / weights.sum(axis=1, keepdims=True)


def _ridge_path(K: np.ndarray, R: np.ndarray, weights: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    B, guess = span(K, R)
    whiten = linalg.psd_power(K[np.ix_(R, R)], -0.5)
    Z = whiten @ K[R]  # coordinates of Q in the span of R: a ridge on them is the norm δᵀK_RR δ
    rest = np.setdiff1d(np.arange(len(K)), R)
    scale = linalg.row_norms(Z).sum() / len(K)
    if len(rest) == 0 or scale == 0:
        return []
    weights, error = weights[rest], (K - guess)[rest]
    S = np.einsum("ij,rj,sj->irs", weights, Z, Z, optimize=True)
    path = []
    for ridge in RIDGES:
        inverse = np.linalg.inv(S + ridge * scale * np.eye(len(R)))
        gamma = np.einsum("irs,is->ir", inverse, (weights * error) @ Z.T)
        leverage = weights * np.einsum("rj,irs,sj->ij", Z, inverse, Z, optimize=True)
        B_new, guess_new = B.copy(), guess.copy()
        B_new[rest] += gamma @ whiten
        guess_new[rest] = K[rest] - (error - gamma @ Z) / np.maximum(1 - leverage, 1e-6)
        path.append((B_new, guess_new))
    return path


def closeness(K: np.ndarray, D: np.ndarray, R: np.ndarray, guess: np.ndarray) -> float:
    """1 − mean relative error of d over left-out q_j and all q_i, (31)–(32), from the left-out guesses of K."""
    errors = left_out_errors(K, D, R, guess)
    return float(1 - errors.mean()) if len(errors) else 1.0


def left_out_errors(K: np.ndarray, D: np.ndarray, R: np.ndarray, guess: np.ndarray) -> np.ndarray:
    """Mean relative error of d, (31), for each member outside of R when it is left out."""
    diagonal = K.diagonal()
    estimate = np.sqrt(np.maximum(diagonal[:, None] + diagonal - 2 * guess, 0))
    d = np.sqrt(D)
    error = np.divide(np.abs(estimate - d), d, out=np.zeros_like(d), where=d > 0)
    error[R] = 0.0  # exact, by construction
    others = np.setdiff1d(np.arange(len(K)), R)
    return (error[:, others].sum(axis=0) - error[others, others]) / max(len(K) - 1, 1)
