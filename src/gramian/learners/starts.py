"""Where learning may begin: the points as they are, scaled, of length one, or seen by their angle."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gramian import linalg
from gramian._arrays import namespace, to_numpy
from gramian.coordinates import Angles, Coordinates, Plain, UnitRows

UNIT = 1e-3
"""Rows whose squared length is nearer to 1 than this are of length one."""
FEWEST = 64
"""Columns from which on points are tried by their angle."""
HALF = 0.5
"""Share of the variance from which on one column decides all distances."""
ASIDE = 0.6
"""Rows whose mean is longer than this share of their own length lie to one side of the origin."""


@dataclass(frozen=True)
class Start:
    """Points before learning: the coordinates they are compared in, and the weights of their columns."""

    d: int
    name = ""
    suffix = ""

    @property
    def learned_as(self) -> str:
        """The start that shows learners the same points."""
        return self.name

    @property
    def coordinates(self) -> Coordinates:
        """Where the points are compared."""
        return Plain(self.d)

    def weights(self, X: np.ndarray) -> np.ndarray:
        """Weights of the columns, from the points that are learned from."""
        return np.ones(self.d)

    def center(self, X: np.ndarray) -> np.ndarray | None:
        """Where angles are seen from, from the points that are learned from; None for distances."""
        return None

    def end(self, X: np.ndarray, factor: np.ndarray) -> tuple[Coordinates, np.ndarray]:
        """Coordinates and components of the metric, from the factor that was learned on the points X."""
        return self.coordinates, factor


class AsTheyAre(Start):
    """Nothing is changed."""

    name = "features as they are"


class Scaled(Start):
    """Columns of unit variance; one that does not vary gets the least of all weights."""

    name = "scaled features"
    suffix = ", scaled"

    def weights(self, X: np.ndarray) -> np.ndarray:
        """Inverse standard deviations, in the unit of the points."""
        scale = np.sqrt(variances(X))
        largest = scale.max(initial=0.0)
        if largest == 0:
            return np.ones(self.d)
        return np.sqrt(np.mean(scale**2)) / np.where(scale > 1e-9 * largest, scale, largest)


class LengthOne(Start):
    """Rows divided by their length."""

    name = "rows of length one"
    suffix = ", length one"

    @property
    def coordinates(self) -> Coordinates:
        """Where the points are compared."""
        return UnitRows(self.d)


class ByAngle(Start):
    """Points are compared by their angle, seen from their mean, under the metric that is learned.

    In few columns the length of a point says too much to be left out (``FEWEST``); in many it hardly varies.
    """

    name = "angles around the mean"
    suffix = ", by angle"
    learned_as = AsTheyAre.name

    def center(self, X: np.ndarray) -> np.ndarray:
        """The mean."""
        return to_numpy(linalg.mean(X))

    def end(self, X: np.ndarray, factor: np.ndarray) -> tuple[Coordinates, np.ndarray]:
        """The factor is a part of the coordinates, which are of length one after it."""
        return Angles(self.center(X), factor), np.eye(len(factor))


def variances(X: Any) -> np.ndarray:
    """Variance of each column, on the host."""
    return to_numpy(namespace(X).var(X, axis=0))


def dominated(X: np.ndarray) -> bool:
    """Whether one column has more than half of the variance of all."""
    variance = variances(X)
    return bool(variance.max(initial=0.0) > HALF * variance.sum())


def around_origin(X: np.ndarray) -> bool:
    """Whether lengths of rows differ, and their mean is short beside them: as of embeddings, not of measurements."""
    squares = to_numpy(linalg.row_norms(X))
    differ = np.abs(squares - 1).max() >= UNIT
    return bool(differ and np.sum(to_numpy(linalg.mean(X)) ** 2) <= ASIDE**2 * squares.mean())
