"""Nearest neighbors with and without the same label: the graphs that LMNN and DNE start from."""

import numpy as np

from gramian import linalg
from gramian.constraints import Labels, Triplets
from gramian.neighbors import nearest

BLOCK_BYTES = 8 << 20
"""Size of a block of distances in the search for impostors."""


def same_class(X: np.ndarray, labels: Labels, k: int) -> np.ndarray:
    """The k nearest points of the same class for each point, nearest first, (n, k).

    A class with fewer than k + 1 points gives what it has; the missing places hold the point itself.
    """
    found = _themselves(X, k)
    for members in labels.groups():
        m = min(k, len(members) - 1)
        if m > 0:
            members = linalg.placed(members, X)
            found[members, :m] = members[nearest(X[members], m)[0]]
    return found


def other_class(X: np.ndarray, labels: Labels, k: int) -> np.ndarray:
    """The k nearest points of other classes for each point, (n, k), padded with the point itself."""
    found = _themselves(X, k)
    for c, members in enumerate(labels.groups()):
        others = linalg.placed(np.flatnonzero(labels.codes != c), X)
        m = min(k, len(others))
        if m > 0:
            members = linalg.placed(members, X)
            found[members, :m] = others[nearest(X[others], m, X[members])[0]]
    return found


def _themselves(X: np.ndarray, k: int) -> np.ndarray:
    """Each point k times, (n, k)."""
    return np.repeat(linalg.numbers(X.shape[0], X)[:, None], k, axis=1)


def neighbor_triplets(X: np.ndarray, labels: Labels, n_near: int, n_far: int) -> Triplets:
    """Each point with one of the ``n_near`` nearest of its class and one of the ``n_far`` nearest of other classes."""
    near, far = same_class(X, labels, n_near), other_class(X, labels, n_far)
    n = X.shape[0]
    anchor = np.repeat(np.arange(n), n_near * n_far)
    near, far = np.repeat(near, n_far, axis=1).ravel(), np.tile(far, (1, n_near)).ravel()
    real = (near != anchor) & (far != anchor)
    return Triplets(anchor[real], near[real], far[real])


def everywhere(X: np.ndarray, k: int) -> np.ndarray:
    """The k nearest other points of each point, whatever their class, (n, k)."""
    return nearest(X, k)[0]


def by_class(labels: Labels, beside: np.ndarray) -> np.ndarray:
    """The points in the order of their classes, where ``beside`` is."""
    return linalg.placed(np.argsort(labels.codes, kind="stable"), beside)


def closer_than(
    Z: np.ndarray, labels: Labels, reach: np.ndarray, order: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """All pairs (i, l) of different classes with ‖z_i − z_l‖² < reach_i, sorted by i and then l.

    ``order`` is that of :func:`by_class`, where it is known already. One float32 matrix product per block of rows
    against the later classes settles both (i, l) and (l, i):
    rows [−2z, 1, |z|²] times [z, |z|², 1] are the squared distances.
    """
    order = by_class(labels, Z) if order is None else order
    n, ends = len(order), np.cumsum(np.bincount(labels.codes))
    Z = Z[order] - Z.mean(axis=0)
    q = linalg.row_norms(Z)[:, None]
    ones = np.ones_like(q)
    A = np.hstack([-2 * Z, ones, q]).astype(np.float32)
    B = np.hstack([Z, q, ones]).astype(np.float32)
    reach = reach[order].astype(np.float32)
    keys = []
    for start, end in zip([0, *ends[:-2]], ends[:-1]):
        for block in linalg.blocks(end - start, 4 * (n - end), BLOCK_BYTES, of=Z):
            rows = slice(start + block.start, start + block.stop)
            D = A[rows] @ B[end:].T
            i, l = np.nonzero(reach[rows, None] > D)
            keys.append(order[i + rows.start] * n + order[l + end])
            i, l = np.nonzero(reach[end:] > D)
            keys.append(order[l + end] * n + order[i + rows.start])
    found = np.sort(np.concatenate(keys))
    return found // n, found % n


def require_classes(labels: Labels, owner: str) -> None:
    """Learning needs at least two classes, one of them with two points."""
    sizes = np.bincount(labels.codes)
    if len(sizes) < 2:
        raise ValueError(f"{owner}: needs at least two classes, got {len(sizes)}.")
    if sizes.max() < 2:
        raise ValueError(f"{owner}: needs a class with at least two points, got only singletons.")
