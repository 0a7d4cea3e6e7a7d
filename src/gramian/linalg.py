"""Positive semi-definite roots and projections, and blocked squared distances."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import linalg as sla
from scipy import sparse

from gramian._arrays import Array, Matrix, asarray, block_bytes, foreign, namespace, put, to_numpy

BLOCK_BYTES = 64 << 20
"""Working memory of the blocked routines."""

LARGE = 0.95
"""Entries of a vector with this share of the largest magnitude are large."""


def count(X: Matrix) -> int:
    """Number of points of an array, a sparse matrix or any other sequence."""
    return X.shape[0] if hasattr(X, "shape") else len(X)


def take(X: Matrix, rows: Any) -> Any:
    """Points of X at the given rows (a slice, a mask or indices): an array for arrays, a list for other sequences."""
    if foreign(X):
        if isinstance(rows, slice):
            return X[slice(*rows.indices(X.shape[0])), ...]
        rows, xp = asarray(rows, X), namespace(X)
        rows = xp.nonzero(rows)[0] if xp.isdtype(rows.dtype, "bool") else rows
        listed = xp.take(X, xp.reshape(rows, (-1,)), axis=0)
        return listed if rows.ndim == 1 else xp.reshape(listed, (*rows.shape, *X.shape[1:]))
    if hasattr(X, "shape") or isinstance(rows, slice):
        return X[rows]
    return [X[i] for i in rows]


def symmetrize(M: np.ndarray) -> np.ndarray:
    """Return (M + Mᵀ) / 2."""
    return (M + M.T) / 2


def eigh(M: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues (ascending) and eigenvectors of a symmetric matrix."""
    if foreign(M):
        values, vectors = namespace(M).linalg.eigh(M)
        return values, vectors
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
    xp = namespace(V)
    sizes = xp.abs(V)
    large = xp.astype(sizes >= LARGE * xp.max(sizes, axis=0), V.dtype)
    leading = xp.take_along_axis(V, xp.argmax(large, axis=0)[None, :], axis=0)[0, :]
    return xp.where(leading < 0, -xp.ones_like(leading), xp.ones_like(leading))


def oriented(V: np.ndarray) -> np.ndarray:
    """Each column with its sign fixed, the first of its large entries positive."""
    return V * column_signs(V) if 0 not in V.shape else V


def project_psd(M: np.ndarray) -> np.ndarray:
    """Nearest positive semi-definite matrix in Frobenius norm, [M]₊."""
    values, vectors = eigh(symmetrize(M))
    if values.shape[0] == 0 or values[0] >= 0:
        return symmetrize(M)
    return (vectors * namespace(M).clip(values, 0, None)) @ vectors.T


def psd_power(M: np.ndarray, power: float, rtol: float | None = None) -> np.ndarray:
    """Symmetric power of a PSD matrix on its range: M^{1/2}, M^{-1/2}, the pseudo-inverse M⁺ …

    Eigenvalues at or below ``rtol`` times the largest count as zero and stay zero.
    """
    values, vectors = eigh(symmetrize(M))
    rtol = M.shape[0] * np.finfo(np.float64).eps if rtol is None else rtol
    values, vectors = varying(values, vectors, rtol)
    return (vectors * values**power) @ vectors.T


def varying(values: Any, vectors: Array, rtol: float) -> tuple[Any, Any]:
    """Eigenvalues, ascending, above a share of the largest, and their eigenvectors."""
    if values.shape[0] == 0:
        return values, vectors
    above = values > rtol * max(float(values[-1]), 0.0)
    low = values.shape[0] - int(namespace(values).count_nonzero(above))
    return values[low:], vectors[:, low:]


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


def row_norms(X: Matrix) -> np.ndarray:
    """Squared Euclidean norm of each row, dense or sparse."""
    if sparse.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    if foreign(X):
        return namespace(X).sum(X * X, axis=1)
    return np.einsum("ij,ij->i", X, X)


def row_extents(X: Matrix) -> np.ndarray:
    """Largest magnitude in each row, dense or sparse."""
    if foreign(X):
        return namespace(X).max(abs(X), axis=1)
    return dense(abs(X).max(axis=1)).ravel()


def unit_rows(X: Matrix) -> Any:
    """Rows divided by their Euclidean length, dense or sparse; rows of zeros stay."""
    if foreign(X):
        sizes = namespace(X).sqrt(row_norms(X))
        return X / namespace(X).where(sizes > 0, sizes, 1.0)[:, None]
    norms = np.sqrt(row_norms(X))
    inverse = np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)
    return sparse.csr_array(sparse.diags_array(inverse) @ X) if sparse.issparse(X) else X * inverse[:, None]


