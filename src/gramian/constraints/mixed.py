"""Constraints of several kinds in one problem."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gramian.constraints.base import Constraints, Terms


@dataclass(frozen=True, eq=False)
class Mixed(Constraints):
    """Constraints that must hold together, kind by kind; written ``pairs + triplets`` (Jain 2009, §3.1).

    Parameters
    ----------
    parts : tuple of Constraints
        Parts that are mixed themselves are taken apart.

    Examples
    --------
    >>> import gramian as gm
    >>> both = gm.Pairs([0], [1], [True], bounds=(1.0, 4.0)) + gm.Triplets([0], [1], [2], margin=2.0)
    >>> len(both), both.bound.tolist()
    (2, [1.0, -2.0])
    """

    parts: tuple[Constraints, ...]

    def __post_init__(self) -> None:
        flat: list[Constraints] = []
        for side in self.parts:
            if not isinstance(side, Constraints):
                raise TypeError(f"Mixed: parts must be Constraints, got {type(side).__name__}.")
            flat += side.parts if isinstance(side, Mixed) else [side]
        object.__setattr__(self, "parts", tuple(flat))

    @property
    def n_points(self) -> int:
        """One more than the largest index of any part."""
        return max(side.n_points for side in self.parts)

    @property
    def bound(self) -> np.ndarray:
        """Right-hand sides of one part after the other."""
        return np.concatenate([side.bound for side in self.parts])

    @property
    def from_data(self) -> bool:
        """Whether some part takes its bounds from the data."""
        return any(side.from_data for side in self.parts)

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    def terms(self, n: int) -> Terms:
        """Not there: parts differ in their number of terms."""
        raise TypeError("Mixed: its parts have terms of different numbers; use blocks(n).")

    def blocks(self, n: int) -> tuple[Terms, ...]:
        """The terms of each part."""
        return tuple(terms for side in self.parts for terms in side.blocks(n))

    def values(self, metric: Any, X: Any) -> np.ndarray:
        """⟨C_i, K_W⟩ under a metric, shape (m,)."""
        return np.concatenate([side.values(metric, X) for side in self.parts])

    def check(self, X: Any, owner: str, fill: bool = True) -> "Mixed":
        """Every part as it applies to X."""
        return Mixed(tuple(side.check(X, owner, fill) for side in self.parts))

    @property
    def soft(self) -> bool:  # type: ignore[override]  # a field elsewhere
        """Whether some part is."""
        return any(side.soft for side in self.parts)

    def filled(
        self,
        X: Any,
        percentiles: Any = (5, 95),
        max_points: int = 1000,
        sqdist: Callable[[np.ndarray], Any] | None = None,
    ) -> "Mixed":
        """Every part with its bounds filled in."""
        return Mixed(tuple(side.filled(X, percentiles, max_points=max_points, sqdist=sqdist) for side in self.parts))

    def softened(self) -> "Mixed":
        """Every part as it can be."""
        return Mixed(tuple(side.softened() for side in self.parts))

    def sizes(self) -> np.ndarray:
        """Mean |b_i| of its own part for each constraint."""
        return np.concatenate([side.sizes() for side in self.parts])

    def __getitem__(self, rows: Any) -> "Mixed":
        """The constraints of the given rows; those of one part stay together."""
        selected = np.arange(len(self))[rows]
        ends = np.cumsum([len(side) for side in self.parts])
        sides = []
        for side, end in zip(self.parts, ends):
            local = selected - (end - len(side))  # rows within this side
            local = local[(local >= 0) & (local < len(side))]
            sides += [side[local]] if len(local) else []
        return Mixed(tuple(sides))
