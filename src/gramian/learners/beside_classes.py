"""What stands in a search, with the class probabilities of a classifier beside it, as one more candidate.

The classifier of a fold saw neither the points nor the classes that the fold holds out, so that both say what its
probabilities are worth: d²_t = (1 − t) s Σ_c (√p_c(x) − √p_c(y))² + t d²_0, with d_0 what stands and s its spread.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gramian import linalg
from gramian._arrays import to_numpy
from gramian.constraints import Labels
from gramian.learners.kernel_votes import KernelVotes
from gramian.learners.path import Path, Straight
from gramian.learners.posteriors import FEWEST, PROBED, VOTES, Posteriors, beside, metric_of
from gramian.learners.subsample import by_content, some
from gramian.learners.task import Task, Traits
from gramian.solvers.base import Solution

if TYPE_CHECKING:
    from gramian.learners.trials import Standing

Roots = Callable[[np.ndarray], np.ndarray]
LEAST = 0.01
"""The least share of what stands, or points of which a classifier is sure would all be the same."""
WORK = {"logistic": 2e8, "forest": 2e6, "votes": 3e10}
"""Points × columns × classes of a linear model, points × columns of a forest, and cubes of the number of points that
vote, that take some 10 CPU seconds."""


@dataclass(frozen=True, eq=False)
class BesideClasses:
    """Class probabilities beside what stands."""

    under: "Standing"
    posteriors: Posteriors
    seed: int
    asked: dict[int, "Asked"] = field(default_factory=dict)
    """Votes by fold, for those that differ in their temperature alone."""
    traits: Traits = field(default=Traits(), init=False)

    def path(self, below: Straight, weight: float, points: Any, labels: Labels, weights: np.ndarray) -> "ClassPath":
        """From the probabilities, learned from points behind their door, to what stands, in its unit.

        ``below`` has the weight ``weight`` of its start, and sees points times ``weights``.
        """
        probe = linalg.take(points, linalg.spread(len(points), PROBED)) * weights
        unit = float(below.among(probe, weight).mean() / 2)  # mean |x − μ|² is half of mean |x − y|²
        return ClassPath(self.roots(below, weight, points, labels, weights), below, weight, unit or 1.0)

    def roots(self, below: Straight, weight: float, points: Any, labels: Labels, weights: np.ndarray) -> Roots:
        """√p, of points times ``weights``."""
        kind, earlier = self.posteriors.classifier, self.asked.get(id(labels))
        if isinstance(kind, str) and kind in VOTES and earlier is not None:
            return earlier.softer(VOTES[kind])
        fold = id(labels)
        points, labels = affordable(self.posteriors, points, labels, self.seed)
        if not isinstance(kind, str) or kind not in VOTES:
            model = self.posteriors.model(points, labels, random_state=self.seed)
            return lambda X: model.roots(X / weights)
        if not isinstance(below, Path):
            raise ValueError("class probabilities by votes need a metric of the features below them")
        anchors, codes = points * weights, labels.by_appearance().codes
        votes = KernelVotes.fit(below.among(anchors, weight), codes)
        self.asked[fold] = Asked(votes, lambda X: below.among(X, weight, anchors))
        return self.asked[fold].softer(VOTES[kind])

    def solve(self, below: Solution, task: Task, share: float) -> Solution:
        """The probabilities beside the answer ``below``, which has a given share."""
        share = max(share, LEAST)
        points = to_numpy(task.Z)  # classifiers run on the CPU
        metric = metric_of(below, points.shape[1])
        some = affordable(self.posteriors, metric.coordinates.accept(points), task.y, self.seed)
        model = self.posteriors.model(*some, metric=metric, random_state=self.seed)
        return beside(below, metric, points, model, share, 1 - share)


@dataclass(eq=False)
class Asked:
    """Votes of labeled points, and the points that asked for them last with their distances to these."""

    votes: KernelVotes
    distances: Roots
    X: np.ndarray | None = None
    D: np.ndarray | None = None

    def softer(self, factor: float) -> Roots:
        """√p at a higher temperature."""
        return lambda X: replace(self.votes, coefficients=self.votes.coefficients / factor).roots(self.among(X))

    def among(self, X: np.ndarray) -> np.ndarray:
        """d² of points to the labeled ones."""
        if self.X is None or self.D is None or not np.array_equal(self.X, X):
            self.X, self.D = X, self.distances(X)
        return self.D


@dataclass(frozen=True, eq=False)
class ClassPath(Straight):
    """d²_t between points at a start, with ``below`` at one place of its own path."""

    roots: Roots
    """√p."""
    below: Straight
    weight: float
    unit: float
    """s: the spread of the points under ``below``."""

    def between(self, X: np.ndarray, Y: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """d² of all points, (n, n), by the probabilities alone and by what stands."""
        if Y is not None:
            raise ValueError("probabilities are compared among one set of points")
        return self.unit * linalg.sqdist(self.roots(X)), self.below.among(X, self.weight)


def affordable(posteriors: Posteriors, points: Any, labels: Labels, seed: int) -> tuple[Any, Labels]:
    """The points that a classifier of ours learns from: all, or a part by class where it would take too long."""
    kind, d = posteriors.classifier, points.shape[1]
    if not isinstance(kind, str):
        return points, labels
    if kind in VOTES:
        return drawn(points, labels, int(WORK["votes"] ** (1 / 3)), seed)
    linear = kind == "logistic" or (kind == "auto" and d >= FEWEST)
    most = int(WORK["logistic"] / (d * len(labels.classes)) if linear else WORK["forest"] / d)
    return drawn(points, labels, most, seed)


def drawn(points: Any, labels: Labels, most: int, seed: int) -> tuple[Any, Labels]:
    """At most so many of the points, by class."""
    if len(points) <= most:
        return points, labels
    rows = some(labels, most, np.random.RandomState(seed), by_content(points))
    return points[rows], labels.of(rows)
