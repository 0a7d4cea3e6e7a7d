"""The linear map 𝒜(X)_i = ⟨A_i, X⟩ of symmetric constraint matrices, and its adjoint A(w) = Σ_i w_i A_i.

Matrices of one kind are stacked in a block: by their entries, their low-rank factors, or matrix-free. A block has three
methods: ``values(V, d)`` gives ⟨A_i, X⟩ for X = V diag(d) Vᵀ, ``of_matrix(X)`` for a dense X, and ``adjoint(w)`` is
Σ_i w_i A_i.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, aslinearoperator

from gramian import _validate, linalg

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
        s = _validate.vector(np.atleast_1d(self.s), "LowRank", "s")
        U = _validate.points(self.U, "LowRank", name="U")
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
        dense_ones = all(isinstance(A, np.ndarray) for A in matrices)
        self.rows, self.cols, S = (_upper_entries if dense_ones else _stored_entries)(matrices, n)
        self.double = np.where(self.rows == self.cols, 1.0, 2.0)  # an entry off the diagonal stands for two
        self.S: Any = S @ sparse.diags_array(self.double) if sparse.issparse(S) else S * self.double

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
        x = np.zeros(len(self.rows))  # X on the pattern
        for v, weight in zip(V.T, d):
            x += weight * v[self.rows] * v[self.cols]
        values: np.ndarray = self.S @ x
        return values

    def of_matrix(self, X: np.ndarray) -> np.ndarray:
        values: np.ndarray = self.S @ X[self.rows, self.cols]
        return values

    def of_columns(self, C: np.ndarray, start: int) -> np.ndarray:
        """What the columns C = X[:, start:start + w] add to ⟨A_i, X⟩."""
        place = self.cols - start
        inside = np.flatnonzero((place >= 0) & (place < C.shape[1]))
        sums: np.ndarray = self.S[:, inside] @ C[self.rows[inside], place[inside]]
        return sums

    def adjoint(self, w: np.ndarray) -> Any:
        c = (self.S.T @ w) / self.double  # A(w) on the pattern
        if not sparse.issparse(self.S):
            A = np.zeros((self.n, self.n))
            A[self.rows, self.cols] = c
            return A + np.triu(A, 1).T
        full = self._full
        return sparse.csr_array((c[full.data - 1], full.indices, full.indptr), shape=full.shape)

    def gram(self) -> np.ndarray:
        half = self.S @ sparse.diags_array(1 / self.double) if sparse.issparse(self.S) else self.S / self.double
        G = half @ self.S.T
        gram: np.ndarray = G.toarray() if sparse.issparse(G) else G
        return gram


def _upper_entries(matrices: Sequence[np.ndarray], n: int) -> tuple[np.ndarray, np.ndarray, Any]:
    """Rows, columns and entries (m, n (n + 1) / 2) of the upper triangles."""
    rows, cols = np.triu_indices(n)
    return rows, cols, np.stack([A[rows, cols] for A in matrices])


def _stored_entries(matrices: Sequence[Any], n: int) -> tuple[np.ndarray, np.ndarray, Any]:
    """Rows, columns and entries of the union of all patterns in the upper triangle, as CSR (m, its size)."""
    stacked = [sparse.triu(sparse.coo_array(A), format="coo") for A in matrices]
    keys = [A.row.astype(np.int64) * n + A.col for A in stacked]
    pattern, where = np.unique(np.concatenate(keys), return_inverse=True)
    owner = np.repeat(np.arange(len(stacked)), [len(k) for k in keys])
    data = np.concatenate([A.data for A in stacked]).astype(float)
    S = sparse.csr_array((data, (owner, where)), shape=(len(stacked), len(pattern)))
    return (pattern // n).astype(np.intp), (pattern % n).astype(np.intp), S


class Factors:
    """Low-rank matrices, their factors side by side."""

    def __init__(self, matrices: Sequence[LowRank]):
        self.items = list(matrices)
        dense = not any(sparse.issparse(A.U) for A in matrices)
        self.U = np.hstack([A.U for A in matrices]) if dense else sparse.hstack([A.U for A in matrices], format="csc")
        self.s = np.concatenate([A.s for A in matrices])
        # (columns of U,): the matrix that each belongs to
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


Block = Entries | Factors | Implicit


class Measurements:
    """𝒜 for a list of symmetric matrices of one size n; ``len`` is m."""

    def __init__(self, A: Any):
        if sparse.issparse(A) or not isinstance(A, Iterable):
            raise TypeError(f"{OWNER}: A must be a sequence of matrices, got {type(A).__name__}.")
        matrices = [_matrix(a, i) for i, a in enumerate(A)]
        if not matrices:
            raise ValueError(f"{OWNER}: A must hold at least one matrix, got none.")
        sizes = {a.shape for a in matrices}
        if len(sizes) > 1:
            raise ValueError(f"{OWNER}: the matrices of A must have one size, got {sorted(sizes)}.")
        self.m, self.n = len(matrices), matrices[0].shape[0]
        kinds = np.array([_kind(a) for a in matrices])
        self.blocks = [self._block(matrices, kinds, kind) for kind in dict.fromkeys(kinds.tolist())]

    def _block(self, matrices: list[Any], kinds: np.ndarray, kind: str) -> tuple[np.ndarray, Block]:
        """The places of the matrices of one kind, and the block of these."""
        places = np.flatnonzero(kinds == kind)
        items = [matrices[i] for i in places]
        if kind == "entries":
            return places, Entries(items, self.n)
        return places, Factors(items) if kind == "factors" else Implicit(items)

    def __len__(self) -> int:
        return self.m

    def __call__(self, V: np.ndarray, d: np.ndarray | None = None) -> np.ndarray:
        """⟨A_i, V diag(d) Vᵀ⟩ for all i, d = 1 when None."""
        out = np.zeros(self.m)
        if V.shape[1]:
            d = np.ones(V.shape[1]) if d is None else d
            for index, block in self.blocks:
                out[index] = block.values(V, d)
        return out

    def of_matrix(self, X: np.ndarray) -> np.ndarray:
        """⟨A_i, X⟩ of a dense X."""
        out = np.zeros(self.m)
        for index, block in self.blocks:
            out[index] = block.of_matrix(X)
        return out

    def adjoint(self, w: np.ndarray) -> Any:
        """A(w) = Σ_i w_i A_i: an array, a sparse array or a linear operator."""
        terms = [block.adjoint(w[index]) for index, block in self.blocks]
        return terms[0] if len(terms) == 1 else reduce(lambda a, b: a + b, map(aslinearoperator, terms))

    @cached_property
    def gram(self) -> np.ndarray:
        """⟨A_i, A_j⟩, (m, m), without an n × n matrix that was not given."""
        G = np.zeros((self.m, self.m))
        for index, block in self.blocks:
            if isinstance(block, Entries):
                G[np.ix_(index, index)] = block.gram()
            elif isinstance(block, Implicit):
                self._implicit_gram(G, index, block)
            else:
                for i, A in zip(index, block.items):
                    G[i] = G[:, i] = self(dense(A.U), A.s)
        return G

    def _implicit_gram(self, G: np.ndarray, index: np.ndarray, implicit: Implicit) -> None:
        """The rows of matrix-free A_i against each other and against entries, by blocks of columns."""
        stored = [(place, block) for place, block in self.blocks if isinstance(block, Entries)]
        for band in linalg.blocks(self.n, 8.0 * self.n * len(index), 4 << 20):
            C = implicit.columns(band.start, band.stop - band.start)  # (m, n, width)
            G[np.ix_(index, index)] += np.tensordot(C, C, ((1, 2), (1, 2)))
            for place, entries in stored:
                for i, X in zip(index, C):
                    G[place, i] += entries.of_columns(X, band.start)
        for place, _ in stored:
            G[np.ix_(index, place)] = G[np.ix_(place, index)].T

    @cached_property
    def norms(self) -> np.ndarray:
        """Frobenius norms ‖A_i‖, (m,)."""
        norms: np.ndarray = np.sqrt(np.maximum(self.gram.diagonal(), 0))
        return norms


def _kind(A: Any) -> str:
    if isinstance(A, LowRank):
        return "factors"
    return "implicit" if isinstance(A, LinearOperator) else "entries"


def _matrix(A: Any, i: int) -> Any:
    """One constraint matrix: validated, symmetric."""
    name = f"A[{i}]"
    if not isinstance(A, LowRank | LinearOperator):
        A = _validate.points(A, OWNER, name=name).astype(float, copy=False)
    if A.shape[0] != A.shape[1]:
        raise ValueError(f"{OWNER}: {name} must be square, got shape {A.shape}; use rankmin.solve_rectangular.")
    if not isinstance(A, LowRank) and _asymmetry(A, name) > (1e-6 if isinstance(A, LinearOperator) else 1e-8):
        raise ValueError(f"{OWNER}: {name} must be symmetric; pass (A + Aᵀ) / 2, which has the same ⟨A, X⟩.")
    return A


def _asymmetry(A: Any, name: str) -> float:
    """Return max |A − Aᵀ| / max |A|; of an operator |xᵀAy − yᵀAx| / (|Ax| |y|) at two random vectors."""
    if isinstance(A, LinearOperator):
        probe = np.random.RandomState(0).standard_normal((A.shape[0], 2))
        image = A @ probe
        if not np.isfinite(image).all():
            raise ValueError(f"{OWNER}: {name} gives NaN or infinity for a vector without.")
        gap, size = probe.T @ image, np.linalg.norm(image) * np.linalg.norm(probe)  # (2, 2): xᵢᵀAxⱼ
        return float(abs(gap[0, 1] - gap[1, 0]) / max(size, np.finfo(float).tiny))
    gap = abs(A - A.T)
    return float(gap.max() / max(abs(A).max(), np.finfo(float).tiny))


def operator(n: int, matmat: Callable[[np.ndarray], np.ndarray]) -> LinearOperator:
    """A symmetric operator, by its products with columns."""

    def matvec(x: np.ndarray) -> np.ndarray:
        y: np.ndarray = matmat(x.reshape(n, -1)).ravel()
        return y

    return LinearOperator((n, n), matvec=matvec, matmat=matmat, rmatvec=matvec, dtype=float)


def dense(A: Any) -> np.ndarray:
    """The matrix as an array."""
    if isinstance(A, np.ndarray):
        return A
    full: np.ndarray = A.toarray() if sparse.issparse(A) else A @ np.eye(A.shape[0])
    return full


def columns(A: Any, start: int, width: int) -> np.ndarray:
    """A[:, start:start + width] of an array or an operator."""
    C: np.ndarray = A[:, start : start + width] if isinstance(A, np.ndarray) else A @ np.eye(A.shape[0], width, -start)
    return C
