"""Constraint matrices over blocks: their rows stay on the workers, M goes out, and one d × d matrix comes back."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from gramian.constraints.base import Terms
from gramian.dask import passes, views
from gramian.dask.rows import Rows
from gramian.dask.views import View
from gramian.solvers.rows import Rows as ConstraintRows
from gramian.solvers.rows import rows_of_terms

MEMORY_BYTES = 512 << 20
"""Rows of constraints up to this size are gathered, and the solver works on the client alone."""
PART_BYTES = 32 << 20
"""Size of what one task works on; some of the constraints are gathered up to this size."""


@dataclass(frozen=True, eq=False)
class SpreadRows:
    """The words of :class:`gramian.solvers.rows.Rows` for parts of the constraints that workers keep.

    A map of all vectors is not applied to them: with ``V`` (d, q), ⟨VᵀAV, S⟩ = ⟨A, VSVᵀ⟩.
    """

    engine: Any
    parts: tuple[Any, ...]
    ends: np.ndarray
    rank: int
    V: np.ndarray

    def __len__(self) -> int:
        return int(self.ends[-1])

    def linear(self, M: np.ndarray) -> np.ndarray:
        """⟨A_i, M⟩, shape (m,)."""
        return laid(self, said, "linear", self.V @ M @ self.V.T)

    def size(self, prior: Any = None) -> np.ndarray:
        """Size of each A_i under M₀, shape (m,)."""
        return laid(self, said, "size", self.V @ (self.V.T if prior is None else prior @ self.V.T))

    def form(self, derivative: Any) -> np.ndarray:
        """About ⟨A_i, ∇²φ*[A_i]⟩, shape (m,)."""
        return laid(self, form_of, self.V, derivative)

    def positive(self) -> np.ndarray:
        """1 for constraints whose A_i is known to be PSD, shape (m,)."""
        return laid(self, said, "positive")

    def adjoint(self, lam: np.ndarray) -> np.ndarray:
        """A(λ) = Σ λ_i A_i, (d, d)."""
        return summed(self, [(part, "adjoint", own) for part, own in zip(self.parts, split(self, lam))])

    def normal(self, S: np.ndarray) -> np.ndarray:
        """Σ ⟨A_i, S⟩ A_i, (d, d): one round."""
        outer = self.V @ S @ self.V.T
        return summed(self, [(part, "normal", outer) for part in self.parts])

    def moment(self) -> np.ndarray:
        """Second moment of all vectors, (d, d)."""
        return summed(self, [(part, "moment") for part in self.parts])

    def mapped(self, V: np.ndarray) -> "SpreadRows":
        """The rows of Vᵀ A_i V."""
        return replace(self, V=self.V @ V)

    def take(self, keep: np.ndarray) -> Any:
        """The rows of some of the constraints, chosen by a mask (m,); few of them come into memory."""
        masks = split(self, keep)
        tasks = [(part, "take", own) for part, own in zip(self.parts, masks)]
        ends = np.cumsum([int(own.sum()) for own in masks])
        if 8 * self.rank * len(self.V) * ends[-1] <= PART_BYTES:
            return joined(self.engine.each(said, tasks)).mapped(self.V)
        return replace(self, parts=tuple(self.engine.kept(said, tasks)), ends=ends)

    def scaled(self, factor: np.ndarray) -> "SpreadRows":
        """The rows of factor_i A_i."""
        tasks = [(part, "scaled", own) for part, own in zip(self.parts, split(self, factor))]
        return replace(self, parts=tuple(self.engine.kept(said, tasks)))

    def squares(self) -> tuple[np.ndarray, np.ndarray]:
        """Each A_i as a sum of two signed squares, in memory."""
        vectors, signs = zip(*self.engine.each(said, [(part, "squares") for part in self.parts]))
        return np.concatenate(vectors) @ self.V, np.concatenate(signs)


def split(rows: SpreadRows, values: np.ndarray) -> list[np.ndarray]:
    """Values (m,) as one array for each part."""
    return np.split(values, rows.ends[:-1])


def laid(rows: SpreadRows, function: Any, *args: Any) -> np.ndarray:
    """A number for each constraint, (m,)."""
    return np.concatenate(rows.engine.each(function, [(part, *args) for part in rows.parts]))


def summed(rows: SpreadRows, tasks: list[tuple]) -> np.ndarray:
    """VᵀAV of the sum A of what all parts say."""
    return rows.V.T @ rows.engine.total(said, tasks) @ rows.V


def said(part: ConstraintRows, word: str, *args: Any) -> Any:
    """What one part of the constraints answers."""
    return getattr(part, word)(*args)


def form_of(part: ConstraintRows, V: np.ndarray, derivative: Any) -> np.ndarray:
    """What it answers to ``form`` when its vectors are mapped."""
    return part.mapped(V).form(derivative)


def joined(parts: list[ConstraintRows]) -> ConstraintRows:
    """All parts as one."""
    left, weight = (np.concatenate([getattr(part, name) for part in parts]) for name in ("left", "weight"))
    right = None if parts[0].right is None else np.concatenate([part.right for part in parts])
    return ConstraintRows(left, weight, right)


@rows_of_terms.register
def _(Z: Rows, terms: Terms) -> Any:
    sides = (terms.left,) if terms.symmetric else (terms.left, terms.right)
    total = 8 * Z.view.size * sum(side.shape[0] for side in sides)
    m, t = terms.weight.shape
    if total <= MEMORY_BYTES or m == 1 or Z.minus is not None:
        left, *right = (side @ Z for side in sides)
        return ConstraintRows(left, terms.weight, *right)
    workers = Z.engine.workers
    count = min(m, workers * -(-total // (PART_BYTES * workers)))
    ends = np.linspace(0, m, count + 1).astype(int)[1:]
    wanted, args = [], []
    for start, stop in zip([0, *ends[:-1]], ends):
        own = [sparse.csr_array(side[start * t : stop * t]) for side in sides]
        names = np.unique(np.concatenate([side.indices for side in own]))
        wanted.append(names)
        args.append((Z.view, [side[:, names] for side in own], terms.weight[start:stop]))
    parts = Z.engine.exchange(views.pieces_of, passes.sending(Z, wanted), part_of, args)
    rank = t * len(sides)
    return SpreadRows(Z.engine, tuple(parts), ends, rank, np.eye(Z.view.size))


def part_of(pieces: list[np.ndarray], view: View, sides: list[Any], weight: np.ndarray) -> ConstraintRows:
    """Some of the constraints, on the rows that were sent."""
    V = view.of(np.concatenate(pieces))
    left, *right = (side @ V for side in sides)
    return ConstraintRows(left, weight, *right)
