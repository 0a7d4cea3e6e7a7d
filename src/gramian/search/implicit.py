"""Hash functions of a metric that is known through inner products alone, as printed (Jain 2009, §4.1.2).

With the basis φ(x_1), …, φ(x_c) as the rows of Φ, K₀ = ΦΦᵀ and W = I + Φᵀ K₀^{-1/2} L K₀^{-1/2} Φ, a factor of
W = GᵀG is G = I + ΦᵀSΦ, and rᵀGφ(x) = rᵀφ(x) + Σ_i γ_i k(x_i, x) with γ = SᵀΦr (4.4): no d × d matrix, and r only
at the features that are not zero. For a symmetric S that is the thesis's γ = SΦr.

Indexes hash through ``gramian.search.forms``, with the symmetric root on the coordinates of the metric; these
functions are the thesis's own road, where S is learned with the kernel and K₀ is never inverted.
"""

from typing import Any

import numpy as np

from gramian import _checks, linalg
from gramian.constraints import Pairs
from gramian.search import codes

OWNER = "itml_factor"


def factor_coefficients(K0: np.ndarray, L: np.ndarray) -> np.ndarray:
    """S = K₀^{-1/2} (−I + (I + L)^{1/2}) K₀^{-1/2} (Jain 2009, (4.5)), the coefficients of the symmetric root.

    The thesis prints another S in the text after Lemma 2; (4.5) is the one that satisfies the lemma.
    """
    inverse = linalg.psd_power(K0, -0.5)
    eye = np.eye(len(K0))
    return inverse @ (linalg.psd_sqrt(eye + L) - eye) @ inverse


def factor_step(S: np.ndarray, K0: np.ndarray, i: int, j: int, beta: float) -> np.ndarray:
    """One step of Lemma 4 (Jain 2009): the factor I + ΦᵀSΦ after W ← W + β W v vᵀ W with v = φ(x_i) − φ(x_j)."""
    e = np.zeros(len(K0))
    e[i] += 1
    e[j] -= 1
    left = e + S @ (K0[:, i] - K0[:, j])  # (I + SK₀)e: Gv in the basis, (4.10)
    size = left @ K0 @ left  # |Gv|² = vᵀWv
    if size <= 0:
        return S
    alpha = (np.sqrt(1 + beta * size) - 1) / size  # Lemma 3
    # (I + K₀Sᵀ)(I + K₀S): vᵀW = (Gv)ᵀG in the basis, (4.11)
    return S + alpha * np.outer(left, left @ K0 @ S + left)


def itml_factor(
    K0: Any, pairs: Pairs, *, gamma: float = 1.0, max_iter: int = 1000, tol: float = 1e-6
) -> tuple[np.ndarray, np.ndarray]:
    """ITML by cyclic projections of the Gram matrix (4.7), S updated alongside by Lemma 4: returns (K, S).

    K = ΦWΦᵀ on the basis points, and G = I + ΦᵀSΦ with GᵀG = W. K₀ is never inverted. The slack steps are those of
    Davis et al. (2007) corrected for γ ≠ 1.

    Parameters
    ----------
    K0 : array (c, c)
        Gram matrix of the basis.
    pairs : Pairs
        Of rows of K0, with bounds on squared distances.
    gamma : float
        Weight of the slack.
    max_iter, tol
        Sweeps, and the largest |Δλ| p of a sweep to stop at.

    Examples
    --------
    >>> import numpy as np, gramian as gm
    >>> from gramian.search import implicit
    >>> X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> pairs = gm.Pairs([0], [1], [True], bounds=(0.5, 4.0))
    >>> K, S = implicit.itml_factor(X @ X.T, pairs, gamma=1e6)
    >>> G = np.eye(2) + X.T @ S @ X
    >>> bool(np.allclose(X @ G.T @ G @ X.T, K)), float((K[0, 0] + K[1, 1] - 2 * K[0, 1]).round(3))
    (True, 0.5)
    """
    K0 = linalg.symmetrize(_checks.array(K0, OWNER, "K0"))
    gamma = _checks.number(gamma, OWNER, "gamma", low=0, open_low=True)
    _checks.number(max_iter, OWNER, "max_iter", low=1, integer=True)
    pairs = pairs.check(K0, OWNER)
    K, S = K0.copy(), np.zeros_like(K0)
    sign = np.where(pairs.similar, 1.0, -1.0)
    xi = sign * np.asarray(pairs.bound, dtype=float)
    lam = np.zeros(len(pairs))
    for _ in range(max_iter):
        moved = 0.0
        for t, (i, j) in enumerate(zip(pairs.left, pairs.right)):
            p = K[i, i] + K[j, j] - 2 * K[i, j]
            if p <= 0:
                continue
            a = min(lam[t], sign[t] * gamma / (gamma + 1) * (1 / p - 1 / xi[t]))
            beta = sign[t] * a / (1 - sign[t] * a * p)
            xi[t] *= gamma / (gamma + sign[t] * a * xi[t])
            lam[t] -= a
            S = factor_step(S, K0, i, j, beta)
            row = K[i] - K[j]
            K += beta * np.outer(row, row)  # (4.7)
            moved = max(moved, abs(a) * p)
        if moved <= tol:
            break
    return K, S


def implicit_projection(Phi: Any, basis: Any, S: np.ndarray, seed: int, n_bits: int) -> np.ndarray:
    """rᵀGφ(x) = rᵀφ(x) + Σ_i γ_i φ(x_i)ᵀφ(x), γ = SᵀΦr (4.4), (n, n_bits); its signs are the hash bits."""
    gamma = S.T @ codes.project(basis, seed, n_bits)
    return codes.project(Phi, seed, n_bits) + linalg.inner(Phi, basis) @ gamma
