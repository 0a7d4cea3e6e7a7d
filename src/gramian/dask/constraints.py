"""Constraint matrices over blocks: their rows stay on the workers, M goes out, and one d × d matrix comes back."""

from dataclasses import dataclass
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
"""Size of what one task works on."""


@dataclass(frozen=True, eq=False)
class SpreadRows:
    """The words of :class:`gramian.solvers.rows.Rows` for parts of the constraints that workers keep."""

    engine: Any
    parts: tuple[Any, ...]
    ends: np.ndarray
    rank: int

    def __len__(self) -> int:
        return int(self.ends[-1])

    def _split(self, values: np.ndarray) -> list[np.ndarray]:
        return np.split(values, self.ends[:-1])

    def _laid(self, word: str, *args: Any) -> np.ndarray:
        found = self.engine.each(said, [(part, word, *args) for part in self.parts])
        return np.concatenate(found)

    def linear(self, M: np.ndarray) -> np.ndarray:
        """⟨A_i, M⟩, shape (m,)."""
        return self._laid("linear", M)

    def size(self, prior: Any = None) -> np.ndarray:
        """Size of each A_i under M₀, shape (m,)."""
        return self._laid("size", prior)

    def form(self, derivative: Any) -> np.ndarray:
        """About ⟨A_i, ∇²φ*[A_i]⟩, shape (m,)."""
        return self._laid("form", derivative)

    def positive(self) -> np.ndarray:
        """1 for constraints whose A_i is known to be PSD, shape (m,)."""
        return self._laid("positive")

    def adjoint(self, lam: np.ndarray) -> np.ndarray:
        """A(λ) = Σ λ_i A_i, (d, d)."""
        return self.engine.total(said, [(part, "adjoint", own) for part, own in zip(self.parts, self._split(lam))])

    def normal(self, S: np.ndarray) -> np.ndarray:
        """Σ ⟨A_i, S⟩ A_i, (d, d): one round."""
        return self.engine.total(said, [(part, "normal", S) for part in self.parts])

    def moment(self) -> np.ndarray:
        """Second moment of all vectors, (d, d)."""
        return self.engine.total(said, [(part, "moment") for part in self.parts])

    def mapped(self, V: np.ndarray) -> "SpreadRows":
        """The rows of Vᵀ A_i V."""
        parts = self.engine.kept(said, [(part, "mapped", V) for part in self.parts])
        return SpreadRows(self.engine, tuple(parts), self.ends, self.rank)

    def take(self, keep: np.ndarray) -> "SpreadRows":
        """The rows of some of the constraints, chosen by a mask (m,)."""
        masks = self._split(keep)
        parts = self.engine.kept(said, [(part, "take", own) for part, own in zip(self.parts, masks)])
        return SpreadRows(self.engine, tuple(parts), np.cumsum([int(own.sum()) for own in masks]), self.rank)

    def scaled(self, factor: np.ndarray) -> "SpreadRows":
        """The rows of factor_i A_i."""
        parts = self.engine.kept(said, [(part, "scaled", own) for part, own in zip(self.parts, self._split(factor))])
        return SpreadRows(self.engine, tuple(parts), self.ends, self.rank)

    def squares(self) -> tuple[np.ndarray, np.ndarray]:
        """Each A_i as a sum of two signed squares, in memory."""
        vectors, signs = zip(*self.engine.each(said, [(part, "squares") for part in self.parts]))
        return np.concatenate(vectors), np.concatenate(signs)


def said(part: ConstraintRows, word: str, *args: Any) -> Any:
    """What one part of the constraints answers."""
    return getattr(part, word)(*args)


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
    return SpreadRows(Z.engine, tuple(parts), ends, rank)


def part_of(pieces: list[np.ndarray], view: View, sides: list[Any], weight: np.ndarray) -> ConstraintRows:
    """Some of the constraints, on the rows that were sent."""
    V = view.of(np.concatenate(pieces))
    left, *right = (side @ V for side in sides)
    return ConstraintRows(left, weight, *right)
