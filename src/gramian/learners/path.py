"""The straight path from a learned metric to its prior, and what is found on it."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gramian import linalg
from gramian._arrays import to_numpy


@dataclass(frozen=True, eq=False)
class Straight:
    """d²_w = (1 − w) d²_L + w d²_0, from what is learned to the plain distance.

    With a ``center`` points are compared by their angle, seen from there: 2 − 2 cos under the same metric.
    """

    center: np.ndarray | None = field(default=None, kw_only=True)

    def squares(self, V: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """|v|² of rows under the learned metric and under the prior."""
        raise NotImplementedError

    def between(self, X: np.ndarray, Y: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """d² of points X and Y, X and X when None, (n, m), under the learned metric and under the prior."""
        raise NotImplementedError

    def paired(self, points: np.ndarray, left: np.ndarray, right: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """d²_w of pairs, (weights, pairs)."""
        apart = to_numpy(linalg.take(points, left) - linalg.take(points, right))  # (pairs, d), on the host
        between = mixed(self.squares(apart), weights[:, None])
        if self.center is None:
            return between
        sizes = self.sizes(to_numpy(points), weights)
        return angular(between, sizes[:, left], sizes[:, right])

    def among(self, X: np.ndarray, weight: float) -> np.ndarray:
        """d²_w of all points, (n, n)."""
        D = mixed(self.between(X), weight)
        if self.center is None:
            return D
        (size,) = self.sizes(X, np.array([weight]))
        return angular(D, size[:, None], size)

    def sizes(self, X: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """|x − center|² under each weight, (weights, points); no rows where points are not compared by their angle."""
        if self.center is None:
            return np.empty((0, X.shape[0]))
        return mixed(self.squares(X - self.center), weights[:, None])


@dataclass(frozen=True, eq=False)
class Path(Straight):
    """The root ``learned`` on the directions U, the plain distance outside of them."""

    U: np.ndarray
    learned: np.ndarray

    def squares(self, V: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """|v|² of rows under the learned metric and under the prior."""
        Z = V @ self.U
        plain = linalg.row_norms(V)
        return plain - linalg.row_norms(Z) + linalg.row_norms(Z @ self.learned), plain

    def between(self, X: np.ndarray, Y: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """d² of points X and Y, X and X when None, (n, m), under the learned metric and under the prior."""
        inside = [None if points is None else points @ self.U for points in (X, Y)]
        plain = linalg.sqdist(X, Y)
        learned = linalg.sqdist(*(None if Z is None else Z @ self.learned for Z in inside))
        if self.U.shape[1] < len(self.U):  # otherwise nothing lies outside
            learned += plain - linalg.sqdist(*inside)
        return learned, plain


@dataclass(frozen=True, eq=False)
class MeanPath(Straight):
    """The mean of what several learners found, in the unit of the prior they share."""

    parts: tuple[Straight, ...]

    def squares(self, V: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """|v|² of rows under the mean and under the prior."""
        return mean_of([path.squares(V) for path in self.parts])

    def between(self, X: np.ndarray, Y: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """d² of points X and Y, X and X when None, (n, m), under the mean and under the prior."""
        return mean_of([path.between(X, Y) for path in self.parts])


@dataclass(frozen=True, eq=False)
class WithRest(Straight):
    """A path in coordinates, and what these leave out of the points: nothing is learned there, and it counts once."""

    inside: Straight
    rest: Any

    def paired(self, points: np.ndarray, left: np.ndarray, right: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """d²_w of pairs in the whole space, (weights, pairs)."""
        return self.inside.paired(points, left, right, weights) + to_numpy(self.rest.pair_sqdist(left, right))

    def between(self, X: np.ndarray, Y: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """d² of points inside of the coordinates alone."""
        return self.inside.between(X, Y)


def mean_of(found: list[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """The mean of what was learned, and the prior of all."""
    return np.mean([learned for learned, _ in found], axis=0), found[0][1]


def mixed(both: tuple[np.ndarray, np.ndarray], weight: Any) -> np.ndarray:
    """(1 − w) d²_L + w d²_0."""
    learned, plain = both
    return (1 - weight) * learned + weight * plain


def angular(between: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """2 − 2 cos from |x − y|², |x|² and |y|², written over the first; a point of length zero stays at zero."""
    for size in (left, right):
        between -= size
    for size in (left, right):
        between *= np.divide(1.0, np.sqrt(np.maximum(size, 0)), out=np.zeros_like(size), where=size > 0)
    for size in (left, right):
        between += size > 0
    return between


def precision_path(
    X: np.ndarray, codes: np.ndarray, path: Straight, weights: np.ndarray, most: int, part: int = 1
) -> np.ndarray:
    """Precision among the nearest others for each weight, (points, weights); NaN for a class of one point.

    As many are looked at as there are others of the class, or one for each ``part`` of them, and ``most`` at most.
    """
    from gramian._jit.path import precisions

    _, place, counts = np.unique(codes, return_inverse=True, return_counts=True)
    mates = counts[place] - 1
    k = np.minimum(np.maximum(mates // part, mates > 0), most)
    rows = np.flatnonzero(k > 0)
    scores = np.full((len(codes), len(weights)), np.nan)
    learned, step = path.between(X)
    step = step - learned
    scores[rows] = precisions(learned, step, path.sizes(X, weights), place, rows, k[rows], weights)
    return scores
