"""Draws: which points have labels, which are searched, and the precision of the search."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from benchmarks.effect.tasks import Task
from gramian import linalg

NEIGHBORS = 10
MOST_SEARCHED = 1000
"""Unseen points in a search; each asks for its ten nearest among the others."""

FEWEST_CLASSES = 6
"""From so many classes on a third of them is also tried without labels."""


@dataclass(frozen=True, eq=False)
class Draw:
    """Indices of the labeled points and of the unseen ones that are searched."""

    train: np.ndarray
    search: np.ndarray


def draws(task: Task, labels: int, seed: int) -> dict[str, Draw]:
    """``seen``: labels in every class. ``new``: a third of the classes has none, and only its points are searched."""
    rng = np.random.default_rng((seed, labels))
    points = task.among(labels)
    classes = np.unique(task.y[points])
    found = {"seen": _draw(task.y, points, classes, labels, rng)}
    if len(classes) >= FEWEST_CLASSES:
        order = rng.permutation(classes)
        new, known = np.split(order, [len(classes) // 3])
        labeled = _draw(task.y, points, known, labels, rng).train
        searched = rng.permutation(points[np.isin(task.y[points], new)])[:MOST_SEARCHED]
        found["new"] = Draw(labeled, searched)
    return found


def _draw(y: np.ndarray, points: np.ndarray, classes: np.ndarray, labels: int, rng: np.random.Generator) -> Draw:
    """So many labels in each class; the others of these classes are unseen."""
    train, rest = [], []
    for c in classes:
        members = rng.permutation(points[y[points] == c])
        train.append(members[:labels])
        rest.append(members[labels:])
    return Draw(np.concatenate(train), rng.permutation(np.concatenate(rest))[:MOST_SEARCHED])


def precision(embed: Callable[[np.ndarray], np.ndarray], X: np.ndarray, y: np.ndarray, k: int = NEIGHBORS) -> float:
    """Mean share of a point's class among its k nearest others, in the Euclidean distance of ``embed(X)``."""
    Z = np.ascontiguousarray(embed(X), dtype=float)
    hits = 0
    for rows in linalg.blocks(len(Z), 8 * len(Z)):
        D = linalg.sqdist(Z[rows], Z)
        own = np.arange(len(Z))[rows]
        D[np.arange(len(own)), own] = np.inf
        near = np.argpartition(D, k - 1, axis=1)[:, :k]
        hits += int((y[near] == y[own][:, None]).sum())
    return hits / (len(Z) * k)
