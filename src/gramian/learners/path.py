"""The straight path from a learned metric to its prior, and what is found on it."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gramian import linalg, neighbors
from gramian._device import to_host


@dataclass(frozen=True, eq=False)
class Straight:
    """d²_w = (1 − w) d²_L + w d²_0, from what is learned to the plain distance.

    With a ``center`` points are compared by their angle, seen from there: 2 − 2 cos under the same metric.
    """

    center: np.ndarray | None = field(default=None, kw_only=True)

    def squares(self, V: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """|v|² of rows under the learned metric and under the prior."""
        raise NotImplementedError

    def between(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """d² of all points, (n, n), under the learned metric and under the prior."""
        raise NotImplementedError

    def paired(self, points: np.ndarray, left: np.ndarray, right: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """d²_w of pairs, (weights, pairs)."""
        between = mixed(self.squares(linalg.gathered(points[left] - points[right])), weights[:, None])
        if self.center is None:
            return between
        sizes = mixed(self.squares(points - self.center), weights[:, None])
        return angular(between, sizes[:, left], sizes[:, right])

    def among(self, X: np.ndarray, weights: np.ndarray) -> Iterator[np.ndarray]:
        """d²_w of all points, (n, n), for one weight after the other, each written over the one before."""
        learned, plain = self.between(X)
        sizes = None if self.center is None else self.squares(X - self.center)
        D = np.empty_like(learned)
        plain = plain - learned
        for weight in weights:
            np.multiply(plain, weight, out=D)
            D += learned
            if sizes is not None:
                size = mixed(sizes, weight)
                angular(D, size[:, None], size)
            yield D


@dataclass(frozen=True, eq=False)
class Path(Straight):
    """The root ``learned`` on the directions U, the plain distance outside of them."""

    U: np.ndarray
    learned: np.ndarray

    def squares(self, V: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """|v|² of rows under the learned metric and under the prior."""
        Z = V @ self.U
        plain = linalg.row_norms(V)
        return to_host(plain - linalg.row_norms(Z) + linalg.row_norms(Z @ self.learned)), to_host(plain)

    def between(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """d² of all points, (n, n), under the learned metric and under the prior."""
        Z = X @ self.U
        plain = linalg.sqdist(X)
        return to_host(plain - linalg.sqdist(Z) + linalg.sqdist(Z @ self.learned)), to_host(plain)


@dataclass(frozen=True, eq=False)
class MeanPath(Straight):
    """The mean of what several learners found, in the unit of the prior they share."""

    parts: tuple[Straight, ...]

    def squares(self, V: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """|v|² of rows under the mean and under the prior."""
        return mean_of([part.squares(V) for part in self.parts])

    def between(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """d² of all points, (n, n), under the mean and under the prior."""
        return mean_of([part.between(X) for part in self.parts])


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
    _, place, counts = np.unique(codes, return_inverse=True, return_counts=True)
    others = counts[place] - 1
    k = np.minimum(np.maximum(others // part, others > 0), most)
    asked = np.flatnonzero(k > 0)
    scores = np.full((len(codes), len(weights)), np.nan)
    for column, D in enumerate(path.among(X, weights)):
        scores[asked, column] = precision(D, codes, asked, k[asked])
    return scores


def precision(D: np.ndarray, codes: np.ndarray, asked: np.ndarray, k: np.ndarray) -> np.ndarray:
    """Share of the k_i nearest columns of row i, without its own, that are of its class; ties by place."""
    D = D if len(asked) == len(D) else D[asked]
    near, _ = neighbors.smallest(D, int(k.max(initial=0)), skip=asked)
    hits = (codes[near] == codes[asked][:, None]) & (near >= 0)
    return np.sum(hits & (np.arange(near.shape[1]) < k[:, None]), axis=1) / k