def held_columns(X: Matrix) -> np.ndarray:
    """Columns of a sparse X (CSR) that hold anything, the first one where none does."""
    used = np.zeros(X.shape[1], dtype=bool)
    used[X.indices if X.nnz else 0] = True
    return np.flatnonzero(used)


def row_inner(X: Matrix, Y: Matrix) -> np.ndarray:
    """Inner product of row i of X with row i of Y, dense or sparse, shape (n,)."""
    if sparse.issparse(X) or sparse.issparse(Y):
        X, Y = (X, Y) if sparse.issparse(X) else (Y, X)
        return np.asarray(X.multiply(Y).sum(axis=1)).ravel()
    if foreign(X):
        return namespace(X).sum(X * Y, axis=1)
    return np.einsum("ij,ij->i", X, Y)


def blocks(
    n: int, bytes_per_row: float, budget: int = BLOCK_BYTES, of: Any = None, multiple: int = 1
) -> Iterator[slice]:
    """Slices that cover range(n), ``budget`` bytes of work each, or what the accelerator that holds ``of`` can take.

    They begin at multiples of a number.
    """
    budget = block_bytes(of, budget)
    step = max(1, int(budget // max(bytes_per_row * multiple, 1))) * multiple
    for start in range(0, n, step):
        yield slice(start, min(start + step, n))


def spread(n: int, most: int) -> np.ndarray:
    """At most ``most`` of the numbers below n, evenly spaced."""
    return np.linspace(0, n - 1, min(n, most)).astype(int)


def dense(X: Matrix) -> Any:
    """X as an array, whether it is one or sparse; points on a device stay where they are."""
    if foreign(X):
        return X
    return X.toarray() if sparse.issparse(X) else np.asarray(X)


def covariance(X: Array) -> np.ndarray:
    """Covariance (d, d) of the rows of X, on the host."""
    if foreign(X):
        return to_numpy(scatter_around_mean(X)) / max(X.shape[0] - 1, 1)
    return np.atleast_2d(np.cov(X, rowvar=False))


def listed(numbers: Any) -> list[int]:
    """Whole numbers of an array as those of Python."""
    return [int(number) for number in to_numpy(numbers)]


def flat(X: Array) -> Array:
    """All entries in a row."""
    return namespace(X).reshape(X, (-1,))


def total(values: Any) -> float:
    """The sum of all entries, a number."""
    return float(namespace(values).sum(values))


def mean(X: Array) -> Array:
    """The mean of the rows of a dense X, (d,)."""
    return namespace(X).mean(X, axis=0)


def scatter_around_mean(Z: Array) -> Array:
    """Scatter (d, d) of points around their mean."""
    spread = Z - mean(Z)
    return spread.T @ spread


def spread_of(X: Array) -> float:
    """Mean squared distance of the rows of a dense X to their mean."""
    return total(row_norms(X - mean(X))) / max(X.shape[0], 1)


def renamed(ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The numbers that occur, ascending, and the place of each entry among them; by a table where they are small."""
    if len(ids) and ids.min() >= 0 and ids.max() < 4 * len(ids):
        used = np.zeros(int(ids.max()) + 1, bool)
        used[ids] = True
        return np.flatnonzero(used), ids if used.all() else (np.cumsum(used) - 1)[ids]
    names, place = np.unique(ids, return_inverse=True)
    return names, place


def moments(X: Matrix, groups: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sizes (g,) and means (g, d) of groups of rows, and the scatter (d, d) of the rows around them, on the host.

    ``groups`` (n,) are numbers from 0 on, each of them used.
    """
    sizes = np.bincount(groups)
    n = len(groups)
    average = sparse.csc_array((1 / sizes[groups], groups, np.arange(n + 1)), shape=(len(sizes), n))
    means = product(average, X)
    V = X - take(means, groups)
    return sizes, to_numpy(means), to_numpy(V.T @ V)


def empty(shape: Any, beside: Any) -> np.ndarray:
    """An array of double precision to be filled, where ``beside`` is and as precise."""
    if not foreign(beside):
        return np.empty(shape)
    return namespace(beside).empty(shape, dtype=beside.dtype, device=beside.device)


def full(shape: Any, value: float, beside: Any) -> np.ndarray:
    """One value everywhere, where ``beside`` is and as precise."""
    if not foreign(beside):
        return np.full(shape, value)
    return namespace(beside).full(shape, value, dtype=beside.dtype, device=beside.device)


def numbers(n: int, beside: Any) -> np.ndarray:
    """0, …, n − 1, where ``beside`` is."""
    return namespace(beside).arange(n, device=beside.device) if foreign(beside) else np.arange(n)


def solve_lower(L: Array, B: Array) -> np.ndarray:
    """L⁻¹B for a lower triangular L, where B is."""
    if foreign(B):
        # Triangular solves with many right sides are slow on accelerators, a product is not.
        return asarray(sla.solve_triangular(L, np.eye(len(L)), lower=True, check_finite=False), B) @ B
    return sla.solve_triangular(L, B, lower=True, check_finite=False)


def identity(d: int, beside: Any) -> np.ndarray:
    """The identity, where ``beside`` is and as precise."""
    if not foreign(beside):
        return np.eye(d)
    return namespace(beside).eye(d, dtype=beside.dtype, device=beside.device)


def with_diagonal(D: Array, value: float) -> Array:
    """A square matrix with a value on its diagonal, in place on the host."""
    if foreign(D):
        rows = numbers(D.shape[0], D)
        return namespace(D).where(rows[:, None] == rows[None, :], value, D)
    np.fill_diagonal(D, value)
    return D


def at_least(values: Any, low: float) -> Array:
    """The larger of each number and a limit."""
    if foreign(values):
        return namespace(values).clip(values, low, None)
    return np.maximum(values, low)


def sealed(x: np.ndarray) -> np.ndarray:
    """A view that cannot be written to.

    Compiled loops have a form of their own for such arrays, and its sums may differ in the last digit: with all of them
    sealed, points that were just added and those of a file are compared by one form.
    """
    view = x.view()
    view.flags.writeable = False
    return view


def product(A: Array, X: Matrix) -> np.ndarray:
    """AX for a sparse or dense A, where X is."""
    if not foreign(X):
        return A @ X
    return _sparse_product(A, X) if sparse.issparse(A) else asarray(A, X) @ X


def _sparse_product(A: Matrix, X: Matrix) -> Array:
    """AX for a sparse matrix A of SciPy and X on a device.

    The entries of A are sorted by row, so each row sums a run of scaled rows of X. Rows with as many entries are
    taken together, which makes every sum a sum along an axis.
    """
    A, xp = A.tocsr(), namespace(X)
    counts, parts, order = np.diff(A.indptr), [], []
    for size in np.unique(counts):
        rows = np.flatnonzero(counts == size)  # (m,)
        places = A.indptr[rows][:, None] + np.arange(size)  # (m, size)
        weights = asarray(A.data[places].astype(np.float64), X)
        scaled = take(X, A.indices[places].astype(np.int64)) * weights[:, :, None] if size else None  # (m, size, d)
        parts.append(full((len(rows), X.shape[1]), 0.0, X) if scaled is None else xp.sum(scaled, axis=1))
        order.append(rows)
    return take(xp.concat(parts), np.argsort(np.concatenate(order)))


def inner(X: Matrix, Y: Matrix) -> np.ndarray:
    """Dense matrix of inner products X Yᵀ of two row sets, each dense or sparse."""
    if sparse.issparse(X) and sparse.issparse(Y) and X.shape[1] > X.nnz + Y.nnz:
        used = np.unique(Y.indices)
        X, Y = in_columns(X, used), in_columns(Y, used)
    G = X @ Y.T
    return np.asarray(G.todense()) if sparse.issparse(G) else G


def in_columns(X: Matrix, columns: np.ndarray) -> sparse.csr_array:
    """CSR matrix of the given sorted columns of a CSR matrix, without work or memory of the order of its width."""
    if len(columns) == 0:
        return sparse.csr_array((X.shape[0], 0))
    place = np.minimum(np.searchsorted(columns, X.indices), len(columns) - 1)
    hit = columns[place] == X.indices
    indptr = np.concatenate([[0], np.cumsum(hit)])[X.indptr]
    return sparse.csr_array((X.data[hit], place[hit], indptr), shape=(X.shape[0], len(columns)))


def sqdist(X: Matrix, Y: Any | None = None) -> np.ndarray:
    """Squared Euclidean distances between rows, (n, m), never negative, dense or sparse input.

    Dense rows are centered first, which keeps the expansion |x|² + |y|² − 2xᵀy accurate for data far
    from the origin; the center is a median, so that a few huge rows do not cost the others their digits.
    Distances so small that the expansion would leave few digits are computed from the differences.
    With ``Y=None`` the diagonal is exactly zero.
    """
    if foreign(X):
        return _sqdist_on_device(X, Y)
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
    low_rows = D if len(rows) == len(D) else D[rows]
    i, j = np.divmod(np.flatnonzero(limit[rows, None] >= low_rows), D.shape[1])
    for block in blocks(len(i), 24 * X.shape[1]):
        a, b = rows[i[block]], j[block]
        D[a, b] = row_norms(X[a] - Y[b])


def _sqdist_on_device(X: Matrix, Y: Matrix) -> Array:
    """:func:`sqdist` of dense rows where they are."""
    xp, Y, same = namespace(X), X if Y is None else Y, Y is None
    if X.shape[0] == 0 or Y.shape[0] == 0:
        return empty((X.shape[0], Y.shape[0]), X)
    sample = xp.sort(Y[:: max(1, Y.shape[0] // 32), :], axis=0)
    shift = (sample[(sample.shape[0] - 1) // 2, :] + sample[sample.shape[0] // 2, :]) / 2  # the median
    X, Y = X - shift, Y - shift
    sizes = row_norms(X)  # (n,)
    D = xp.clip(sizes[:, None] + row_norms(Y)[None, :] - 2 * (X @ Y.T), 0, None)  # (n, m)
    D = with_diagonal(D, np.inf) if same else D
    limit = xp.where(sizes > 0, xp.finfo(D.dtype).eps ** (2 / 3) * sizes, -1.0)
    i, j = xp.nonzero(limit[:, None] >= D)
    for block in blocks(i.shape[0], 24 * X.shape[1], of=X):
        put(D, (i[block], j[block]), row_norms(take(X, i[block]) - take(Y, j[block])))
    return with_diagonal(D, 0.0) if same else D


def _manhattan_on_device(X: Array, Y: Array) -> Array:
    xp = namespace(X)
    parts = [
        xp.sum(abs(X[rows, :][:, None, :] - Y[None, :, :]), axis=2)
        for rows in blocks(X.shape[0], 16 * Y.shape[0] * Y.shape[1], of=X)
    ]
    return xp.concat(parts) if parts else empty((0, Y.shape[0]), X)


def manhattan(X: Matrix, Y: Matrix) -> np.ndarray:
    """‖x_i − y_j‖₁, (n, m), of dense or sparse points; scikit-learn wants short indices."""
    if foreign(X):
        return _manhattan_on_device(X, asarray(Y, X))
    from sklearn.metrics.pairwise import manhattan_distances

    def tidy(A: Matrix) -> Any:
        if not sparse.issparse(A):
            return A
        if not A.has_canonical_format:  # else repeated entries are summed in the data that X, Y and the caller share
            A = A.copy()
            A.sum_duplicates()
        parts = A.data, A.indices.astype(np.int32), A.indptr.astype(np.int32)
        return sparse.csr_array(parts, shape=A.shape)

    return manhattan_distances(tidy(X), tidy(Y))


def difference(X: Array, Y: Array) -> Any:
    """X − Y in double precision."""
    if foreign(X):
        return double(X) - double(Y)
    return np.subtract(X, Y, dtype=np.float64)


def double(X: Array) -> Any:
    """Numbers in double precision, no copy where they are."""
    return namespace(X).astype(X, namespace(X).float64, copy=False) if foreign(X) else X.astype(np.float64, copy=False)


def single(X: Array) -> Any:
    """Numbers in single precision."""
    return namespace(X).astype(X, namespace(X).float32, copy=False) if foreign(X) else X.astype(np.float32, copy=False)


def pair_sqdist(X: Array, Y: Array) -> np.ndarray:
    """Squared Euclidean distance of row i of X to row i of Y, (n,)."""
    return row_norms(X - Y)


def neighbor_scatter(X: Array, near: Array, W: Array) -> np.ndarray:
    """Scatter Σ_ij W_ij (x_i − x_near(i,j))(…)ᵀ of each row and its neighbors, (d, d), from the differences."""
    total = full((X.shape[1], X.shape[1]), 0.0, X)
    for j in range(near.shape[1]):
        V = X - take(X, near[:, j])
        total += V.T @ (V * W[:, j][:, None])
    return total


def scatter(X: Matrix, W: Array) -> np.ndarray:
    """Weighted scatter Σ_ij W_ij (x_i − x_j)(x_i − x_j)ᵀ, (d, d), for dense or sparse weights W (n, n).

    Folded into one graph Laplacian, Xᵀ (deg − W − Wᵀ) X, with deg the row and column sums of W.
    """
    degree = np.asarray(W.sum(axis=0)).ravel() + np.asarray(W.sum(axis=1)).ravel()
    H = X * (degree / 2)[:, None]
    H -= product(W, X)
    H = X.T @ H
    return H + H.T
