"""The linear map 𝒜(X)_i = ⟨A_i, X⟩ of symmetric constraint matrices, and its adjoint A(w) = Σ_i w_i A_i.

Constraint matrices may be dense, sparse, low-rank or matrix-free. Each kind is stacked once into a part with three
methods: ``values(V, d)`` for X = V diag(d) Vᵀ, ``of_matrix(X)`` for a dense X, and ``adjoint(w)``.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, aslinearoperator

OWNER = "RankMinimizer"


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
        s = np.atleast_1d(np.asarray(self.s, dtype=float))
        U = sparse.csc_array(self.U, dtype=float) if sparse.issparse(self.U) else np.array(self.U, dtype=float)
        finite = np.isfinite(U.data if sparse.issparse(U) else U).all() and np.isfinite(s).all()
        if U.ndim != 2 or s.shape != (U.shape[1],) or not finite:
            raise ValueError(f"LowRank: U must be finite (n, q) and s (q,), got {U.shape} and {s.shape}.")
        object.__setattr__(self, "U", U)
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
        U = _dense(self.U)
        return self._sum(np.einsum("ij,ij->j", U, X @ U))

    def _sum(self, forms: np.ndarray) -> np.ndarray:
        return np.bincount(self.owner, self.s * forms, minlength=len(self.items))

    def adjoint(self, w: np.ndarray) -> LinearOperator:
        U, c = self.U, self.s * w[self.owner]
        return _operator(U.shape[0], lambda x: U @ (c[:, None] * (U.T @ x)))


class Implicit:
    """Matrix-free symmetric operators."""

    def __init__(self, matrices: Sequence[LinearOperator]):
        self.items = list(matrices)

    def values(self, V: np.ndarray, d: np.ndarray) -> np.ndarray:
        return np.array([np.einsum("ij,ij,j->", V, A @ V, d) if V.shape[1] else 0.0 for A in self.items])

    def of_matrix(self, X: np.ndarray) -> np.ndarray:
        return np.array([np.trace(A @ X) for A in self.items])

    def adjoint(self, w: np.ndarray) -> LinearOperator:
        used = [(c, A) for c, A in zip(w, self.items) if c]
        return _operator(self.items[0].shape[0], lambda x: sum((c * (A @ x) for c, A in used), np.zeros_like(x)))


def _operator(n: int, matmat: Any) -> LinearOperator:
    def matvec(x: np.ndarray) -> np.ndarray:
        return matmat(x.reshape(n, -1)).ravel()

    return LinearOperator((n, n), matvec=matvec, matmat=matmat, rmatvec=matvec, dtype=float)


Part = Entries | Factors | Implicit


class Measurements:
    """𝒜 for a list of symmetric matrices of one size n; ``len`` is m."""

    def __init__(self, A: Any):
        matrices = [_matrix(a, i) for i, a in enumerate(A)]
        if not matrices:
            raise ValueError(f"{OWNER}: A must hold at least one matrix, got none.")
        sizes = {a.shape for a in matrices}
        if len(sizes) > 1:
            raise ValueError(f"{OWNER}: the matrices of A must have one size, got {sorted(sizes)}.")
        self.m, self.n = len(matrices), matrices[0].shape[0]
        kinds = np.array([_kind(a) for a in matrices])
        make: dict[str, Callable[[list[Any]], Part]] = {
            "entries": lambda items: Entries(items, self.n),
            "factors": Factors,
            "implicit": Implicit,
        }
        self.parts = [
            (np.flatnonzero(kinds == kind), make[kind]([matrices[i] for i in np.flatnonzero(kinds == kind)]))
            for kind in dict.fromkeys(kinds.tolist())
        ]

    def __len__(self) -> int:
        return self.m

    def __call__(self, V: np.ndarray, d: np.ndarray | None = None) -> np.ndarray:
        """⟨A_i, V diag(d) Vᵀ⟩ for all i, d = 1 when None."""
        out = np.zeros(self.m)
        if V.shape[1]:
            d = np.ones(V.shape[1]) if d is None else d
            for index, part in self.parts:
                out[index] = part.values(V, d)
        return out

    def adjoint(self, w: np.ndarray) -> Any:
        """A(w) = Σ_i w_i A_i: an array, a sparse array or a linear operator."""
        terms = [part.adjoint(w[index]) for index, part in self.parts]
        return terms[0] if len(terms) == 1 else reduce(lambda a, b: a + b, map(aslinearoperator, terms))

    @cached_property
    def gram(self) -> np.ndarray:
        """⟨A_i, A_j⟩, (m, m)."""
        if len(self.parts) == 1 and isinstance(self.parts[0][1], Entries):
            return self.parts[0][1].gram()
        G = np.zeros((self.m, self.m))
        for index, part in self.parts:
            for place, i in enumerate(index):
                G[:, i] = self._column(part, place, len(index))
        return (G + G.T) / 2

    def _column(self, part: Part, place: int, size: int) -> np.ndarray:
        """𝒜(A_i) for one matrix of a part."""
        if isinstance(part, Factors):
            A = part.items[place]
            return self(_dense(A.U), A.s)
        X = _dense(part.adjoint(np.eye(size)[place]))
        out = np.zeros(self.m)
        for index, other in self.parts:
            out[index] = other.of_matrix(X)
        return out

    @cached_property
    def norms(self) -> np.ndarray:
        """Frobenius norms ‖A_i‖, (m,)."""
        return np.sqrt(np.maximum(self.gram.diagonal(), 0))


def _dense(A: Any) -> np.ndarray:
    if isinstance(A, np.ndarray):
        return A
    return A.toarray() if sparse.issparse(A) else A @ np.eye(A.shape[0])


def _kind(A: Any) -> str:
    if isinstance(A, LowRank):
        return "factors"
    return "implicit" if isinstance(A, LinearOperator) else "entries"


def _matrix(A: Any, i: int) -> Any:
    """One constraint matrix: validated, symmetric."""
    if isinstance(A, LowRank | LinearOperator):
        if A.shape[0] != A.shape[1]:
            raise ValueError(f"{OWNER}: A[{i}] must be square, got shape {A.shape}.")
        return A
    A = sparse.coo_array(A) if sparse.issparse(A) else np.asarray(A, dtype=float)
    if A.ndim != 2 or A.shape[0] != A.shape[1]:
        raise ValueError(f"{OWNER}: A[{i}] must be square, got shape {A.shape}.")
    entries = A.data if sparse.issparse(A) else A
    if not np.isfinite(entries).all():
        raise ValueError(f"{OWNER}: A[{i}] contains NaN or infinity.")
    gap = abs(A - A.T)
    gap = gap.data if sparse.issparse(gap) else gap
    if gap.max(initial=0.0) > 1e-8 * np.abs(entries).max(initial=0.0):
        raise ValueError(f"{OWNER}: A[{i}] must be symmetric; pass (A + Aᵀ) / 2, which has the same ⟨A, X⟩.")
    return A
