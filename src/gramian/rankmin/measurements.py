"""The linear map 𝒜(X)_i = ⟨A_i, X⟩ of symmetric constraint matrices, and its adjoint A(w) = Σ_i w_i A_i."""

from collections.abc import Callable, Iterable
from functools import cached_property, reduce
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, aslinearoperator

from gramian import _checks, linalg
from gramian.rankmin.parts import Entries, Factors, Implicit, LowRank, dense

OWNER = "RankMinimizer"
Part = Entries | Factors | Implicit


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

    def of_matrix(self, X: np.ndarray) -> np.ndarray:
        """⟨A_i, X⟩ of a dense X."""
        out = np.zeros(self.m)
        for index, part in self.parts:
            out[index] = part.of_matrix(X)
        return out

    def adjoint(self, w: np.ndarray) -> Any:
        """A(w) = Σ_i w_i A_i: an array, a sparse array or a linear operator."""
        terms = [part.adjoint(w[index]) for index, part in self.parts]
        return terms[0] if len(terms) == 1 else reduce(lambda a, b: a + b, map(aslinearoperator, terms))

    @cached_property
    def gram(self) -> np.ndarray:
        """⟨A_i, A_j⟩, (m, m), without an n × n matrix that was not given."""
        G = np.zeros((self.m, self.m))
        for index, part in self.parts:
            if isinstance(part, Entries):
                G[np.ix_(index, index)] = part.gram()
            elif isinstance(part, Implicit):
                self._implicit_gram(G, index, part)
            else:
                for i, A in zip(index, part.items):
                    G[i] = G[:, i] = self(dense(A.U), A.s)
        return G

    def _implicit_gram(self, G: np.ndarray, index: np.ndarray, implicit: Implicit) -> None:
        """The rows of matrix-free A_i against each other and against entries, by blocks of columns."""
        given = [(place, part) for place, part in self.parts if isinstance(part, Entries)]
        for block in linalg.blocks(self.n, 8.0 * self.n * len(index), 4 << 20):
            C = implicit.columns(block.start, block.stop - block.start)
            G[np.ix_(index, index)] += np.tensordot(C, C, ((1, 2), (1, 2)))
            for place, entries in given:
                for i, columns in zip(index, C):
                    G[place, i] += entries.of_columns(columns, block.start)
        for place, _ in given:
            G[np.ix_(index, place)] = G[np.ix_(place, index)].T

    @cached_property
    def norms(self) -> np.ndarray:
        """Frobenius norms ‖A_i‖, (m,)."""
        return np.sqrt(np.maximum(self.gram.diagonal(), 0))


def _kind(A: Any) -> str:
    if isinstance(A, LowRank):
        return "factors"
    return "implicit" if isinstance(A, LinearOperator) else "entries"


def _matrix(A: Any, i: int) -> Any:
    """One constraint matrix: validated, symmetric."""
    name = f"A[{i}]"
    if not isinstance(A, LowRank | LinearOperator):
        A = _checks.points(A, OWNER, name=name).astype(float, copy=False)
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
        gap, size = probe.T @ image, np.linalg.norm(image) * np.linalg.norm(probe)
        return float(abs(gap[0, 1] - gap[1, 0]) / max(size, np.finfo(float).tiny))
    gap = abs(A - A.T)
    return float(gap.max() / max(abs(A).max(), np.finfo(float).tiny))
