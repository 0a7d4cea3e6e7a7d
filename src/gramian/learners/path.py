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

    def among(self, X: np.ndarray, weight: float, Y: np.ndarray | None = None) -> np.ndarray:
        """d²_w of points X and Y, X and X when None, (n, m)."""
        D = mixed(self.between(X, Y), weight)
        if self.center is None:
            return D
        left, right = (self.sizes(points, np.array([weight]))[0] for points in (X, X if Y is None else Y))
        return angular(D, left[:, None], right)

    def sizes(self, X: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """|x − center|² under each weight, (weights, points); no rows where points are not compared by their angle."""
        if self.center is None:
            return np.empty((0, X.shape[0]))
        return mixed(self.squares(X - self.center), weights[:, None])


class SharedPoints:
    """Points that several paths look at: their plain distances, and their places on shared directions, found once."""

    def __init__(self, X: np.ndarray) -> None:
        self.X = X
        self.plain: Any = None
        self.U: Any = None
        self.Z: Any = None

    def distances(self) -> np.ndarray:
        """Plain d² of all, (n, n)."""
        self.plain = linalg.sqdist(self.X) if self.plain is None else self.plain
        return self.plain

    def on(self, U: np.ndarray) -> np.ndarray:
        """Coordinates (n, p) on directions; fewer of the same ones are the first of these."""
        if self.U is None or U.shape[1] > self.U.shape[1] or not np.may_share_memory(U, self.U):
            self.U, self.Z = U, self.X @ U
        return self.Z[:, : U.shape[1]]


@dataclass(frozen=True, eq=False)
class Path(Straight):
    """The root ``learned`` on the directions U, the plain distance outside of them."""

    U: np.ndarray
    learned: np.ndarray
    shared: SharedPoints | None = field(default=None, kw_only=True)
    """Points that other paths look at as well."""

    def squares(self, V: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """|v|² of rows under the learned metric and under the prior."""
        return self.lengths(V, V @ self.U)

    def lengths(self, V: np.ndarray, Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The same of rows whose coordinates on the directions are Z."""
        plain = linalg.row_norms(V)
        return plain - linalg.row_norms(Z) + linalg.row_norms(Z @ self.learned), plain

    def sizes(self, X: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """|x − center|² under each weight, (weights, points); no rows where points are not compared by their angle."""
        if self.center is None:
            return super().sizes(X, weights)
        Z = self.on(X) - self.center @ self.U
        return mixed(self.lengths(X - self.center, Z), weights[:, None])

    def between(self, X: np.ndarray, Y: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """d² of points X and Y, X and X when None, (n, m), under the learned metric and under the prior."""
        inside = [None if points is None else self.on(points) for points in (X, Y)]
        plain = self.shared.distances() if Y is None and self.knows(X) and self.shared else linalg.sqdist(X, Y)
        learned = linalg.sqdist(*(None if Z is None else Z @ self.learned for Z in inside))
        if self.U.shape[1] < len(self.U):  # otherwise nothing lies outside
            learned += plain - linalg.sqdist(*inside)
        return learned, plain

    def on(self, X: np.ndarray) -> np.ndarray:
        """Coordinates (n, p) on the directions."""
        return self.shared.on(self.U) if self.knows(X) and self.shared else X @ self.U

    def knows(self, X: np.ndarray) -> bool:
        """Whether these are the shared points."""
        return self.shared is not None and np.array_equal(X, self.shared.X)


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
