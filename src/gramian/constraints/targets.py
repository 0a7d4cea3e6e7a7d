"""Pairs and triplets from continuous targets: near in the target is similar, apart by a threshold is not."""

from typing import Any

import numpy as np

from gramian import _checks, linalg
from gramian.constraints.sampling import asked, distinct

ROUNDS = 20
"""Draws of a far partner for each point before it is given up."""


def target_pairs(
    Y: Any, n_near: int, threshold: float | None, n_pairs: int | None, owner: str, rng: np.random.RandomState
) -> tuple[np.ndarray, np.ndarray]:
    """Similar pairs (2, a) and dissimilar pairs (2, b) of points, a + b ≤ n_pairs, all distinct."""
    known, Y = with_target(Y, owner)
    count = _count(n_pairs, len(known), owner, "n_pairs")
    half = (count + 1) // 2
    anchors = in_turn(len(Y), 2 * half, rng)
    similar = distinct(anchors, near_targets(Y, anchors, n_near, owner, rng), len(Y), half)
    anchors, far = far_targets(Y, in_turn(len(Y), 2 * half, rng), threshold, owner, rng)
    dissimilar = distinct(anchors, far, len(Y), count - half)
    return known[np.stack(similar)], known[np.stack(dissimilar)]


def target_triplets(
    Y: Any, n_near: int, threshold: float | None, n_triplets: int | None, owner: str, rng: np.random.RandomState
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Distinct (anchor, near, far) of points."""
    known, Y = with_target(Y, owner)
    count = _count(n_triplets, len(known), owner, "n_triplets")
    anchors, far = far_targets(Y, in_turn(len(Y), 2 * count, rng), threshold, owner, rng)
    rows = np.stack([anchors, near_targets(Y, anchors, n_near, owner, rng), far])
    _, first = np.unique(rows, axis=1, return_index=True)
    anchor, mate, other = known[rows[:, np.sort(first)[:count]]]
    return anchor, mate, other


def with_target(Y: Any, owner: str) -> tuple[np.ndarray, np.ndarray]:
    """Indices of the points with a target, and their targets (n, t)."""
    Y = _checks.array(Y, owner, "targets")
    Y = Y[:, None] if Y.ndim == 1 else Y
    if Y.ndim != 2 or Y.shape[1] == 0 or np.isinf(Y).any():
        raise ValueError(f"{owner}: targets must be finite numbers (n,) or (n, t), got shape {Y.shape}.")
    known = np.flatnonzero(~np.isnan(Y).any(axis=1))
    if len(known) < 3:
        raise ValueError(f"{owner}: needs at least three points with a target, got {len(known)}.")
    return known, Y[known]


def _count(given: int | None, n: int, owner: str, name: str) -> int:
    return 5 * n if given is None else asked(given, owner, name)


def in_turn(n: int, count: int, rng: np.random.RandomState) -> np.ndarray:
    """Points in turn, in a random order, ``count`` of them."""
    return np.resize(rng.permutation(n), count)


def near_targets(Y: np.ndarray, anchors: np.ndarray, n_near: int, owner: str, rng: np.random.RandomState) -> np.ndarray:
    """For each anchor one of the n_near points with the nearest targets, drawn."""
    from scipy.spatial import cKDTree

    k = min(n_near, len(Y) - 1)
    _, found = cKDTree(Y).query(Y, k + 1)
    itself = found == np.arange(len(Y))[:, None]
    itself[~itself.any(axis=1), -1] = True  # among many copies a point may miss itself
    near = found[~itself].reshape(len(Y), k)
    return near[anchors, rng.randint(k, size=len(anchors))]


def far_targets(
    Y: np.ndarray, anchors: np.ndarray, threshold: float | None, owner: str, rng: np.random.RandomState
) -> tuple[np.ndarray, np.ndarray]:
    """Anchors, and for each a random point whose target is apart by the threshold; anchors without one are left out."""
    limit = dissimilar_from(Y, threshold, owner)
    far = np.full(len(anchors), -1)
    for _ in range(ROUNDS):
        missing = np.flatnonzero(far < 0)
        trial = rng.randint(len(Y), size=len(missing))
        apart = np.sqrt(linalg.pair_sqdist(Y[anchors[missing]], Y[trial]))
        good = (apart >= limit) & (apart > 0)
        far[missing[good]] = trial[good]
    found = far >= 0
    if not found.any():
        raise ValueError(f"{owner}: no targets apart by threshold = {limit:.3g} or more were found; lower threshold.")
    return anchors[found], far[found]


def dissimilar_from(Y: np.ndarray, threshold: float | None, owner: str) -> float:
    """The distance of targets from which on points are dissimilar."""
    if threshold is not None:
        return threshold
    rows = linalg.spread(len(Y), 1000)
    return float(np.sqrt(np.median(linalg.sqdist(Y[rows])[np.triu_indices(len(rows), 1)])))
