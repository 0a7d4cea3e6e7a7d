"""What a learner did not see: folds of points, classes, pairs and triplets, and the gain of a metric on them.

The gain over the prior is measured on queries, averaged over clusters (a class of a fold, an anchor, a pair), since
queries of one class stand or fall together. Points of classes that the learner saw count apart from classes that it
never saw: a metric that helps the first and hurts the second has learned the labels, not the data.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from gramian import linalg, neighbors
from gramian._arrays import to_numpy
from gramian.constraints import Chunklets, Comparisons, Constraints, Labels, Pairs
from gramian.learners.path import Straight, mixed, precision_path
from gramian.learners.subsample import in_order
from gramian.learners.task import Targets

FOLDS = 3
MOST = 40
"""Points of a class that are held out at most."""
MOST_HELD = 1500
"""Points of known classes, and of new ones, that a fold holds out at most: all are compared with all."""
NEIGHBORS = 10
"""Neighbors that are looked at: precision at ten, or at as many as the class has."""
MOST_ASKED = 1000
"""Points of a fold whose numbers are predicted at most."""
SHARE = 10
"""Of so many known points one is looked at to predict a number."""
ENOUGH = 10
"""Held-out pairs of each kind, or triplets, without which nothing can be said."""


@dataclass(frozen=True, eq=False)
class Fold:
    """Rows to learn from with their side information, and what was held out, by kind."""

    rows: np.ndarray
    side: Labels | Targets | Constraints
    held: dict[str, Any]


@dataclass(frozen=True, eq=False)
class Numbers:
    """Points to be predicted, and those to predict them from; ``targets`` (n, q) of all, of variance 1."""

    rows: np.ndarray
    sources: np.ndarray
    targets: np.ndarray


def held_out(
    y: Any, rng: np.random.RandomState, n_folds: int = FOLDS, order: np.ndarray | None = None, closed: bool = False
) -> Iterator[Fold]:
    """Folds of what y is about; none where y says too little.

    No class is held out where those that have a label are all there are, ``closed``. Points are drawn in an order of
    their own, by rows when None: where it follows from their content, neither the order of rows nor names of classes
    matter.
    """
    if isinstance(y, Chunklets):
        names = np.unique(y.ids[y.ids >= 0])
        labels = Labels(np.where(y.ids < 0, -1, np.searchsorted(names, y.ids)), names)
        yield from (_as_chunklets(fold) for fold in _class_folds(labels, rng, n_folds, order, closed))
    elif isinstance(y, Labels):
        yield from _class_folds(y, rng, n_folds, order, closed)
    elif isinstance(y, Targets):
        yield from number_folds(y, rng, n_folds, order)
    elif isinstance(y, Pairs | Comparisons):
        yield from _tuple_folds(y, rng, n_folds)


def _as_chunklets(fold: Fold) -> Fold:
    assert isinstance(fold.side, Labels)
    return Fold(fold.rows, Chunklets(fold.side.codes), fold.held)


def _class_folds(
    labels: Labels, rng: np.random.RandomState, n_folds: int, order: np.ndarray | None = None, closed: bool = False
) -> Iterator[Fold]:
    """Each fold holds out a part of the classes, unless they are ``closed``, and a part of the points of the others."""
    groups = [rng.permutation(members) for members in in_order(labels, order)]
    classes_stay = closed or len(groups) < n_folds
    folds = np.full(len(groups), -1) if classes_stay else rng.permutation(len(groups)) % n_folds  # of the classes
    for fold in range(n_folds):
        remaining: list[np.ndarray] = []
        out: dict[str, list[np.ndarray]] = {"seen": [], "new": []}
        for members, fold_of_class in zip(groups, folds):
            if fold_of_class == fold:
                out["new"].append(members[:MOST])
                continue
            points_out = _part(members, fold, n_folds)
            out["seen"].append(points_out[:MOST])
            remaining.append(np.setdiff1d(members, points_out))
        sizes = [len(members) for members in remaining if len(members)]
        if len(sizes) < 2 or max(sizes) < 2:
            continue
        rows = np.sort(np.concatenate(remaining))
        queries = {kind: _queries(_some(members, rng), labels.codes) for kind, members in out.items()}
        yield Fold(rows, labels.of(rows), {kind: pair for kind, pair in queries.items() if pair is not None})


def _some(groups: list[np.ndarray], rng: np.random.RandomState) -> list[np.ndarray]:
    """The points held out of each class, or those of some classes where they would be too many in all."""
    if sum(map(len, groups)) <= MOST_HELD:
        return groups
    order = rng.permutation(len(groups))
    fit = np.cumsum([len(groups[i]) for i in order]) <= MOST_HELD
    return [groups[i] for i in np.sort(order[fit])]


def _part(members: np.ndarray, fold: int, n_folds: int) -> np.ndarray:
    """A part of the points of a class, at least two; one of three, and none of fewer."""
    n = len(members)
    size = 0 if n < 3 else 1 if n == 3 else max(2, n // n_folds)
    return np.take(members, np.arange(fold * size, (fold + 1) * size), mode="wrap")


def _queries(groups: list[np.ndarray], codes: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Rows held out and their classes, when some class has two of them."""
    if not any(len(group) > 1 for group in groups):
        return None
    rows = np.concatenate(groups)
    return rows, codes[rows]


