"""Linear maps from kernel values at R to kernel values at all of Q, one for each choice of W.

β̂ = (K_RQ⁺ + W) k_R(q) of Epstein and Betke, (14), enters the distance (15) only through K β̂, so a projection is the
matrix B = K (K_RQ⁺ + W), shape (n, m), that guesses the column k_Q(q) of a new object as B k_R(q). Any B that is right
at R belongs to some W. Each function returns B and, for every q_j of Q, the guess when q_j is left out of Q.
What the distances to R leave open, whatever B, is an :class:`Enclosure`.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gramian import _validate, linalg

EXPONENTS = (0.25, 0.5)
RIDGES = (1e-8, 1e-6, 1e-4)
RANK = 1e-10
"""Directions of R whose variance is below this share of the largest are none."""


@dataclass(frozen=True, eq=False)
class Measured:
    """What was measured on Q and R.

    ``K`` (n, n) and squared distances ``D`` (n, n) on Q, ``cross`` K_RQ (m, n), ``inner`` K_RR (m, m), and where in Q
    the members of R are, ``inside`` (empty when R lies outside of Q).
    """

    K: np.ndarray
    D: np.ndarray
    cross: np.ndarray
    inner: np.ndarray
    inside: np.ndarray

    @classmethod
    def within(cls, K: np.ndarray, D: np.ndarray, R: np.ndarray) -> "Measured":
        """R as places in Q."""
        return cls(K, D, K[R], K[np.ix_(R, R)], R)

    @property
    def outside(self) -> np.ndarray:
        """The places in Q that are not of R."""
        places: np.ndarray = np.setdiff1d(np.arange(len(self.K)), self.inside)
        return places


def pinv(measured: Measured) -> tuple[np.ndarray, np.ndarray]:
    """W = 0, the paper: B = K K_RQ⁺, the least-squares guess of the columns of K from their entries at R."""
    return _least_squares(measured.K, measured.cross)


def affine(measured: Measured) -> tuple[np.ndarray, np.ndarray]:
    """The same with an intercept, B (n, m + 1): the last column is added to every guess.

    With a constant g it is least squares of the centered d² on the centered d² at R, whatever the constant is.
    """
    return _least_squares(measured.K, np.vstack([measured.cross, np.ones(len(measured.K))]))


def _least_squares(K: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """B = K rows⁺, and the guess of each column of K by least squares without it."""
    inverse = np.linalg.pinv(rows)  # (n, r)
    B = K @ inverse  # (n, r)
    leverage = np.einsum("jr,rj->j", inverse, rows)  # (n,), h_j of column j
    left_out = (K - B @ rows) / np.maximum(1 - leverage, 1e-6)
    return B, K - left_out


def span(measured: Measured) -> tuple[np.ndarray, np.ndarray]:
    """β̂ supported on R, the Nyström member: B = K_QR K_RR⁺. (Equation (30) of the paper takes it for W = 0.)"""
    B = measured.cross.T @ np.linalg.pinv(measured.inner, hermitian=True)
    return B, B @ measured.cross


def given(measured: Measured, U: Any) -> tuple[np.ndarray, np.ndarray]:
    """W = (I − K_RQ⁺K_RQ) U for a U (n, m) of one's own, (19)–(20); an admissible W is left as it is.

    Guesses are those of the whole Q: what W would be without a member is not known.
    """
    n, m = len(measured.K), len(measured.cross)
    U = _validate.array(U, "SubsetDistance", "projection")
    if U.shape != (n, m) or not np.isfinite(U).all():
        raise ValueError(f"SubsetDistance: projection must be finite of shape ({n}, {m}), got shape {U.shape}.")
    inverse = np.linalg.pinv(measured.cross)
    W = U - inverse @ (measured.cross @ U)
    B = measured.K @ (inverse + W)
    return B, B @ measured.cross


def learned(measured: Measured) -> tuple[np.ndarray, np.ndarray]:
    """W by weighted ridge regression on Q, shrunk to the member supported on R.

    For each q_i not in R, min_δ Σ_j w_ij (K_ij − (b_i + δ)ᵀk_R(q_j))² + ridge · δᵀK_RR δ, with b_i the row of the span
    member and w_ij = d_ij^(−2p): what is near should be exact, and near objects are the ones that are asked for. W = 0
    is p = 0 without a ridge. Exponent and ridge are those with the smallest leave-one-out error; W = 0 stays unless its
    error is larger by more than two standard errors of the difference over the left-out members, and those are at
    least as many as the members of R (fewer cannot judge so many coefficients).
    """
    plain = pinv(measured)
    path = [member for exponent in EXPONENTS for member in _ridge_path(measured, _weights(measured.D, exponent))]
    if not path:
        return plain
    best = min(path, key=lambda member: left_out_errors(measured, member[1]).mean())
    gain = left_out_errors(measured, plain[1]) - left_out_errors(measured, best[1])
    clear = len(gain) > 1 and gain.mean() > 2 * gain.std(ddof=1) / np.sqrt(len(gain))
    return best if clear and len(gain) >= len(measured.cross) else plain


def _weights(D: np.ndarray, exponent: float) -> np.ndarray:
    """w_ij = d_ij^(−2p), rows summing to one; d_ii and copies count as the nearest other distance."""
    nearest = np.where(D > 0, D, np.inf).min(axis=1, keepdims=True)
    weights: np.ndarray = np.maximum(D, np.where(np.isfinite(nearest), nearest, 1.0)) ** -exponent  # (n, n)
    weights /= weights.sum(axis=1, keepdims=True)
    return weights


def _ridge_path(measured: Measured, weights: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    B, guess = span(measured)
    whiten = linalg.psd_power(measured.inner, -0.5)
    Z = whiten @ measured.cross  # coordinates of Q in the span of R: a ridge on them is the norm δᵀK_RR δ
    rest = measured.outside
    scale = linalg.row_norms(Z).sum() / len(measured.K)
    if len(rest) == 0 or scale == 0:
        return []
    weights = weights[rest]
    error = (measured.K - guess)[rest]  # (n − m, n)
    S = np.einsum("ij,rj,sj->irs", weights, Z, Z, optimize=True)  # S_i = Σ_j w_ij z_j z_jᵀ
    path = []
    for ridge in RIDGES:
        inverse = np.linalg.inv(S + ridge * scale * np.eye(len(Z)))
        # γ_i = (S_i + ridge·I)⁻¹ Σ_j w_ij e_ij z_j, the change of row i of B in these coordinates
        gamma = np.einsum("irs,is->ir", inverse, (weights * error) @ Z.T)
        leverage = weights * np.einsum("rj,irs,sj->ij", Z, inverse, Z, optimize=True)
        B_new, guess_new = B.copy(), guess.copy()
        B_new[rest] += gamma @ whiten
        guess_new[rest] = measured.K[rest] - (error - gamma @ Z) / np.maximum(1 - leverage, 1e-6)
        path.append((B_new, guess_new))
    return path


def closeness(measured: Measured, guess: np.ndarray) -> float:
    """1 − mean relative error of d over left-out q_j and all q_i, (31)–(32), from the left-out guesses of K."""
    errors = left_out_errors(measured, guess)
    return float(1 - errors.mean()) if len(errors) else 1.0


def left_out_errors(measured: Measured, guess: np.ndarray) -> np.ndarray:
    """Mean relative error of d, (31), for each member outside of R when it is left out."""
    diagonal = measured.K.diagonal()
    estimate = np.sqrt(np.maximum(diagonal[:, None] + diagonal - 2 * guess, 0))  # (n, n)
    d = np.sqrt(measured.D)
    error = np.divide(np.abs(estimate - d), d, out=np.zeros_like(d), where=d > 0)
    error[measured.inside] = 0.0  # exact, by construction
    outside = measured.outside
    errors: np.ndarray = (error[:, outside].sum(axis=0) - error[outside, outside]) / max(len(d) - 1, 1)  # (31)
    return errors


PROJECTIONS = {
    "pinv": pinv,
    "affine": affine,
    "span": span,
    "learned": learned,
}


def projected(projection: Any, measured: Measured) -> tuple[np.ndarray, np.ndarray]:
    """The map B by a word, a function of (K, K_RQ) or a matrix W, and its guess of what is known."""
    if callable(projection):
        return given(measured, projection(measured.K, measured.cross))
    if not isinstance(projection, str):
        return given(measured, projection)
    return PROJECTIONS[projection](measured)


@dataclass(frozen=True, eq=False)
class Enclosure:
    """Coordinates in the affine span of R, and what lies off it.

    A point with squared distances to R is z in the span and a height h off it. Of two points only the heights are
    known, not the angle between them: ‖z − z′‖² + (h − h′)² ≤ d² ≤ ‖z − z′‖² + (h + h′)². With one member these are
    the triangle inequalities.

    ``root`` (m, r) takes squared distances to R, centered, to coordinates; ``mean`` (m,) and ``spread`` are those of
    R itself; ``Z`` (n, r) and ``height`` (n,) are of Q.
    """

    root: np.ndarray
    mean: np.ndarray
    spread: float
    Z: np.ndarray
    height: np.ndarray

    @classmethod
    def of(cls, measured: Measured) -> "Enclosure":
        """The span of R, and Q in it."""
        k_RR, k_QQ = measured.inner.diagonal(), measured.K.diagonal()
        among = np.maximum(k_RR[:, None] + k_RR - 2 * measured.inner, 0)  # d² among R, (m, m)
        across = np.maximum(k_QQ[:, None] + k_RR - 2 * measured.cross.T, 0)  # d² of Q to R, (n, m)
        mean = among.mean(axis=0)
        # −½ J D J: inner products of R around its mean.
        values, vectors = linalg.eigh(linalg.symmetrize(-(among - mean - mean[:, None] + mean.mean()) / 2))
        keep = values > RANK * values.max(initial=0.0)
        root = vectors[:, keep] / np.sqrt(values[keep])
        span = cls(root, mean, float(mean.mean()) / 2, np.zeros((0, root.shape[1])), np.zeros(0))
        return cls(root, mean, span.spread, *span.placed(across))

    def placed(self, sqdist: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates and heights of points with squared distances (n, m) to R."""
        centered = sqdist.mean(axis=1, keepdims=True) - sqdist + self.mean - self.mean.mean()
        Z = centered / 2 @ self.root  # ⟨x − mean, r − mean⟩ in an orthonormal basis
        # ‖x − mean‖² is the mean d² to R less the mean d² of R to its mean.
        height = np.sqrt(np.maximum(sqdist.mean(axis=1) - self.spread - linalg.row_norms(Z), 0))
        return Z, height

    def of_sqdist(self, sqdist: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Least and largest d² to Q, (k, n) each, of points with squared distances (k, m) to R."""
        Z, height = self.placed(sqdist)
        apart = linalg.sqdist(Z, self.Z)
        return apart + (height[:, None] - self.height) ** 2, apart + (height[:, None] + self.height) ** 2
