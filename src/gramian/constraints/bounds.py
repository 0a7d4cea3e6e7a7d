"""Bounds of constraints: given, left open for the data to say, or a guess that rarely can hold for all."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Self

import numpy as np

from gramian import _checks


class Bounds:
    """What is known of the right-hand sides ``bound`` of constraints."""

    bound: Any
    soft: bool = False
    """Whether the bounds are a guess that rarely can hold for all; learners then allow violations."""

    @property
    def from_data(self) -> bool:
        """Whether bounds were left open, to be taken from the data (:meth:`with_bounds`)."""
        return False

    def with_bounds(
        self,
        X: Any,
        percentiles: tuple[float, float] = (5, 95),
        *,
        max_points: int = 1000,
        sqdist: Callable[[np.ndarray], np.ndarray] | None = None,
    ) -> Self:
        """Fill in bounds that were left open, from at most ``max_points`` points of X.

        ``sqdist(rows)`` may give the squared distances among some rows of X in place of the Euclidean ones.
        """
        return self.filled(_checks.points(X, type(self).__name__), percentiles, max_points=max_points, sqdist=sqdist)

    def filled(self, X: Any, percentiles: Any = (5, 95), *, max_points: int = 1000, sqdist: Any = None) -> Self:
        """:meth:`with_bounds` of points that were checked."""
        return self

    def softened(self) -> Self:
        """The same constraints, marked as a guess that rarely can hold everywhere where they can be."""
        guess = "soft" in self.__dataclass_fields__  # type: ignore[attr-defined]  # subclasses are dataclasses
        return replace(self, soft=True) if guess else self  # type: ignore[type-var]  # as above

    def sizes(self) -> np.ndarray:
        """Mean |b_i|, once for each constraint: the unit in which violations are measured by default."""
        return np.full(len(self.bound), np.abs(self.bound).mean())
