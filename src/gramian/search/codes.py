"""Hash bits: random directions, packing, and what a Hamming distance says about an angle."""

from functools import lru_cache
from typing import Any

import numpy as np
from scipy import sparse

from gramian import linalg

_FEATURES = 8192
"""Features whose directions are drawn at a time."""


def directions(seed: int, features: Any, n_bits: int) -> np.ndarray:
    """Standard normal r (len(features), n_bits): entry (f, b) is a function of (seed, f, b) and never stored.

    So the directions of a sparse point need only the rows of its non-zero features, in any order and at any time.
    """
    from gramian._jit.directions import gaussians

    return gaussians(np.uint64(seed), np.ascontiguousarray(features, dtype=np.int64), n_bits)


@lru_cache(maxsize=8)
def first_directions(seed: int, n_features: int, n_bits: int) -> np.ndarray:
    """Directions of the first features, kept for the next call."""
    R = directions(seed, np.arange(n_features), n_bits)
    R.flags.writeable = False
    return R


@lru_cache(maxsize=8)
def orthonormal_directions(seed: int, n_features: int, n_bits: int) -> np.ndarray:
    """Directions (n_features, n_bits) of a uniformly random rotation: orthonormal columns, or rows when they are fewer.

    These are n_bits of the axes of R^D, D = max(n_features, n_bits), seen in the first n_features coordinates of a
    random rotation. Each alone has the law of a normalized Gaussian direction; together they err less.
    """
    R = directions(seed, np.arange(n_features), n_bits)
    tall = R if n_features >= n_bits else R.T
    Q, T = np.linalg.qr(tall)
    Q = Q * np.where(np.diag(T) < 0, -1.0, 1.0)  # otherwise Q has the signs of the algorithm, and is not uniform
    R = Q if n_features >= n_bits else np.ascontiguousarray(Q.T)
    R.flags.writeable = False
    return R


def project(V: Any, seed: int, n_bits: int) -> np.ndarray:
    """Products vᵀr of rows v, dense or sparse, (n, n_bits)."""
    P = np.zeros((V.shape[0], n_bits))
    used = np.arange(V.shape[1])
    if sparse.issparse(V):
        used = np.unique(V.indices)
        V = linalg.in_columns(V, used).tocsc()
    for start in range(0, len(used), _FEATURES):
        some = slice(start, start + _FEATURES)
        P += np.asarray(V[:, some] @ directions(seed, used[some], n_bits))
    return P


def pack(P: np.ndarray) -> np.ndarray:
    """Bits [P ≥ 0] (Jain 2009, (4.3)) packed to uint8 (n, n_bits / 8), lowest bit first."""
    return np.packbits(linalg.dense(P) >= 0, axis=1, bitorder="little")


def words(packed: np.ndarray) -> np.ndarray:
    """Packed codes as rows of uint64, padded with zero bits."""
    n, width = packed.shape
    padded = np.zeros((n, -(-width // 8) * 8), np.uint8)
    padded[:, :width] = packed
    return padded.view(np.uint64)


@lru_cache(maxsize=16)
def angle_limits(n_bits: int, recall: float) -> np.ndarray:
    """cos(π p_h) for h = 0 … n_bits, with p_h the least p at which Binomial(n_bits, p) ≥ h has probability 1 − recall.

    The bits of two points at angle θ differ independently with probability θ/π. So a point whose angle to the query is
    at most θ lies at a Hamming distance h with cos(π p_h) < cos θ with probability at most 1 − recall.
    """
    from scipy.stats import beta

    h = np.arange(1, n_bits + 1)
    p = beta.ppf(1 - recall, h, n_bits - h + 1)
    limits = np.cos(np.pi * np.concatenate([[0.0], p]))
    limits.flags.writeable = False
    return limits


def sphere_quantile(dimension: int, tail: float) -> float:
    """z with P[ε > z] = tail for a coordinate ε of a uniform point on the unit sphere of R^dimension; 0 if tail > ½."""
    from scipy.stats import beta

    return float(np.sqrt(beta.ppf(max(1 - 2 * tail, 0.0), 0.5, (dimension - 1) / 2)))
