"""Simulated people in front of a space, and the rivals that move the query only."""

import contextlib
import os
import secrets
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest import mock

import numpy as np

from gramian.service import Space

SHOWN = 20
"""Results that are judged."""
VISIT = (5, 5, 10)
"""Clicks of one visit: on the 5 best, on the next 5 best, on 10 more, each time ranked anew."""

Method = Callable[[int, list[int], list[int]], np.ndarray]
"""From a query, likes and dislikes to a score of every item."""


@contextlib.contextmanager
def opened(X: np.ndarray, name: str = "a") -> Iterator[Space]:
    """A space with these items, in memory where the system has a place for that."""
    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=place) as folder, Space(Path(folder) / "s", learning=False) as space:
        space.create(name, X.shape[1])
        space.add(name, X, list(range(len(X))))
        yield space


def drawn(rng: np.random.Generator) -> contextlib.AbstractContextManager[object]:
    """Coins of duels that fall the same way in every run."""
    return mock.patch.object(secrets, "randbits", lambda bits: int.from_bytes(rng.bytes(bits // 8)))


def visit(
    rank: Callable[[int, list[int], list[int]], list[int]], y: np.ndarray, query: int, wrong: float
) -> list[float]:
    """Share of right ones among the 20 best that were not clicked, before any click and after 5, 10 and 20."""
    rng = np.random.default_rng(query)
    likes: list[int] = []
    dislikes: list[int] = []
    scores = []
    for clicks in (*VISIT, 0):
        best = rank(query, likes, dislikes)[:SHOWN]
        scores.append(float(np.mean(y[best] == y[query])))
        for item in best[:clicks]:
            liked = (y[item] == y[query]) != (rng.random() < wrong)
            (likes if liked else dislikes).append(int(item))
    return scores


def by_space(space: Space, version: int = 0) -> Callable[[int, list[int], list[int]], list[int]]:
    """Ranking by the query model of a space."""

    def rank(query: int, likes: list[int], dislikes: list[int]) -> list[int]:
        clicks = {"likes": likes, "dislikes": dislikes, "unseen": True}
        return space.query("a", id=query, k=SHOWN, version=version, **clicks)["ids"]

    return rank


def by_score(method: Method) -> Callable[[int, list[int], list[int]], list[int]]:
    """Ranking by scores of a rival."""

    def rank(query: int, likes: list[int], dislikes: list[int]) -> list[int]:
        scores = method(query, likes, dislikes).copy()
        scores[[query, *likes, *dislikes]] = -np.inf
        return np.argsort(-scores, kind="stable")[:SHOWN].tolist()

    return rank


class Points:
    """Items centered and scaled to mean squared norm one, for the rivals."""

    def __init__(self, X: np.ndarray) -> None:
        Z = X - X.mean(axis=0)
        self.Z = Z / np.sqrt((Z**2).sum(axis=1).mean())
        self.norms = (self.Z**2).sum(axis=1)

    def near(self, point: np.ndarray) -> np.ndarray:
        """Minus the squared distances to a point, up to a constant."""
        return 2 * self.Z @ point - self.norms


def nothing(points: Points) -> Method:
    """No learning."""
    return lambda query, likes, dislikes: points.near(points.Z[query])


def rocchio(points: Points, own: float, plus: float, minus: float) -> Method:
    """Rocchio: own·q + plus·mean of likes − minus·mean of dislikes."""

    def score(query: int, likes: list[int], dislikes: list[int]) -> np.ndarray:
        point = own * points.Z[query]
        point = point + plus * points.Z[likes].mean(axis=0) if likes else point
        point = point - minus * points.Z[dislikes].mean(axis=0) if dislikes else point
        return points.near(point)

    return score


def two_means(points: Points) -> Method:
    """2·mean of likes (the query among them) − mean of dislikes: the average strategy of Qdrant, FiftyOne."""

    def score(query: int, likes: list[int], dislikes: list[int]) -> np.ndarray:
        near = points.Z[[query, *likes]].mean(axis=0)
        return points.near(2 * near - points.Z[dislikes].mean(axis=0) if dislikes else near)

    return score


def logistic(points: Points, C: float, n_random: int) -> Method:
    """Logistic regression on the clicks, with random items as far ones or without."""
    from sklearn.linear_model import LogisticRegression

    def score(query: int, likes: list[int], dislikes: list[int]) -> np.ndarray:
        far = [*dislikes, *np.random.default_rng(query).choice(len(points.Z), n_random, replace=False).tolist()]
        if not far or not (likes or dislikes):
            return points.near(points.Z[query])
        rows = [query, *likes, *far]
        labels = [1] * (1 + len(likes)) + [0] * len(far)
        return points.Z @ LogisticRegression(C=C, max_iter=1000).fit(points.Z[rows], labels).coef_[0]

    return score
