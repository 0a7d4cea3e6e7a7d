"""Constraint matrices of one kind, stacked: by their entries, their low-rank factors, or matrix-free.

A part has three methods: ``values(V, d)`` gives ⟨A_i, X⟩ for X = V diag(d) Vᵀ, ``of_matrix(X)`` for a dense X, and
``adjoint(w)`` is Σ_i w_i A_i.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator

from gramian import _checks


@dataclass(frozen=True, eq=False)
class LowRank:
    """A = U diag(s) Uᵀ with U (n, q), dense or sparse, and s (q,): q numbers per row instead of n.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.rankmin import LowRank
    >>> LowRank(np.array([[1.0], [-1.0]]), [1.0]).shape
    (2, 2)
    """

    U: Any
    s: Any

    def __post_init__(self) -> None:
        s = _checks.vector(np.atleast_1d(self.s), "LowRank", "s")
        U = _checks.points(self.U, "LowRank", name="U")
        if s.shape != (U.shape[1],):
            raise ValueError(f"LowRank: s must hold one number per column of U {U.shape}, got shape {s.shape}.")
        object.__setattr__(self, "U", sparse.csc_array(U, dtype=float) if sparse.issparse(U) else np.array(U, float))
        object.__setattr__(self, "s", s)

    @property
    def shape(self) -> tuple[int, int]:
        """Shape (n, n) of the matrix."""
        return self.U.shape[0], self.U.shape[0]


class Entries:
    """Matrices given by entries: row i of ``S`` holds A_i on the pattern ``rows ≤ cols``, off-diagonals doubled."""

    def __init__(self, matrices: Sequence[Any], n: int):
        self.n = n
        if all(isinstance(A, np.ndarray) for A in matrices):
            self.rows, self.cols = np.triu_indices(n)
            self.S = np.stack([A[self.rows, self.cols] for A in matrices])
        else:
            stacked = [sparse.triu(sparse.coo_array(A), format="coo") for A in matrices]
            keys = [A.row.astype(np.int64) * n + A.col for A in stacked]
            pattern, where = np.unique(np.concatenate(keys), return_inverse=True)
            self.rows, self.cols = (pattern // n).astype(np.intp), (pattern % n).astype(np.intp)
            owner = np.repeat(np.arange(len(stacked)), [len(k) for k in keys])
            data = np.concatenate([A.data for A in stacked]).astype(float)
            self.S = sparse.csr_array((data, (owner, where)), shape=(len(stacked), len(pattern)))
        self.double = np.where(self.rows == self.cols, 1.0, 2.0)
        self.S = self.S @ sparse.diags_array(self.double) if sparse.issparse(self.S) else self.S * self.double

    @cached_property
    def _full(self) -> sparse.csr_array:
        """The symmetric pattern, holding at each place the (1-based) column of S that fills it."""
        p = np.arange(1, len(self.rows) + 1)
        off = self.rows != self.cols
        i = np.concatenate([self.rows, self.cols[off]])
        j = np.concatenate([self.cols, self.rows[off]])
        return sparse.csr_array((np.concatenate([p, p[off]]), (i, j)), shape=(self.n, self.n))

    def values(self, V: np.ndarray, d: np.ndarray) -> np.ndarray:
        if 4 * len(self.rows) > self.n**2:
            return self.of_matrix((V * d) @ V.T)
        x = np.zeros(len(self.rows))
        for v, weight in zip(V.T, d):
            x += weight * v[self.rows] * v[self.cols]
        return self.S @ x

    def of_matrix(self, X: np.ndarray) -> np.ndarray:
        return self.S @ X[self.rows, self.cols]

    def of_columns(self, C: np.ndarray, start: int) -> np.ndarray:
        """What the columns C = X[:, start:start + w] add to ⟨A_i, X⟩."""
        place = self.cols - start
        here = np.flatnonzero((place >= 0) & (place < C.shape[1]))
        return self.S[:, here] @ C[self.rows[here], place[here]]

    def adjoint(self, w: np.ndarray) -> Any:
        c = (self.S.T @ w) / self.double
        if not sparse.issparse(self.S):
            A = np.zeros((self.n, self.n))
            A[self.rows, self.cols] = c
            return A + np.triu(A, 1).T
        full = self._full
        return sparse.csr_array((c[full.data - 1], full.indices, full.indptr), shape=full.shape)

    def gram(self) -> np.ndarray:
        half = self.S @ sparse.diags_array(1 / self.double) if sparse.issparse(self.S) else self.S / self.double
        G = half @ self.S.T
        return G.toarray() if sparse.issparse(G) else G


class Factors:
    """Low-rank matrices, their factors side by side."""

    def __init__(self, matrices: Sequence[LowRank]):
        self.items = list(matrices)
        dense = not any(sparse.issparse(A.U) for A in matrices)
        self.U = np.hstack([A.U for A in matrices]) if dense else sparse.hstack([A.U for A in matrices], format="csc")
        self.s = np.concatenate([A.s for A in matrices])
        self.owner = np.repeat(np.arange(len(self.items)), [len(A.s) for A in matrices])

    def values(self, V: np.ndarray, d: np.ndarray) -> np.ndarray:
        return self._sum(((self.U.T @ V) ** 2) @ d)

    def of_matrix(self, X: np.ndarray) -> np.ndarray:
        U = dense(self.U)
        return self._sum(np.einsum("ij,ij->j", U, X @ U))

    def _sum(self, forms: np.ndarray) -> np.ndarray:
        return np.bincount(self.owner, self.s * forms, minlength=len(self.items))

    def adjoint(self, w: np.ndarray) -> LinearOperator:
        U, c = self.U, self.s * w[self.owner]
        return operator(U.shape[0], lambda x: U @ (c[:, None] * (U.T @ x)))


class Implicit:
    """Matrix-free symmetric operators."""

    def __init__(self, matrices: Sequence[LinearOperator]):
        self.items = list(matrices)

    def values(self, V: np.ndarray, d: np.ndarray) -> np.ndarray:
        return np.array([np.einsum("ij,ij,j->", V, A @ V, d) if V.shape[1] else 0.0 for A in self.items])

    def of_matrix(self, X: np.ndarray) -> np.ndarray:
        return np.array([np.trace(A @ X) for A in self.items])

    def columns(self, start: int, width: int) -> np.ndarray:
        """The same columns of every matrix, (m, n, width)."""
        return np.stack([columns(A, start, width) for A in self.items])

    def adjoint(self, w: np.ndarray) -> LinearOperator:
        used = [(c, A) for c, A in zip(w, self.items) if c]
        return operator(self.items[0].shape[0], lambda x: sum((c * (A @ x) for c, A in used), np.zeros_like(x)))


def operator(n: int, matmat: Any) -> LinearOperator:
    def matvec(x: np.ndarray) -> np.ndarray:
        return matmat(x.reshape(n, -1)).ravel()

    return LinearOperator((n, n), matvec=matvec, matmat=matmat, rmatvec=matvec, dtype=float)


def dense(A: Any) -> np.ndarray:
    """The matrix as an array."""
    if isinstance(A, np.ndarray):
        return A
    return A.toarray() if sparse.issparse(A) else A @ np.eye(A.shape[0])


def columns(A: Any, start: int, width: int) -> np.ndarray:
    """A[:, start:start + width] of an array or an operator."""
    return A[:, start : start + width] if isinstance(A, np.ndarray) else A @ np.eye(A.shape[0], width, -start)
