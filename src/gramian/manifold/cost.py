"""The label cost of transductive distance learning (Li, Yang and Wang 2007, §3.1 and Proposition 3)."""

from typing import Any

import numpy as np
from scipy import sparse

from gramian.manifold.neighbors import neighbors


def cost_matrix(X: Any, codes: np.ndarray, k: int, **search: Any) -> sparse.csr_array:
    """Symmetric C with tr(CD) = Σ_i C(D, x_i, y_i), equation (6).

    Row i holds 1/k on the k nearest labeled points of its class and −1/k on the k nearest of the others; with fewer
    than k of a kind the average is over those there are. (6) is not symmetric as printed: C = (C + Cᵀ)/2, which
    leaves tr(CD) as it is. ``codes`` is −1 for an unlabeled point; ``search`` goes to :func:`neighbors`.
    """
    n = len(codes)
    C = sparse.csr_array((n, n))
    for c in range(codes.max(initial=-1) + 1):
        inside, outside = np.flatnonzero(codes == c), np.flatnonzero((codes >= 0) & (codes != c))
        if len(inside) > 1:
            C = C + _edges(inside, inside[neighbors(X[inside], k, **search)[0]], n)
        if len(inside) and len(outside):
            C = C - _edges(inside, outside[neighbors(X[outside], k, X[inside], **search)[0]], n)
    return sparse.csr_array(C + C.T) / 2


def _edges(rows: np.ndarray, ids: np.ndarray, n: int) -> sparse.csr_array:
    k = ids.shape[1]
    return sparse.csr_array((np.full(ids.size, 1 / k), (np.repeat(rows, k), ids.ravel())), shape=(n, n))


def on_gram(A: sparse.csr_array) -> sparse.csr_array:
    """A' = 2 (diag(Ae) − A), so that tr(AD) = tr(A'G) for the Gram matrix G of D (Proposition 3)."""
    return sparse.csr_array(2 * (sparse.diags_array(np.asarray(A.sum(axis=1)).ravel()) - A))
