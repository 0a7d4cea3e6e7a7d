"""Low-dimensional subspaces of high-dimensional data, in time linear in d (Jain 2009, §3.2)."""

from typing import Any

import numpy as np
from scipy import sparse

from gramian import _checks, _memory, linalg
from gramian._device import DeviceArray, to_host

SMALLER = "give a smaller rank, or take TruncatedSVD of X first"


def subspace_basis(kind: Any, X: Any, rank: int, rng: np.random.RandomState, owner: str) -> np.ndarray:
    """Orthonormal columns U (d, k), k ≤ rank: "svd", "landmarks" (span of random points), or given columns."""
    rank = min(_checks.number(rank, owner, "rank", low=1, integer=True), *X.shape)
    if not isinstance(kind, str):
        given = np.asarray(kind, dtype=float)
        if given.ndim != 2 or given.shape[0] != X.shape[1]:
            raise ValueError(f"{owner}: subspace must have shape ({X.shape[1]}, k), got {given.shape}.")
        return orthonormal_span(given)
    _checks.one_of(kind, owner, "subspace", ("svd", "landmarks"))
    if sparse.issparse(X) and len(columns := linalg.held_columns(X)) < X.shape[1]:
        _memory.require(24.0 * rank * X.shape[1], owner, f"{rank} directions of {X.shape[1]:,} features", SMALLER)
        inside = subspace_basis(kind, X[:, columns], rank, rng, owner)
        U = np.zeros((X.shape[1], inside.shape[1]))
        U[columns] = inside
        return U
    if kind == "landmarks":
        rows = X[np.sort(rng.choice(X.shape[0], rank, replace=False))]
        return orthonormal_span(to_host(linalg.dense(rows)).T)
    if isinstance(X, DeviceArray):
        values, vectors = linalg.eigh(X.T @ X)
        keep = np.flatnonzero(values > 1e-24 * values[-1])[::-1][:rank]
        return vectors[:, keep]
    from sklearn.utils.extmath import randomized_svd

    size = float(abs(X).max())  # its power iterations would overflow at extreme scales
    _, values, Vt = randomized_svd(X / size if size > 0 else X, rank, n_iter=2, random_state=rng)
    return orthonormal_span(Vt[values > 1e-12 * values[0]].T)


def orthonormal_span(A: np.ndarray) -> np.ndarray:
    """Orthonormal basis of the column span, dependent columns dropped."""
    from scipy.linalg import qr

    Q, R, _ = qr(A, mode="economic", pivoting=True)
    size = np.abs(np.diag(R))
    keep = size > max(1e-10 * size.max(initial=0.0), np.finfo(float).tiny)
    return Q[:, keep]
