"""A learner in the space of a kernel that stays near the features as they are.

The plain distance of a kernel is not that of the features: points far from the basis lose what told them apart. So the
anchor of a kernelized learner is the distance of the points themselves::

    d²_w(x, y) = (1 − w) s d²_L(z(x), z(y)) + w |x − y|²

with the unit s in which training points are as far apart, on average, in both. d²_L is the metric that was learned,
half of it the kernel's own distance. The weight w is chosen as by every anchored learner (:mod:`.anchor`): each fold
has coordinates of its own, since points that were held out must lie outside of the basis, as new points will.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from gramian import linalg
from gramian._device import to_host
from gramian.constraints import Constraints, Labels
from gramian.coordinates import Rest
from gramian.learners.anchor import WEIGHTS, anchored, chosen, fold_path
from gramian.learners.holdout import Fold
from gramian.learners.path import Path, Straight, mixed
from gramian.solvers.base import Solution

SURE = 2.0
"""Standard errors that a gain must exceed here: what is learned lies in another space than the features."""
HALF = 0.5
"""Weight of the kernel's own distance in the learned one."""


def beside_features(
    learner: Any, space: Callable[[Any], Any], Z: np.ndarray, y: Labels | Constraints, rest: Rest, rng: Any
) -> tuple[Any, Solution]:
    """The learner, its "auto" settings chosen, and what it finds on the kernel coordinates Z, near the features.

    ``space`` makes the kernel coordinates of some points, and gives both.
    """
    weight = learner.anchor
    variants = learner._variants()
    if isinstance(weight, str) or len(variants) > 1:
        learner, weight = chosen(variants, rest.X, y, True, rng, weight, KernelPaths(space), SURE)
        weight = max(weight, WEIGHTS[1])  # without the features, points far from the basis would be all the same
    solution = anchored(learner, Z, y, rest, rng, HALF)
    inside = (1 - weight) * unit(rest.X, Z)
    found = {**solution.found, "anchor": float(weight)}
    factor = np.sqrt(inside) * solution.factor
    return learner, replace(solution, factor=factor, alpha=float(weight), found=found)


def spread(X: Any) -> float:
    """Mean squared distance of points to their mean."""
    if sparse.issparse(X):
        return float(linalg.row_norms(X).mean() - np.sum(np.asarray(X.mean(axis=0)) ** 2))
    return float(linalg.row_norms(X - X.mean(axis=0)).mean())


def unit(X: Any, Z: Any) -> float:
    """By how much points are farther apart than their kernel coordinates, 1 where these are all one point."""
    apart = spread(Z)
    return spread(X) / apart if apart > 0 else 1.0


@dataclass(frozen=True)
class KernelPaths:
    """What a learner finds on the rows of a fold, in kernel coordinates of these rows alone."""

    space: Callable[[Any], Any]

    def __call__(self, learner: Any, points: Any, fold: Fold, unit_free: bool, rng: Any) -> "KernelPath":
        seen = linalg.take(points, fold.rows)
        coordinates, Z = self.space(seen)
        alone = Fold(np.arange(len(Z)), fold.side, {})
        return KernelPath(coordinates.z, fold_path(learner, Z, alone, unit_free, rng), unit(seen, Z))


@dataclass(frozen=True, eq=False)
class KernelPath(Straight):
    """d²_w from the metric ``inside`` on coordinates z, times ``unit``, to the plain distance of the points."""

    z: Callable[[Any], np.ndarray]
    inside: Path
    unit: float

    def paired(self, points: Any, left: np.ndarray, right: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """d²_w of pairs, (weights, pairs)."""
        learned = self.unit * self.inside.paired(self.z(points), left, right, np.array([HALF]))[0]
        plain = to_host(linalg.pair_sqdist(linalg.take(points, left), linalg.take(points, right)))
        return mixed((learned, plain), weights[:, None])

    def between(self, X: Any, Y: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """d² of points X and Y, X and X when None, (n, m), under the learned metric and under the plain one."""
        learned = mixed(self.inside.between(self.z(X), None if Y is None else self.z(Y)), HALF)
        return self.unit * learned, to_host(linalg.sqdist(X, Y))
