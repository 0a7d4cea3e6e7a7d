"""Nearest neighbors with and without the same label: the graphs that LMNN and DNE start from."""

from typing import Any

import numpy as np

from gramian import linalg
from gramian._arrays import asarray, namespace, to_numpy
from gramian.constraints import Labels, Triplets
from gramian.neighbors import nearest

BLOCK_BYTES = 8 << 20
"""Size of a block of distances in the search for impostors."""


def same_class(X: np.ndarray, labels: Labels, k: int) -> np.ndarray:
    """The k nearest points of the same class for each point, nearest first, (n, k).

    A class with fewer than k + 1 points gives what it has; the missing places hold the point itself.
    """
    targets = _themselves(X, k)
    for members in labels.groups():
        m = min(k, len(members) - 1)
        if m > 0:
            targets[members, :m] = members[to_numpy(nearest(linalg.take(X, members), m)[0])]
    return asarray(targets, X)


def other_class(X: np.ndarray, labels: Labels, k: int) -> np.ndarray:
    """The k nearest points of other classes for each point, (n, k), padded with the point itself."""
    strangers = _themselves(X, k)
    for c, members in enumerate(labels.groups()):
        beyond = np.flatnonzero(labels.codes != c)
        m = min(k, len(beyond))
        if m > 0:
            strangers[members, :m] = beyond[nearest(X[beyond], m, X[members])[0]]
    return strangers


def _themselves(X: np.ndarray, k: int) -> np.ndarray:
    """Each point k times, (n, k)."""
    return np.repeat(np.arange(X.shape[0])[:, None], k, axis=1)


def neighbor_triplets(X: np.ndarray, labels: Labels, n_near: int, n_far: int) -> Triplets:
    """Each point with one of the ``n_near`` nearest of its class and one of the ``n_far`` nearest of other classes."""
    friends, far = same_class(X, labels, n_near), other_class(X, labels, n_far)
    n = X.shape[0]
    anchor = np.repeat(np.arange(n), n_near * n_far)
    friends, far = np.repeat(friends, n_far, axis=1).ravel(), np.tile(far, (1, n_near)).ravel()
    real = (friends != anchor) & (far != anchor)
    return Triplets(anchor[real], friends[real], far[real])


def everywhere(X: np.ndarray, k: int) -> np.ndarray:
    """The k nearest other points of each point, whatever their class, (n, k)."""
    return nearest(X, k)[0]


def by_class(labels: Labels, beside: np.ndarray) -> np.ndarray:
    """The points in the order of their classes, where ``beside`` is."""
    return asarray(np.argsort(labels.codes, kind="stable"), beside)


def closer_than(
    Z: np.ndarray, labels: Labels, reach: np.ndarray, order: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """All pairs (i, l) of different classes with ‖z_i − z_l‖² < reach_i, sorted by i and then l.

    ``order`` is that of :func:`by_class`, where it is known already. One product of :func:`factors_of_sqdist` per block
    of rows against the later classes settles both (i, l) and (l, i).
    """
    xp, order = namespace(Z), by_class(labels, Z) if order is None else order
    n, ends = order.shape[0], np.cumsum(np.bincount(labels.codes)).tolist()
    A, B = factors_of_sqdist(linalg.take(Z, order) - linalg.mean(Z))
    reach = linalg.single(linalg.take(reach, order))
    keys = []
    for start, end in zip([0, *ends[:-2]], ends[:-1]):
        for block in linalg.blocks(end - start, 4 * (n - end), BLOCK_BYTES, of=Z):
            rows = slice(start + block.start, start + block.stop)
            D = A[rows, :] @ B[end:, :].T
            i, l = xp.nonzero(reach[rows][:, None] > D)
            keys.append(linalg.take(order, i + rows.start) * n + linalg.take(order, l + end))
            i, l = xp.nonzero(reach[end:] > D)
            keys.append(linalg.take(order, l + end) * n + linalg.take(order, i + rows.start))
    places = xp.sort(xp.concat(keys))
    return places // n, places % n


def factors_of_sqdist(Z: Any) -> tuple[Any, Any]:
    """Rows [−2z, 1, |z|²] and [z, |z|², 1] in single precision, whose products are squared distances."""
    xp, q = namespace(Z), linalg.row_norms(Z)[:, None]  # (n, 1)
    ones = xp.ones_like(q)
    return (
        linalg.single(xp.concat([-2 * Z, ones, q], axis=1)),
        linalg.single(xp.concat([Z, q, ones], axis=1)),
    )


def require_classes(labels: Labels, owner: str) -> None:
    """Learning needs at least two classes, one of them with two points."""
    sizes = np.bincount(labels.codes)
    if len(sizes) < 2:
        raise ValueError(f"{owner}: needs at least two classes, got {len(sizes)}.")
    if sizes.max() < 2:
        raise ValueError(f"{owner}: needs a class with at least two points, got only singletons.")
