"""Linear algebra of NumPy on arrays of other libraries, and products with sparse matrices of SciPy.

Factorizations are of small matrices and need double precision: a device that has none (MPS) leaves them to the host.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from gramian._device.array import DeviceArray, implements, to_device, to_host
from gramian._device.functions import device_of, own
from gramian._device.memory import double

SAME = ("eigvalsh", "inv", "cholesky", "svd")
"""Functions of ``numpy.linalg`` that the array API has under the same name, with one argument."""


def _needs_double(numpy_function: Callable) -> Callable:
    """Say that a function stands for one of NumPy's where the device has double; elsewhere NumPy's own does."""

    def register(function: Callable) -> Callable:
        @wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            like = device_of(*args)
            if double(like):
                return function(*args, **kwargs)
            found = numpy_function(*(np.asarray(to_host(x), np.float64) for x in args), **kwargs)
            return tuple(to_device(x, like) for x in found) if isinstance(found, tuple) else to_device(found, like)

        return implements(numpy_function)(wrapped)

    return register


def _same(name: str) -> Any:
    def function(x: Any, **kwargs: Any) -> Any:
        found = getattr(x.xp.linalg, name)(x.data, **kwargs)
        return tuple(x.wrap(part) for part in found) if isinstance(found, tuple) else x.wrap(found)

    return function


for _name in SAME:
    _needs_double(getattr(np.linalg, _name))(_same(_name))


@_needs_double(np.linalg.eigh)
def eigh(x: Any, **kwargs: Any) -> tuple[DeviceArray, DeviceArray]:
    """Eigenvalues, ascending, and eigenvectors."""
    values, vectors = x.xp.linalg.eigh(x.data)
    return x.wrap(values), x.wrap(vectors)


@_needs_double(np.linalg.qr)
def qr(x: Any, **kwargs: Any) -> tuple[DeviceArray, DeviceArray]:
    """Orthonormal and triangular factor."""
    Q, R = x.xp.linalg.qr(x.data)
    return x.wrap(Q), x.wrap(R)


@_needs_double(np.linalg.slogdet)
def slogdet(x: Any) -> tuple[DeviceArray, DeviceArray]:
    """Sign and logarithm of the determinant."""
    sign, value = x.xp.linalg.slogdet(x.data)
    return x.wrap(sign), x.wrap(value)


@_needs_double(np.linalg.solve)
def solve(A: Any, b: Any) -> DeviceArray:
    """Solution of linear equations."""
    like = device_of(A, b)
    return like.wrap(like.xp.linalg.solve(own(A, like).data, own(b, like).data))


@implements(np.linalg.norm)
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> DeviceArray:
    """Euclidean length, of all entries or along an axis."""
    if ord is not None:
        raise TypeError("numpy.linalg.norm has the Euclidean form only for arrays on a device.")
    return np.sqrt(np.sum(x * x, axis=axis, keepdims=keepdims))


@implements(np.trace, np.linalg.trace)
def trace(x: Any, *args: Any, **kwargs: Any) -> DeviceArray:
    """Sum of the diagonal."""
    return x.wrap(x.xp.linalg.trace(x.data))


@implements(np.linalg.diagonal)
def diagonal(x: Any, **kwargs: Any) -> DeviceArray:
    """Diagonal of a matrix."""
    return x.wrap(x.xp.linalg.diagonal(x.data))


@implements(np.dot)
def dot(x: Any, y: Any, **kwargs: Any) -> DeviceArray:
    """Matrix product."""
    return x @ y


@implements(np.vdot)
def vdot(x: Any, y: Any) -> DeviceArray:
    """Sum of the products of all entries."""
    return np.sum(x * y)


@implements(np.outer)
def outer(x: Any, y: Any, **kwargs: Any) -> DeviceArray:
    """Products of all pairs of entries."""
    like = device_of(x, y)
    return own(x, like)[:, None] * own(y, like)[None, :]


@implements(np.einsum)
def einsum(subscripts: str, *operands: Any, **kwargs: Any) -> DeviceArray:
    """Sums of the products of two arrays of one shape, over their last axis or over all."""
    left, right = operands
    indices, _, kept = subscripts.partition("->")
    first, second = indices.split(",")
    if first != second or not first.startswith(kept):
        raise TypeError(f"numpy.einsum has no form {subscripts!r} for arrays on a device.")
    axes = tuple(range(len(kept), len(first)))
    return np.sum(left * right, axis=axes if kept else None)


@implements(np.cov)
def cov(x: Any, rowvar: bool = True, **kwargs: Any) -> DeviceArray:
    """Covariance of rows or of columns."""
    V = x.T if rowvar else x
    V = V - np.mean(V, axis=0)
    return V.T @ V / max(V.shape[0] - 1, 1)


def sparse_product(A: Any, X: DeviceArray) -> Any:
    """AX for a sparse matrix A of SciPy.

    The entries of A are sorted by row, so each row sums a run of scaled rows of X. Rows with as many entries are
    taken together, which makes every sum a sum along an axis.
    """
    A = A.tocsr()
    data = to_device(A.data.astype(np.float64, copy=False), X)
    indices = to_device(A.indices.astype(np.int64), X)
    return row_sums(data, indices, np.diff(A.indptr), A.indptr[:-1], X)


def row_sums(weights: DeviceArray, columns: DeviceArray, counts: np.ndarray, starts: np.ndarray, X: DeviceArray) -> Any:
    """Σ_t weights_t x_columns(t) over the runs that begin at ``starts`` and have ``counts`` entries, (runs, d)."""
    parts, order = [], []
    for size in np.unique(counts):
        rows = np.flatnonzero(counts == size)
        places = np.asarray(starts[rows][:, None] + np.arange(size), like=columns)
        taken = X[columns[places]] * weights[places][:, :, None] if size else None
        parts.append(np.zeros((len(rows), X.shape[1]), like=X) if taken is None else np.sum(taken, axis=1))
        order.append(rows)
    return np.concatenate(parts)[np.argsort(np.concatenate(order))]
