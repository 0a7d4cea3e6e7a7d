"""Positive semi-definite roots and projections, and blocked squared distances."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import linalg as sla
from scipy import sparse

from gramian import _device

BLOCK_BYTES = 64 << 20
"""Working memory of the blocked routines."""

LARGE = 0.95
"""Entries of a vector with this share of the largest magnitude are large."""


def count(X: Any) -> int:
    """Number of points of an array, a sparse matrix or any other sequence."""
    return X.shape[0] if hasattr(X, "shape") else len(X)


def take(X: Any, rows: Any) -> Any:
    """Points of X at the given rows (a slice or indices): an array for arrays, a list for other sequences."""
    if hasattr(X, "shape") or isinstance(rows, slice):
        return X[rows]
    return [X[i] for i in rows]


def symmetrize(M: np.ndarray) -> np.ndarray:
    """Return (M + Mᵀ) / 2."""
    return (M + M.T) / 2


def eigh(M: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues (ascending) and eigenvectors of a symmetric matrix."""
    if _device.held(M):
        return np.linalg.eigh(M)
    try:
        return sla.eigh(M, check_finite=False)
    except sla.LinAlgError:
        # The default driver gives up on some matrices close to a multiple of the identity.
        return sla.eigh(M, check_finite=False, driver="ev")


def column_signs(V: np.ndarray) -> np.ndarray:
    """±1 for each column: the sign of the first of its large entries.

    The largest alone would not do: eigenvectors of symmetric problems have two of them, of opposite signs, and rounding
    would say which one that is.
    """
    sizes = np.abs(V)
    large = sizes >= LARGE * np.max(sizes, axis=0)
    first = np.argmax(np.where(large, 1.0, 0.0), axis=0)
    return np.where(np.take_along_axis(V, first[None, :], axis=0)[0] < 0, -1.0, 1.0)


def oriented(V: np.ndarray) -> np.ndarray:
    """Each column with its sign fixed, the first of its large entries positive."""
    return V * column_signs(V) if 0 not in V.shape else V


def project_psd(M: np.ndarray) -> np.ndarray:
    """Nearest positive semi-definite matrix in Frobenius norm, [M]₊."""
    values, vectors = eigh(symmetrize(M))
    if values.size == 0 or values[0] >= 0:
        return symmetrize(M)
    return (vectors * np.maximum(values, 0)) @ vectors.T


def psd_power(M: np.ndarray, power: float, rtol: float | None = None) -> np.ndarray:
    """Symmetric power of a PSD matrix on its range: M^{1/2}, M^{-1/2}, the pseudo-inverse M⁺ …

    Eigenvalues at or below ``rtol`` times the largest count as zero and stay zero.
    """
    values, vectors = eigh(symmetrize(M))
    rtol = M.shape[0] * np.finfo(np.float64).eps if rtol is None else rtol
    keep = values > rtol * max(values[-1], 0.0) if values.size else np.zeros(0, bool)
    return (vectors[:, keep] * values[keep] ** power) @ vectors[:, keep].T


def psd_sqrt(M: np.ndarray) -> np.ndarray:
    """Symmetric root G of a PSD matrix, M = G G with G = Gᵀ."""
    return psd_power(M, 0.5)


def leading_directions(V: np.ndarray, p: int) -> tuple[np.ndarray, np.ndarray]:
    """About the p directions u (d, p) in which rows v spread most, by one subspace iteration, and Σ (uᵀv)² of each."""
    C = V.T @ V if len(V) >= V.shape[1] else None

    def spread_of(B: np.ndarray) -> np.ndarray:
        return V.T @ (V @ B) if C is None else C @ B

    start = spread_of(np.random.default_rng(0).standard_normal((V.shape[1], p)))
    Q, _ = np.linalg.qr(spread_of(np.linalg.qr(start)[0]))
    values, vectors = eigh(symmetrize(Q.T @ spread_of(Q)))
    return Q @ vectors[:, ::-1], values[::-1]


def row_norms(X: Any) -> np.ndarray:
    """Squared Euclidean norm of each row, dense or sparse."""
    if sparse.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", X, X)


def row_extents(X: Any) -> np.ndarray:
    """Largest magnitude in each row, dense or sparse."""
    return dense(abs(X).max(axis=1)).ravel()


def unit_rows(X: Any) -> Any:
    """Rows divided by their Euclidean length, dense or sparse; rows of zeros stay."""
    norms = np.sqrt(row_norms(X))
    inverse = np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)
    return sparse.csr_array(sparse.diags_array(inverse) @ X) if sparse.issparse(X) else X * inverse[:, None]


def held_columns(X: Any) -> np.ndarray:
    """Columns of a sparse X (CSR) that hold anything, the first one where none does."""
    held = np.zeros(X.shape[1], dtype=bool)
    held[X.indices if X.nnz else 0] = True
    return np.flatnonzero(held)


