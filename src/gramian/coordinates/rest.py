"""What coordinates leave out of a training set."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from gramian import linalg
from gramian.coordinates.base import Coordinates

INSIDE = 1e-9
"""Points whose energy outside of the coordinates is below this share of the largest lie inside."""


@dataclass(frozen=True, eq=False)
class Rest:
    """The part of the training points X outside of Z = z(X), for learners that work on Z alone."""

    coordinates: Coordinates
    X: Any
    Z: Any
    under: "Rest | None" = None
    """Where X are coordinates themselves: what those leave out."""

    @cached_property
    def empty(self) -> bool:
        """Whether the coordinates hold all of the points."""
        if self.under is not None and not self.under.empty:
            return False
        if self.coordinates.whole:
            return True
        energy = self.coordinates.energy(self.X)
        outside = energy - linalg.row_norms(self.Z + self.coordinates.mean)
        return bool(outside.max(initial=0.0) <= INSIDE * energy.max(initial=0.0))

    def sqdist(self, rows: np.ndarray) -> np.ndarray:
        """Squared distances in the *whole* space among some of the points."""
        if self.under is not None and not self.under.empty:
            return self.under.sqdist(rows)
        return self.coordinates.sqdist(linalg.take(self.X, rows), None)

    def energy(self, terms: Any) -> np.ndarray:
        """⟨C_i, R⟩ of each constraint, R the Gram matrix of the rest (Jain 2009, (3.8))."""
        Z = self.Z + self.coordinates.mean
        inside = linalg.row_inner(linalg.product(terms.left, Z), linalg.product(terms.right, Z))
        outside = self.coordinates.bilinear(self.X, terms.left, terms.right) - inside
        energy = (terms.weight * outside.reshape(terms.weight.shape)).sum(axis=1)
        return energy if self.under is None or self.under.empty else energy + self.under.energy(terms)

    def lower(self, A: np.ndarray) -> np.ndarray:
        """A symmetric matrix on the features, as one on the coordinates."""
        return self.coordinates.lower(A if self.under is None else self.under.lower(A))
