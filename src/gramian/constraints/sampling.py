"""Random pairs and triplets from labels: counts that grow with n, every class drawn, no repeats."""

import numpy as np

from gramian import _memory
from gramian.constraints.base import Labels


def asked(count: int, owner: str, name: str) -> int:
    """How many are to be drawn; so many that they do not fit are refused before the first one."""
    _memory.require(100 * count, owner, f"{count:,} draws", f"give a smaller {name}")
    return count


def _shares(sizes: np.ndarray, total: int) -> np.ndarray:
    """Split ``total`` draws over groups in proportion to their size, at least one for each nonempty group."""
    wanted = sizes / max(sizes.sum(), 1) * total
    return np.where(sizes > 0, np.maximum(1, np.round(wanted)), 0).astype(int)


def distinct(i: np.ndarray, j: np.ndarray, n: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """First ``count`` distinct unordered pairs in order of appearance."""
    low, high = np.minimum(i, j), np.maximum(i, j)
    _, first = np.unique(low * n + high, return_index=True)
    keep = np.sort(first)[:count]
    return i[keep], j[keep]


def similar_pairs(labels: Labels, count: int, rng: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
    """About ``count`` distinct pairs within classes; every class of two or more points is drawn."""
    n = len(labels.codes)
    left, right = [], []
    groups = [g for g in labels.groups() if len(g) > 1]
    sizes = np.array([len(g) for g in groups], dtype=float)
    for members, share in zip(groups, _shares(sizes, count)):
        size = len(members)
        everything = size * (size - 1) // 2
        if share >= everything // 2:
            a, b = np.triu_indices(size, 1)
            pick = rng.permutation(everything)[:share]
            i, j = members[a[pick]], members[b[pick]]
        else:
            a = rng.randint(size, size=4 * share)
            b = (a + rng.randint(1, size, size=4 * share)) % size
            i, j = distinct(members[a], members[b], n, share)
        left.append(i)
        right.append(j)
    return _stack(left), _stack(right)


def dissimilar_pairs(labels: Labels, count: int, rng: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
    """About ``count`` distinct pairs across classes; every class is drawn as an anchor."""
    n = len(labels.codes)
    known = np.flatnonzero(labels.codes >= 0)
    groups = labels.groups()
    sizes = np.array([len(g) for g in groups], dtype=float)
    everything = int((len(known) ** 2 - (sizes**2).sum()) // 2)
    count = min(count, everything)
    if count == 0:
        return _stack([]), _stack([])
    if count >= everything // 2:
        a, b = np.triu_indices(len(known), 1)
        cross = labels.codes[known[a]] != labels.codes[known[b]]
        pick = rng.permutation(np.flatnonzero(cross))[:count]
        return known[a[pick]], known[b[pick]]
    anchors = np.concatenate([g[rng.randint(len(g), size=4 * s)] for g, s in zip(groups, _shares(sizes, count))])
    others = _other_class(anchors, known, labels.codes, rng)
    order = _interleave(anchors, labels.codes, rng)
    return distinct(anchors[order], others[order], n, count)


def _interleave(anchors: np.ndarray, codes: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
    """A random order that puts one anchor of each class first."""
    order = rng.permutation(len(anchors))
    _, first = np.unique(codes[anchors[order]], return_index=True)
    return np.concatenate([order[first], np.delete(order, first)])


def _other_class(anchors: np.ndarray, known: np.ndarray, codes: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
    """For each anchor a uniformly drawn known point of another class."""
    order = known[np.argsort(codes[known], kind="stable")]
    sorted_codes = codes[order]
    start = np.searchsorted(sorted_codes, codes[anchors], side="left")
    stop = np.searchsorted(sorted_codes, codes[anchors], side="right")
    rank = (rng.random_sample(len(anchors)) * (len(order) - (stop - start))).astype(int)
    return order[np.where(rank < start, rank, rank + (stop - start))]


def triplets(labels: Labels, count: int, rng: np.random.RandomState) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Up to ``count`` distinct (anchor, near, far); every class that can be an anchor is."""
    known = np.flatnonzero(labels.codes >= 0)
    groups = [g for g in labels.groups() if 1 < len(g) < len(known)]
    if not groups:
        return _stack([]), _stack([]), _stack([])
    sizes = np.array([len(g) for g in groups], dtype=float)
    anchors, mates = [], []
    for members, share in zip(groups, _shares(sizes, count)):
        a = rng.randint(len(members), size=2 * share)
        b = (a + rng.randint(1, len(members), size=2 * share)) % len(members)
        anchors.append(members[a])
        mates.append(members[b])
    anchor, near = np.concatenate(anchors), np.concatenate(mates)
    far = _other_class(anchor, known, labels.codes, rng)
    order = _interleave(anchor, labels.codes, rng)
    _, first = np.unique(np.stack([anchor, near, far], 1)[order], axis=0, return_index=True)
    keep = order[np.sort(first)[:count]]
    return anchor[keep], near[keep], far[keep]


def _stack(parts: list[np.ndarray]) -> np.ndarray:
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.intp)