def number_folds(
    y: Targets, rng: np.random.RandomState, n_folds: int = FOLDS, order: np.ndarray | None = None
) -> Iterator[Fold]:
    """Parts of the points, whose targets are numbers."""
    order = np.arange(len(y)) if order is None else order
    place = rng.permutation(len(y)) % n_folds  # (n,), of the points in that order
    for fold in range(n_folds):
        rows, rest = order[place == fold], np.sort(order[place != fold])
        if len(rows) and len(rest) > 1:
            yield Fold(rest, y.of(rest), {"numbers": Numbers(rows[:MOST_ASKED], rest, y.standard)})


def _tuple_folds(side: Any, rng: np.random.RandomState, n_folds: int) -> Iterator[Fold]:
    """Parts of the pairs or triplets; those that share a point with them are not learned from, if enough remain."""
    place = rng.permutation(len(side)) % n_folds
    for fold in range(n_folds):
        out, rest = side[place == fold], np.flatnonzero(place != fold)
        touched = np.zeros(side.n_points, dtype=bool)
        touched[_points_of(out).ravel()] = True
        apart = rest[~touched[_points_of(side[rest])].any(axis=1)]
        remaining = side[apart if 2 * len(apart) >= len(rest) else rest]
        if _says_enough(out) and _says_enough(remaining):
            out = _with_others(out, side.n_points, rng) if isinstance(out, Pairs) else out
            yield Fold(np.arange(side.n_points), remaining, {"tuples": out})


def _with_others(pairs: Pairs, n: int, rng: np.random.RandomState) -> Pairs:
    """Pairs, and as many as there are dissimilar ones of their points with any others.

    What people judge was on a list of near points: a metric that puts that list in order may bring strangers before
    it, and only strangers tell.
    """
    similar = np.flatnonzero(pairs.similar)
    ends = pairs.left[rng.choice(similar, len(pairs) - len(similar))]
    left = np.concatenate([pairs.left, ends])
    right = np.concatenate([pairs.right, rng.randint(n, size=len(ends))])
    return Pairs(left, right, np.concatenate([pairs.similar, np.zeros(len(ends), dtype=bool)]))


def _points_of(side: Any) -> np.ndarray:
    """Indices of the points of each tuple, (m, 2) or (m, 4)."""
    ends = (side.left, side.right) if isinstance(side, Pairs) else (*side.near_ends, *side.far_ends)
    return np.stack(ends, axis=1)


def _says_enough(side: Any) -> bool:
    if isinstance(side, Pairs):
        return min(int(side.similar.sum()), int((~side.similar).sum())) >= ENOUGH
    return len(side) >= ENOUGH


