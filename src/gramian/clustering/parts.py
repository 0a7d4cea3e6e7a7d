"""Data as a sum of parts: z = μ¹_{c¹} + … + μᵀ_{cᵀ} + noise, one part of each clustering per point.

With a stacked membership h ∈ {0, 1}^K of a point and stacked parts C, the model is z ~ N(Cᵀh, v I) and memberships have
independent prior weights. All that a step on C, v and the weights needs of the data are the moments S = Σ E[h] zᵀ and
N = Σ E[h hᵀ], so that ‖z − Cᵀh‖² summed over the points is Σ‖z‖² − 2⟨S, C⟩ + ⟨N, CCᵀ⟩.
"""

from dataclasses import dataclass
from itertools import product

import numpy as np

from gramian import linalg
from gramian.clustering.points import Points, indicator, parts

LIMIT = 2048
"""Combinations of parts up to which all are tried for each point; above it they are sampled."""

SWEEPS = 5
"""Passes of the sampler over the clusterings, before two that only improve."""


@dataclass(frozen=True)
class State:
    """Stacked parts C (K, d), their prior weights (K,), and the variance v of a point around its sum of parts."""

    C: np.ndarray
    weights: np.ndarray
    variance: float


@dataclass(frozen=True)
class Moments:
    """S (K, d) and N (K, K), the most probable labels, and the log-likelihood that they were found under."""

    S: np.ndarray
    N: np.ndarray
    labels: np.ndarray
    likelihood: float


def moments(points: Points, labels: np.ndarray, k: tuple[int, ...], likelihood: float = -np.inf) -> Moments:
    """Moments of certain labels."""
    S, _ = points.sums(labels, k)
    N = np.zeros((sum(k), sum(k)))
    for rows in points.blocks():
        H = indicator(labels[rows], k)
        N += H.T @ H
    return Moments(S, N, labels, likelihood)


def exact(points: Points, state: State, k: tuple[int, ...], soft: bool) -> Moments:
    """E-step over all combinations of parts: (8.7) of Jain 2009 when hard, their probabilities when soft.

    The likelihood is that of the labels (hard) or of the points (soft). Points are worked on in blocks, so n × Πk_t is
    never held.
    """
    combos = np.array(list(product(*map(range, k))))  # (Πk_t, T)
    B = indicator(combos, k)  # (Πk_t, K)
    labels, total = np.empty((len(points), len(k)), np.int32), 0.0
    S, N = np.zeros_like(state.C), np.zeros((sum(k), sum(k)))
    for rows in linalg.blocks(len(points), 8 * len(combos), 8 << 20):
        logp = _log_probability(points, state, B, rows)
        best = logp.argmax(axis=1)
        top = logp[np.arange(len(best)), best]
        labels[rows] = combos[best]
        total += top.sum()
        if soft:
            R = np.exp(logp - top[:, None])
            total += np.log(R.sum(axis=1)).sum()
            R /= R.sum(axis=1, keepdims=True)
            H = R @ B  # (rows, K), E[h]
            S += H.T @ points.X[rows] - H.sum(axis=0)[:, None] * points.shift
            N += (B.T * R.sum(axis=0)) @ B
    likelihood = total - _log_normalizer(points, state)
    return Moments(S, N, labels, likelihood) if soft else moments(points, labels, k, likelihood)


def _log_probability(points: Points, state: State, B: np.ndarray, rows: slice) -> np.ndarray:
    """Log-probability of some points with each combination of parts, (rows, Πk_t), up to a constant."""
    squares = np.einsum("ij,ij->i", B @ (state.C @ state.C.T), B)  # ‖Cᵀh‖²
    fit = np.asarray(points.inner(state.C, rows), np.float64) @ B.T - squares / 2  # zᵀCᵀh − ½‖Cᵀh‖²
    logp: np.ndarray = fit / state.variance + B @ _log(state.weights)
    return logp - points.norms[rows, None] / (2 * state.variance)


def gibbs(
    points: Points, state: State, k: tuple[int, ...], soft: bool, labels: np.ndarray, rng: np.random.RandomState
) -> Moments:
    """E-step by Gibbs sampling from given labels, O(K) per point and pass in place of Πk_t (Ghahramani 1995).

    Keeps the best labels seen, so the likelihood of the labels never falls; moments are those of the best labels, or
    the average over the samples when soft.
    """
    inner = np.asarray(points.inner(state.C), np.float64)  # (n, K)
    gram, prior = state.C @ state.C.T, _log(state.weights)
    labels = labels.copy()
    best, best_value = labels.copy(), _joint(inner, gram, prior, labels, k, state.variance)
    samples = []
    for sweep in range(SWEEPS + 2):
        labels = labels if sweep < SWEEPS else best.copy()
        for t, block in enumerate(parts(k)):
            logp = _conditional(inner, gram, prior, indicator(labels, k), block, state.variance)
            labels[:, t] = (logp + (rng.gumbel(size=logp.shape) if sweep < SWEEPS else 0)).argmax(axis=1)
        value = _joint(inner, gram, prior, labels, k, state.variance)
        better = value > best_value
        best[better], best_value[better] = labels[better], value[better]
        if soft and sweep < SWEEPS:
            samples.append(moments(points, labels, k))
    likelihood = (best_value - points.norms / (2 * state.variance)).sum() - _log_normalizer(points, state)
    if not soft:
        return moments(points, best, k, likelihood)
    S, N = np.mean([m.S for m in samples], axis=0), np.mean([m.N for m in samples], axis=0)
    return Moments(S, N, best, likelihood)


def _conditional(
    inner: np.ndarray, gram: np.ndarray, prior: np.ndarray, H: np.ndarray, block: slice, variance: float
) -> np.ndarray:
    """Log-probability of the labels of one clustering given all others, (n, k_t), up to a constant."""
    # inner products of each part with the sum of the parts that the point has in the other clusterings
    rest = np.delete(H, block, axis=1) @ np.delete(gram, block, axis=0)[:, block]
    logp: np.ndarray = (inner[:, block] - rest - np.diag(gram)[block] / 2) / variance + prior[block]
    return logp


def residual(energy: float, m: Moments, C: np.ndarray) -> float:
    """Σ E‖z − Cᵀh‖², from the moments."""
    return float(max(energy - 2 * np.vdot(m.S, C) + np.vdot(m.N, C @ C.T), 0.0))


def _joint(
    inner: np.ndarray, gram: np.ndarray, prior: np.ndarray, labels: np.ndarray, k: tuple[int, ...], variance: float
) -> np.ndarray:
    """Log-probability of labels and points, (n,), up to what does not depend on the labels."""
    H = indicator(labels, k)
    squares = np.einsum("ij,ij->i", H @ gram, H)  # ‖Cᵀh‖²
    logp: np.ndarray = (np.einsum("ij,ij->i", H, inner) - squares / 2) / variance + H @ prior
    return logp


def _log_normalizer(points: Points, state: State) -> float:
    return float(len(points) * points.d / 2 * np.log(2 * np.pi * state.variance))


def _log(weights: np.ndarray) -> np.ndarray:
    """Logarithm with a very small number for parts that no point has."""
    logs: np.ndarray = np.log(np.maximum(weights, 1e-300))
    return logs
