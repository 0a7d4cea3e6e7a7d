"""What several learners find, averaged."""

from dataclasses import replace
from typing import Any

from gramian import linalg
from gramian.constraints import Constraints, Labels
from gramian.coordinates import Coordinates
from gramian.solvers.base import Solution


class Blend:
    """A candidate of AutoMetric: the mean of the metrics of its parts, each in the unit of the points.

    Learners err in different ways, and with few labels nobody can tell which one does not: their mean errs less.
    """

    _enough: dict[str, Any] = {}
    _anywhere = True
    _by_angle = False

    def __init__(self, *parts: Any):
        self.parts = parts

    @property
    def _accepts(self) -> tuple[type, ...]:
        """What every part takes."""
        return tuple(kind for kind in self.parts[0]._accepts if all(kind in part._accepts for part in self.parts))

    @property
    def _most_points(self) -> int | None:
        return min((part._most_points for part in self.parts if part._most_points), default=None)

    def _near_prior(
        self, points: Any, y: Labels | Constraints, weight: float, rng: Any
    ) -> tuple[Coordinates, Solution]:
        """The mean of what the parts learn on all points, each with a given weight of the identity."""
        found = [part._near_prior(points, y, weight, rng) for part in self.parts]
        coordinates, first = found[0]
        M = sum(one.factor.T @ one.factor for _, one in found) / len(found)
        return coordinates, replace(first, factor=linalg.psd_sqrt(M))