def path_scores(
    fold: Fold, points: np.ndarray, path: Straight, weights: np.ndarray, k: int = NEIGHBORS, part: int = 1
) -> Iterator[tuple[str, np.ndarray]]:
    """Score of each cluster for each weight of the prior, (clusters, weights), by kind.

    Of labeled points k neighbors are looked at, and one for each ``part`` of their class at most.
    """
    if isinstance(fold.side, Labels | Chunklets) and "numbers" not in fold.held:
        yield from _search_scores(fold.held, points, path, weights, k, part)
        return
    for kind, side in fold.held.items():
        if isinstance(side, Pairs):
            scores = _placements(side, path.paired(points, side.left, side.right, weights))
            scores = cluster_means(scores, side.left[side.similar])
        elif isinstance(side, Comparisons):
            D, E = (path.paired(points, *ends, weights) for ends in (side.near_ends, side.far_ends))  # (weights, m)
            scores = cluster_means((D < E).T.astype(float), side.near_ends[0])
        elif isinstance(side, Numbers):
            scores = _predictions(side, points, path, weights, k)
        yield kind, scores


def _search_scores(
    held: dict[str, Any], points: np.ndarray, path: Straight, weights: np.ndarray, k: int, part: int
) -> Iterator[tuple[str, np.ndarray]]:
    """Precision by class and kind; every point looks among all that the fold held out.

    A class that was never seen must be told from those that were: alone, or among few of its kind, it would be found
    under any metric.
    """
    if not held:
        return
    rows, codes = (np.concatenate(parts) for parts in zip(*held.values()))
    kinds = np.repeat(list(held), [len(queries) for queries, _ in held.values()])
    scores = precision_path(to_numpy(linalg.take(points, rows)), codes, path, weights, k, part)
    for kind in held:
        counted = (kinds == kind) & ~np.isnan(scores[:, 0])
        if counted.any():
            yield kind, cluster_means(scores[counted], codes[counted])


def searched(fold: Fold) -> np.ndarray:
    """Rows of labeled points that look for each other, in the order in which they do."""
    return np.concatenate([np.zeros(0, dtype=int), *(rows for rows, _ in fold.held.values())])


def _predictions(held: Numbers, points: Any, path: Straight, weights: np.ndarray, k: int) -> np.ndarray:
    """Minus the squared error of each point, predicted as the mean of its nearest known ones, k at most."""
    k = min(k, max(1, len(held.sources) // SHARE))
    scores, Y = np.empty((len(held.rows), len(weights))), to_numpy(linalg.take(points, held.sources))
    for block in linalg.blocks(len(held.rows), 32 * len(held.sources)):
        rows = held.rows[block]
        sqdists = path.between(to_numpy(linalg.take(points, rows)), Y)
        for column, weight in enumerate(weights):
            nearest, _ = neighbors.smallest(mixed(sqdists, weight), k)
            guess = held.targets[held.sources[nearest]].mean(axis=1)
            scores[block, column] = -((guess - held.targets[rows]) ** 2).sum(axis=1)
    return scores


def _placements(pairs: Pairs, D: np.ndarray) -> np.ndarray:
    """For each similar pair the share of dissimilar ones farther apart; the mean is the area under the ROC."""
    scores = np.empty((int(pairs.similar.sum()), len(D)))
    for column, d in enumerate(D):
        far = np.sort(d[~pairs.similar])
        scores[:, column] = 1 - np.searchsorted(far, d[pairs.similar]) / len(far)
    return scores


def cluster_means(scores: np.ndarray, clusters: np.ndarray) -> np.ndarray:
    """Means over the rows of each cluster."""
    _, place = np.unique(clusters, return_inverse=True)
    sums = np.zeros((place.max() + 1, scores.shape[1]))
    np.add.at(sums, place, scores)
    return sums / np.bincount(place)[:, None]
