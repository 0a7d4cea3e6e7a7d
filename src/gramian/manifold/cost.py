"""Costs of transductive distance learning that are linear in squared distances (Li, Yang and Wang 2007, §2.1, §3.1)."""

from typing import Any

import numpy as np
from scipy import sparse

from gramian.constraints import Constraints, Pairs, Triplets
from gramian.manifold.graph import neighbors_of


def cost_matrix(X: Any, codes: np.ndarray, k: int, **search: Any) -> sparse.csr_array:
    """Symmetric C with tr(CD) = Σ_i C(D, x_i, y_i), equation (6).

    Row i holds 1/k on the k nearest labeled points of its class and −1/k on the k nearest of the others; with fewer
    than k of a kind the average is over those there are. (6) is not symmetric as printed: C = (C + Cᵀ)/2, which
    leaves tr(CD) as it is. ``codes`` is −1 for an unlabeled point; ``search`` goes to :func:`neighbors_of`, X
    was checked.
    """
    n = len(codes)
    C = sparse.csr_array((n, n))  # row by row 1/k and −1/k, before it is made symmetric
    for c in range(codes.max(initial=-1) + 1):
        inside = np.flatnonzero(codes == c)
        outside = np.flatnonzero((codes >= 0) & (codes != c))
        if len(inside) > 1:
            C = C + _edges(inside, inside[neighbors_of(X[inside], k, **search)[0]], n)
        if len(inside) and len(outside):
            C = C - _edges(inside, outside[neighbors_of(X[outside], k, queries=X[inside], **search)[0]], n)
    return sparse.csr_array(C + C.T) / 2


def _edges(rows: np.ndarray, ids: np.ndarray, n: int) -> sparse.csr_array:
    k = ids.shape[1]
    return sparse.csr_array((np.full(ids.size, 1 / k), (np.repeat(rows, k), ids.ravel())), shape=(n, n))


def on_gram(A: sparse.csr_array) -> sparse.csr_array:
    """A' = 2 (diag(Ae) − A), so that tr(AD) = tr(A'G) for the Gram matrix G of D (Proposition 3)."""
    return sparse.csr_array(2 * (sparse.diags_array(np.asarray(A.sum(axis=1)).ravel()) - A))


def constraint_cost(side: Constraints, n: int) -> sparse.csr_array:
    """C' of constraints on n points, tr(C'G) = Σ_i w_i ⟨C_i, G⟩, with the weights that (6) would give them.

    Every point averages over its similar pairs, and over its dissimilar ones; every anchor over its triplets. Other
    constraints have the weight 1/m each. Bounds play no part: the cost is linear, the scale of the embedding fixed.
    """
    if isinstance(side, Pairs):
        kinds = 2 * np.concatenate([side.left, side.right]) + np.tile(side.similar, 2)
        share = 1 / np.bincount(kinds)[kinds]  # (2m,): of each end in what its point has of this kind
        weights = share[: len(side)] + share[len(side) :]
    elif isinstance(side, Triplets):
        weights = 1 / np.bincount(side.anchor)[side.anchor]
    else:
        weights = np.full(len(side), 1 / len(side))
    return side.matrix(weights, n)
