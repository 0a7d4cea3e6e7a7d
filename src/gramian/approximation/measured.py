"""What is known of a set before any projection: squared distances, the kernel (3) of them, and its medoid."""

from typing import Any

import numpy as np

from gramian import _validate, linalg
from gramian.approximation.selection import Criterion, Method, select_subset

OWNER = "SubsetDistance"


def kernel_values(g: np.ndarray, D: np.ndarray) -> np.ndarray:
    """K of (3) among objects with squared distances D."""
    K: np.ndarray = g[:, None] - D / 2 + g
    return K


def medoid(D: np.ndarray, subset: np.ndarray | None) -> int:
    """The place in Q of what is nearest to all of it, among a subset where there is one."""
    sums = D.sum(axis=1)
    return int(sums.argmin()) if subset is None else int(subset[sums[subset].argmin()])


def roots(distances: Any, shape: tuple[int, int]) -> np.ndarray:
    """Distances that are known, finite and nonnegative."""
    d = _validate.array(distances, OWNER, "distances").astype(np.float64)
    if d.shape != shape or not np.isfinite(d).all() or (d < 0).any():
        raise ValueError(f"{OWNER}: distances must be finite, nonnegative, of shape {shape}, got shape {d.shape}.")
    return d


def squares(distances: Any, n: int) -> np.ndarray:
    """Squares of the known distances among n objects."""
    d = roots(distances, (n, n))
    if np.abs(d - d.T).max(initial=0.0) > 1e-8 * d.max(initial=0.0) or d.diagonal().any():
        raise ValueError(f"{OWNER}: distances must be symmetric with a diagonal of 0.")
    return linalg.symmetrize(d) ** 2


def joined(Q: Any, new: Any) -> Any:
    """Objects after objects."""
    if isinstance(Q, np.ndarray):
        return np.concatenate([Q, new])
    return [*Q, *new]


def selected(selection: Method | np.ndarray, criterion: Criterion, K: np.ndarray, m: int) -> np.ndarray:
    """The m members that a method chooses by the Gram matrix of Q, or those that were given."""
    if isinstance(selection, str):
        return select_subset(K, m, criterion=criterion, method=selection)
    subset = _validate.indices(selection, OWNER, "selection", len(K))
    if len(subset) != m or len(set(subset.tolist())) != m:
        raise ValueError(f"{OWNER}: selection must hold m={m} distinct indices, got {len(subset)}.")
    return subset
