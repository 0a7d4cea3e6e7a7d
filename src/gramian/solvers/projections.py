"""One sweep of cyclic LogDet projections for any slack, in NumPy: what the compiled sweeps compute for theirs."""

from collections.abc import Callable
from typing import Any

import numpy as np

from gramian.solvers.slack import Slack


def sweep(
    M: np.ndarray,
    vectors: np.ndarray,
    signs: np.ndarray,
    offset: np.ndarray,
    bound: np.ndarray,
    lam: np.ndarray,
    active: np.ndarray,
    slack: Slack,
    tau: float = 1.0,
) -> None:
    """Project onto the active constraints in turn; M and λ change in place.

    A_i = Σ_s signs[i, s] u_s u_sᵀ with u = vectors[i]; the multipliers of ``slack`` are τλ.
    """
    for i in active:
        terms = signs[i] != 0
        U, sign = vectors[i, terms], signs[i, terms]
        images = U @ M
        gram = images @ U.T
        mu = np.linalg.eigvals(sign[:, None] * gram).real  # of A_i M
        if not mu.any():
            continue
        a = step(mu, offset[i], lam[i], bound[i], slack, tau)
        if a != 0:
            lam[i] = max(lam[i] + a, 0.0)
            # The Woodbury correction of M⁻¹ ← M⁻¹ + a A_i.
            M -= images.T @ np.linalg.solve(np.diag(1 / (a * sign)) + gram, images)


def step(mu: np.ndarray, offset: float, lam: float, b: float, slack: Slack, tau: float = 1.0) -> float:
    """The change a of one multiplier that maximizes the dual: Σ_s μ_s/(1 + aμ_s) + offset = s′(τ(λ + a)).

    The left side falls and the right side rises with a; λ + a ends in [0, upper / τ].
    """

    def rising(a: float) -> bool:
        scale = 1 + a * mu
        multiplier = np.asarray(tau * (lam + a))
        if (scale <= 0).any() or not np.isfinite(slack.cost(multiplier, b)):
            return a < 0  # beyond a barrier: the way back is up
        return float((mu / scale).sum()) + offset > float(slack.bound(multiplier, b))

    least = -lam
    most = float(slack.upper(np.asarray(b))) / tau - lam
    if not rising(least):
        return least
    if np.isfinite(most) and rising(most):
        return most
    return bisection(rising, least, most, 1 / float(np.abs(mu).max()))


def bisection(rising: Callable[[float], Any], low: float, high: float, scale: float) -> float:
    """Where ``rising`` turns from true to false, to rounding; ``high`` may be infinite."""
    if not np.isfinite(high):
        high = max(low, 0.0) + scale
        while rising(high) and high < 1e18 * scale:
            low = high
            high = 2 * high + scale
    while True:
        middle = 0.5 * (low + high)
        if not low < middle < high:
            return middle
        low, high = (middle, high) if rising(middle) else (low, middle)