def row_inner(X: Any, Y: Any) -> np.ndarray:
    """Inner product of row i of X with row i of Y, dense or sparse, shape (n,)."""
    if sparse.issparse(X) or sparse.issparse(Y):
        X, Y = (X, Y) if sparse.issparse(X) else (Y, X)
        return np.asarray(X.multiply(Y).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", X, Y)


def blocks(
    n: int, bytes_per_row: float, budget: int = BLOCK_BYTES, of: Any = None, multiple: int = 1
) -> Iterator[slice]:
    """Slices that cover range(n), ``budget`` bytes of work each, or what the accelerator that holds ``of`` can take.

    They begin at multiples of a number.
    """
    budget = _device.block_bytes(of, budget)
    step = max(1, int(budget // max(bytes_per_row * multiple, 1))) * multiple
    for start in range(0, n, step):
        yield slice(start, min(start + step, n))


def spread(n: int, most: int) -> np.ndarray:
    """At most ``most`` of the numbers below n, evenly spaced."""
    return np.linspace(0, n - 1, min(n, most)).astype(int)


def dense(X: Any) -> Any:
    """X as an array, whether it is one or sparse; points on a device stay where they are."""
    if _device.held(X):
        return X
    return X.toarray() if sparse.issparse(X) else np.asarray(X)


def covariance(X: Any) -> np.ndarray:
    """Covariance (d, d) of the rows of X."""
    return np.atleast_2d(np.cov(X, rowvar=False))


def renamed(ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The numbers that occur, ascending, and the place of each entry among them; by a table where they are small."""
    if len(ids) and ids.min() >= 0 and ids.max() < 4 * len(ids):
        used = np.zeros(int(ids.max()) + 1, bool)
        used[ids] = True
        return np.flatnonzero(used), ids if used.all() else (np.cumsum(used) - 1)[ids]
    names, place = np.unique(ids, return_inverse=True)
    return names, place


def moments(X: Any, groups: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sizes (g,) and means (g, d) of groups of rows, and the scatter (d, d) of the rows around them.

    ``groups`` (n,) are numbers from 0 on, each of them used.
    """
    sizes = np.bincount(groups)
    n = len(groups)
    average = sparse.csc_array((1 / sizes[groups], groups, np.arange(n + 1)), shape=(len(sizes), n))
    means = product(average, X)
    V = X - means[groups]
    return sizes, means, V.T @ V


def empty(shape: Any, beside: Any, dtype: Any = None) -> np.ndarray:
    """An array to be filled, where ``beside`` is."""
    return np.empty(shape, dtype, like=beside) if _device.held(beside) else np.empty(shape, dtype)


def full(shape: Any, value: float, beside: Any) -> np.ndarray:
    """One value everywhere, where ``beside`` is."""
    return np.full(shape, value, like=beside) if _device.held(beside) else np.full(shape, value)


def numbers(n: int, beside: Any) -> np.ndarray:
    """0, …, n − 1, where ``beside`` is."""
    return np.arange(n, like=beside) if _device.held(beside) else np.arange(n)


def solve_lower(L: Any, B: Any) -> np.ndarray:
    """L⁻¹B for a lower triangular L, where B is."""
    if _device.held(B):
        # Triangular solves with many right sides are slow on accelerators, a product is not.
        return placed(sla.solve_triangular(L, np.eye(len(L)), lower=True, check_finite=False), B) @ B
    return sla.solve_triangular(L, B, lower=True, check_finite=False)


def identity(d: int, beside: Any) -> np.ndarray:
    """The identity, where ``beside`` is."""
    return np.eye(d, like=beside) if _device.held(beside) else np.eye(d)


def sealed(x: np.ndarray) -> np.ndarray:
    """A view that cannot be written to.

    Compiled loops have a form of their own for such arrays, and its sums may differ in the last digit: with all of them
    sealed, points that were just added and those of a file are compared by one form.
    """
    view = x.view()
    view.flags.writeable = False
    return view


def placed(x: Any, beside: Any) -> Any:
    """An array, or None, where ``beside`` is."""
    moves = _device.held(beside) and isinstance(x, np.ndarray)
    return _device.to_device(x, beside) if moves else x


def product(A: Any, X: Any) -> np.ndarray:
    """AX for a sparse or dense A, where X is."""
    return _device.linear.sparse_product(A, X) if sparse.issparse(A) and _device.held(X) else A @ X


def inner(X: Any, Y: Any) -> np.ndarray:
    """Dense matrix of inner products X Yᵀ of two row sets, each dense or sparse."""
    if sparse.issparse(X) and sparse.issparse(Y) and X.shape[1] > X.nnz + Y.nnz:
        used = np.unique(Y.indices)
        X, Y = in_columns(X, used), in_columns(Y, used)
    G = X @ Y.T
    return np.asarray(G.todense()) if sparse.issparse(G) else G


def in_columns(X: Any, columns: np.ndarray) -> sparse.csr_array:
    """CSR matrix of the given sorted columns of a CSR matrix, without work or memory of the order of its width."""
    if len(columns) == 0:
        return sparse.csr_array((X.shape[0], 0))
    place = np.minimum(np.searchsorted(columns, X.indices), len(columns) - 1)
    hit = columns[place] == X.indices
    indptr = np.concatenate([[0], np.cumsum(hit)])[X.indptr]
    return sparse.csr_array((X.data[hit], place[hit], indptr), shape=(X.shape[0], len(columns)))


def sqdist(X: Any, Y: Any | None = None) -> np.ndarray:
    """Squared Euclidean distances between rows, (n, m), never negative, dense or sparse input.

    Dense rows are centered first, which keeps the expansion |x|² + |y|² − 2xᵀy accurate for data far
    from the origin; the center is a median, so that a few huge rows do not cost the others their digits.
    Distances so small that the expansion would leave few digits are computed from the differences.
    With ``Y=None`` the diagonal is exactly zero.
    """
    same = Y is None
    Y = X if Y is None else Y
    if X.shape[0] == 0 or Y.shape[0] == 0:
        return empty((int(X.shape[0]), int(Y.shape[0])), X)
    if not sparse.issparse(X) and not sparse.issparse(Y):
        shift = np.median(dense(Y)[:: max(1, Y.shape[0] // 32)], axis=0)
        X = X - shift
        Y = X if same else Y - shift
    D = inner(X, Y)
    D *= -2
    sizes = row_norms(X)
    D += sizes[:, None]
    D += (sizes if same else row_norms(Y))[None, :]
    np.maximum(D, 0, out=D)
    if same:
        np.fill_diagonal(D, np.inf)
    if not sparse.issparse(X) and not sparse.issparse(Y):
        _sharpen(D, X, Y, sizes)
    if same:
        np.fill_diagonal(D, 0)
    return D


def _sharpen(D: np.ndarray, X: np.ndarray, Y: np.ndarray, sizes: np.ndarray) -> None:
    """Compute |x − y|² ≤ ε^{2/3} |x|² from the differences, in place; all others keep a third of their digits."""
    limit = np.where(sizes > 0, np.finfo(D.dtype).eps ** (2 / 3) * sizes, -1.0)
    rows = np.flatnonzero(D.min(axis=1) <= limit)
    near = D if len(rows) == len(D) else D[rows]
    i, j = np.divmod(np.flatnonzero(limit[rows, None] >= near), D.shape[1])
    for part in blocks(len(i), 24 * X.shape[1], of=X):
        a, b = rows[i[part]], j[part]
        D[a, b] = row_norms(X[a] - Y[b])


def _manhattan_on_device(X: Any, Y: Any) -> Any:
    D = empty((len(X), len(Y)), X)
    for rows in blocks(len(X), 16 * Y.shape[0] * Y.shape[1], of=X):
        D[rows] = np.sum(np.abs(X[rows][:, None, :] - Y[None, :, :]), axis=2)
    return D


def manhattan(X: Any, Y: Any) -> np.ndarray:
    """‖x_i − y_j‖₁, (n, m), of dense or sparse points; scikit-learn wants short indices."""
    if _device.held(X):
        return _manhattan_on_device(X, placed(Y, X))
    from sklearn.metrics.pairwise import manhattan_distances

    def tidy(A: Any) -> Any:
        if not sparse.issparse(A):
            return A
        if not A.has_canonical_format:  # else repeated entries are summed in the data that X, Y and the caller share
            A = A.copy()
            A.sum_duplicates()
        parts = A.data, A.indices.astype(np.int32), A.indptr.astype(np.int32)
        return sparse.csr_array(parts, shape=A.shape)

    return manhattan_distances(tidy(X), tidy(Y))


def difference(X: Any, Y: Any) -> Any:
    """X − Y in double precision."""
    return np.subtract(X, Y, dtype=np.float64)


def pair_sqdist(X: Any, Y: Any) -> np.ndarray:
    """Squared Euclidean distance of row i of X to row i of Y, (n,)."""
    return row_norms(X - Y)


def neighbor_scatter(X: Any, near: Any, W: Any) -> np.ndarray:
    """Scatter Σ_ij W_ij (x_i − x_near(i,j))(…)ᵀ of each row and its neighbors, (d, d), from the differences."""
    total = empty((X.shape[1], X.shape[1]), X)
    total[...] = 0.0
    for j in range(near.shape[1]):
        V = X - X[near[:, j]]
        total += V.T @ (V * W[:, j][:, None])
    return total


def scatter(X: Any, W: Any) -> np.ndarray:
    """Weighted scatter Σ_ij W_ij (x_i − x_j)(x_i − x_j)ᵀ, (d, d), for dense or sparse weights W (n, n).

    Folded into one graph Laplacian, Xᵀ (deg − W − Wᵀ) X, with deg the row and column sums of W.
    """
    degree = np.asarray(W.sum(axis=0)).ravel() + np.asarray(W.sum(axis=1)).ravel()
    H = X * (degree / 2)[:, None]
    H -= product(W, X)
    H = X.T @ H
    return H + H.T
