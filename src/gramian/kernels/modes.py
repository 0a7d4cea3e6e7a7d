"""Near pairs under a kernel: which ones local alignment looks at, and classes that fall into several clusters."""

from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from gramian import _validate, linalg
from gramian.kernels.base import Kernel
from gramian.kernels.weighted import Weighted
from gramian.linalg import take
from gramian.neighbors import smallest

MODE_SHARE, MODE_NEIGHBORS = 0.1, 5
"""A mode of a class holds this share of its points and is a component of its graph of this many neighbors."""


def nearest(kernel: Kernel, X: Any, rows: np.ndarray, columns: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """For each of ``rows`` its k nearest among ``columns``, itself left out, as index pairs."""
    k = min(k, len(columns) - int(np.isin(rows, columns).any()))
    if k < 1:
        return np.zeros(0, np.intp), np.zeros(0, np.intp)
    near = np.empty((len(rows), k), dtype=np.intp)
    others, diagonal = take(X, columns), kernel._diag(take(X, columns))
    for block in linalg.blocks(len(rows), 8 * len(columns)):
        D = diagonal - 2 * kernel._gram(take(X, rows[block]), others)
        near[block], _ = smallest(D, k, np.broadcast_to(columns, D.shape), rows[block])
    return np.repeat(rows, k), near.ravel()


def local_pairs(kernels: list[Kernel], X: Any, codes: np.ndarray, k: int) -> sparse.csr_array:
    """Symmetric 0/1 matrix of near pairs under the sum of the kernels, within and across classes, and the diagonal."""
    everything = Weighted(tuple(kernels), np.array([1 / max(float(kern._diag(X).mean()), 1e-300) for kern in kernels]))
    n = len(codes)
    pairs = []
    for c in range(int(codes.max()) + 1):
        inside, outside = np.flatnonzero(codes == c), np.flatnonzero(codes != c)
        pairs += [nearest(everything, X, inside, inside, k), nearest(everything, X, inside, outside, k)]
    i, j = (np.concatenate(part) for part in zip(*pairs, (np.arange(n), np.arange(n))))
    A = sparse.csr_array((np.ones(len(i)), (i, j)), shape=(n, n))
    return sparse.csr_array(((A + A.T) > 0).astype(float))


def warn_of_modes(kernel: Kernel, X: Any, codes: np.ndarray, classes: np.ndarray) -> None:
    """Warn of classes whose graph of near neighbors under the kernel has several large components."""
    several = []
    for c in range(len(classes)):
        members = np.flatnonzero(codes == c)
        if len(members) < 4 * MODE_NEIGHBORS:
            continue
        i, j = nearest(kernel, X, members, members, MODE_NEIGHBORS)
        place = np.searchsorted(members, np.stack([i, j]))
        graph = sparse.csr_array((np.ones(len(i)), tuple(place)), shape=(len(members),) * 2)
        parts = np.bincount(connected_components(graph, directed=False)[1])
        if (parts >= max(MODE_SHARE * len(members), MODE_NEIGHBORS + 1)).sum() > 1:
            several.append(classes[c].item() if hasattr(classes[c], "item") else classes[c])
    if several:
        _validate.warn(
            f"align: class {', '.join(map(repr, several))} falls into several clusters, which alignment would join; "
            "consider n_neighbors, or choose the kernel by cross-validation.",
        )
