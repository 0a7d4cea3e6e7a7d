"""Random pairs and triplets: from labels, every class drawn, and from continuous targets; no repeats.

Of targets, near is similar, and apart by a threshold or more is not.
"""

from typing import Any

import numpy as np

from gramian import _memory, _validate, linalg
from gramian.constraints.labels import Labels

Triples = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Anchors, points near to them, and points far from them."""

ROUNDS = 20
"""Draws of a far partner for each point before it is given up."""


def affordable(count: int, owner: str, name: str) -> int:
    """How many are to be drawn; so many that they do not fit are refused before the first one."""
    _memory.require(100 * count, owner, f"{count:,} draws", f"give a smaller {name}")
    return count


def _shares(sizes: np.ndarray, total: int) -> np.ndarray:
    """Split ``total`` draws over groups in proportion to their size, at least one for each nonempty group."""
    wanted = sizes / max(sizes.sum(), 1) * total
    shares: np.ndarray = np.where(sizes > 0, np.maximum(1, np.round(wanted)), 0).astype(int)
    return shares


def distinct(i: np.ndarray, j: np.ndarray, n: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """First ``count`` distinct unordered pairs in order of appearance."""
    low, high = np.minimum(i, j), np.maximum(i, j)
    _, earliest = np.unique(low * n + high, return_index=True)  # one number for each unordered pair
    rows = np.sort(earliest)[:count]
    return i[rows], j[rows]


def similar_pairs(labels: Labels, count: int, rng: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
    """About ``count`` distinct pairs within classes; every class of two or more points is drawn."""
    n = len(labels.codes)
    left, right = [], []
    groups = [g for g in labels.groups() if len(g) > 1]
    sizes = np.array([len(g) for g in groups], dtype=float)
    for members, share in zip(groups, _shares(sizes, count)):
        i, j = _within(members, share, n, rng)
        left.append(i)
        right.append(j)
    return _stack(left), _stack(right)


def _within(members: np.ndarray, share: int, n: int, rng: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
    """``share`` distinct pairs of one class: of all of them, shuffled, where these are few."""
    size = len(members)
    everything = size * (size - 1) // 2
    if share >= everything // 2:
        a, b = np.triu_indices(size, 1)
        pick = rng.permutation(everything)[:share]
        return members[a[pick]], members[b[pick]]
    a, b = _two(size, 4 * share, rng)
    return distinct(members[a], members[b], n, share)


def _two(size: int, count: int, rng: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
    """``count`` draws of two different members of a group."""
    a = rng.randint(size, size=count)
    return a, (a + rng.randint(1, size, size=count)) % size


def dissimilar_pairs(labels: Labels, count: int, rng: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
    """About ``count`` distinct pairs across classes; every class is drawn as an anchor."""
    n = len(labels.codes)
    labeled = np.flatnonzero(labels.codes >= 0)  # (n,)
    groups = labels.groups()
    sizes = np.array([len(g) for g in groups], dtype=float)
    everything = int((len(labeled) ** 2 - (sizes**2).sum()) // 2)  # (n² − Σ n_c²) / 2
    count = min(count, everything)
    if count == 0:
        return _stack([]), _stack([])
    if count >= everything // 2:
        i, j = labeled[np.stack(np.triu_indices(len(labeled), 1))]
        pick = rng.permutation(np.flatnonzero(labels.codes[i] != labels.codes[j]))[:count]
        return i[pick], j[pick]
    anchors = np.concatenate([g[rng.randint(len(g), size=4 * s)] for g, s in zip(groups, _shares(sizes, count))])
    strangers = _other_class(anchors, labeled, labels.codes, rng)
    order = _interleave(anchors, labels.codes, rng)
    return distinct(anchors[order], strangers[order], n, count)


def _interleave(anchors: np.ndarray, codes: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
    """A random order that puts one anchor of each class first."""
    order = rng.permutation(len(anchors))
    _, heads = np.unique(codes[anchors[order]], return_index=True)
    return np.concatenate([order[heads], np.delete(order, heads)])


def _other_class(anchors: np.ndarray, labeled: np.ndarray, codes: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
    """For each anchor a uniformly drawn labeled point of another class."""
    order = labeled[np.argsort(codes[labeled], kind="stable")]  # class by class: the anchor's is one run of it
    sorted_codes = codes[order]
    start = np.searchsorted(sorted_codes, codes[anchors], side="left")
    stop = np.searchsorted(sorted_codes, codes[anchors], side="right")
    rank = (rng.random_sample(len(anchors)) * (len(order) - (stop - start))).astype(int)
    strangers: np.ndarray = order[np.where(rank < start, rank, rank + (stop - start))]
    return strangers


def triplets(labels: Labels, count: int, rng: np.random.RandomState) -> Triples:
    """Up to ``count`` distinct (anchor, near, far); every class that can be an anchor is."""
    labeled = np.flatnonzero(labels.codes >= 0)
    groups = [g for g in labels.groups() if 1 < len(g) < len(labeled)]
    if not groups:
        return _stack([]), _stack([]), _stack([])
    sizes = np.array([len(g) for g in groups], dtype=float)
    anchors, mates = [], []
    for members, share in zip(groups, _shares(sizes, count)):
        a, b = _two(len(members), 2 * share, rng)
        anchors.append(members[a])
        mates.append(members[b])
    anchor = np.concatenate(anchors)
    rows = np.stack([anchor, np.concatenate(mates), _other_class(anchor, labeled, labels.codes, rng)])  # (3, m)
    rows = rows[:, _interleave(anchor, labels.codes, rng)]
    return _distinct_triplets(rows, count)


def _distinct_triplets(rows: np.ndarray, count: int) -> Triples:
    """The first ``count`` distinct columns (anchor, near, far), in order of appearance."""
    _, earliest = np.unique(rows, axis=1, return_index=True)
    anchor, mate, far = rows[:, np.sort(earliest)[:count]]
    return anchor, mate, far


def _stack(arrays: list[np.ndarray]) -> np.ndarray:
    return np.concatenate(arrays) if arrays else np.zeros(0, dtype=np.intp)


def target_pairs(
    Y: Any, n_near: int, threshold: float | None, n_pairs: int | None, owner: str, rng: np.random.RandomState
) -> tuple[np.ndarray, np.ndarray]:
    """Similar pairs (2, a) and dissimilar pairs (2, b) of points, a + b ≤ n_pairs, all distinct."""
    points, Y = with_target(Y, owner)
    count = _count(n_pairs, len(points), owner, "n_pairs")
    half = (count + 1) // 2
    anchors = in_turn(len(Y), 2 * half, rng)
    similar = distinct(anchors, near_targets(Y, anchors, n_near, owner, rng), len(Y), half)
    anchors, far = far_targets(Y, in_turn(len(Y), 2 * half, rng), threshold, owner, rng)
    dissimilar = distinct(anchors, far, len(Y), count - half)
    return points[np.stack(similar)], points[np.stack(dissimilar)]


def target_triplets(
    Y: Any, n_near: int, threshold: float | None, n_triplets: int | None, owner: str, rng: np.random.RandomState
) -> Triples:
    """Distinct (anchor, near, far) of points."""
    points, Y = with_target(Y, owner)
    count = _count(n_triplets, len(points), owner, "n_triplets")
    anchors, far = far_targets(Y, in_turn(len(Y), 2 * count, rng), threshold, owner, rng)
    rows = np.stack([anchors, near_targets(Y, anchors, n_near, owner, rng), far])  # (3, m)
    return _distinct_triplets(points[rows], count)


def with_target(Y: Any, owner: str) -> tuple[np.ndarray, np.ndarray]:
    """Indices of the points with a target, and their targets (n, t)."""
    Y = _validate.array(Y, owner, "targets")
    Y = Y[:, None] if Y.ndim == 1 else Y
    if Y.ndim != 2 or Y.shape[1] == 0 or np.isinf(Y).any():
        raise ValueError(f"{owner}: targets must be finite numbers (n,) or (n, t), got shape {Y.shape}.")
    points = np.flatnonzero(~np.isnan(Y).any(axis=1))
    if len(points) < 3:
        raise ValueError(f"{owner}: needs at least three points with a target, got {len(points)}.")
    return points, Y[points]


def _count(wanted: int | None, n: int, owner: str, name: str) -> int:
    return 5 * n if wanted is None else affordable(wanted, owner, name)


def in_turn(n: int, count: int, rng: np.random.RandomState) -> np.ndarray:
    """Points in turn, in a random order, ``count`` of them."""
    return np.resize(rng.permutation(n), count)


def near_targets(Y: np.ndarray, anchors: np.ndarray, n_near: int, owner: str, rng: np.random.RandomState) -> np.ndarray:
    """For each anchor one of the n_near points with the nearest targets, drawn."""
    from scipy.spatial import cKDTree

    k = min(n_near, len(Y) - 1)
    _, nearest = cKDTree(Y).query(Y, k + 1)  # (n, k + 1)
    itself = nearest == np.arange(len(Y))[:, None]
    itself[~itself.any(axis=1), -1] = True  # among many copies a point may miss itself
    mates: np.ndarray = nearest[~itself].reshape(len(Y), k)[anchors, rng.randint(k, size=len(anchors))]
    return mates


def far_targets(
    Y: np.ndarray, anchors: np.ndarray, threshold: float | None, owner: str, rng: np.random.RandomState
) -> tuple[np.ndarray, np.ndarray]:
    """Anchors, and for each a random point whose target is apart by the threshold; anchors without one are left out."""
    limit = dissimilar_from(Y, threshold, owner)
    far = np.full(len(anchors), -1)  # −1: none yet
    for _ in range(ROUNDS):
        missing = np.flatnonzero(far < 0)
        trial = rng.randint(len(Y), size=len(missing))
        apart = np.sqrt(linalg.pair_sqdist(Y[anchors[missing]], Y[trial]))
        good = (apart >= limit) & (apart > 0)
        far[missing[good]] = trial[good]
    success = far >= 0
    if not success.any():
        raise ValueError(f"{owner}: no targets apart by threshold = {limit:.3g} or more were found; lower threshold.")
    return anchors[success], far[success]


def dissimilar_from(Y: np.ndarray, threshold: float | None, owner: str) -> float:
    """The distance of targets from which on points are dissimilar."""
    if threshold is not None:
        return threshold
    rows = linalg.spread(len(Y), 1000)
    return float(np.sqrt(np.median(linalg.sqdist(Y[rows])[np.triu_indices(len(rows), 1)])))
