"""What is tried for a metric: learners by name, means of them, and which are named beforehand."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from gramian import _validate
from gramian.constraints import Chunklets, Comparisons, Labels
from gramian.learners.anchored import Part, SharedDirections
from gramian.learners.base import Blended, Learner
from gramian.learners.contrastive import Contrastive
from gramian.learners.gmml import GMML
from gramian.learners.itml import ITML
from gramian.learners.kernelized import Kernelized
from gramian.learners.lmnn import LMNN
from gramian.learners.lsml import LSML
from gramian.learners.nca import NCA
from gramian.learners.plda import PLDA
from gramian.learners.posteriors import Posteriors
from gramian.learners.rca import RCA
from gramian.learners.scml import SCML
from gramian.learners.starts import ByAngle, Start
from gramian.learners.task import Task, Traits
from gramian.solvers.base import Solution

FULL = 200
"""Labeled points up to which the penalty of Contrastive is whole: one prior beside the mean loss of n points says less,
the more they are."""


def default_candidates(y: Any = None) -> dict[str, Any]:
    """Learners from closed form to LMNN and NCA that take what is known, the cheap ones first."""
    if isinstance(y, Comparisons):
        return {"LSML": LSML(), "SCML": SCML()}
    codes = y.codes if isinstance(y, Labels) else y.ids if isinstance(y, Chunklets) else np.zeros(0)
    share = FULL / max(FULL, int(np.sum(codes >= 0)))
    much, some = PLDA(0.7, 0.3), PLDA(0.3, 0.1)
    near, wide = Contrastive(0.1, 0.03 * share), Contrastive(0.2, 0.01 * share)
    candidates: dict[str, Any] = {
        "PLDA, much shrunk": much,
        "PLDA": some,
        "PLDA, little shrunk": PLDA(0.1, 0.01),
        "Contrastive": near,
        "blend of four": MeanOf((much, some, near, wide)),
        "blend of two": MeanOf((some, wide)),
        "RCA": RCA(),
        "GMML": GMML(),
        "ITML": ITML(),
        "LMNN": LMNN(),
        "NCA": NCA(),
        "SCML": SCML(),
        "class probabilities": Posteriors(),
        "votes": Posteriors("votes"),
        "soft votes": Posteriors("soft votes"),
    }
    if y is None or isinstance(y, Labels):
        return candidates
    return {name: learner for name, learner in candidates.items() if isinstance(y, learner.traits.takes)}


@dataclass(frozen=True, eq=False)
class MeanOf:
    """The mean of the metrics of several learners, each in the unit of the points.

    They err in different ways, and with few labels nobody can tell which one does not: their mean errs less.
    """

    parts: tuple[Any, ...]

    @property
    def traits(self) -> Traits:
        """What every part takes."""
        takes = tuple(
            kind for kind in self.parts[0].traits.takes if all(kind in part.traits.takes for part in self.parts)
        )
        costs = [(part.traits.pair_cost, part.traits.directions) for part in self.parts if part.traits.pair_cost]
        cost, directions = max(costs, default=(None, None))
        return Traits(takes=takes, pair_cost=cost, directions=directions, by_angle=True)

    def near(self, task: Task, weight: float) -> Solution:
        """The mean of what the parts learn on all points, each with a given weight of the start."""
        task = replace(task, directions=SharedDirections())
        learned = [frame.part(inner, task) for inner, frame in (part.framed(task) for part in self.parts)]
        widest = max(learned, key=lambda one: len(one.core))
        mean = Part(widest.U, mean_core([one.core for one in learned]), widest.root, widest.learned).blended(weight)
        return replace(mean, learned=widest.learned)


def mean_core(cores: list[np.ndarray]) -> np.ndarray:
    """The mean of metrics on the first p_i of the same directions, each the identity on the others, (p, p)."""
    total = np.zeros((max(map(len, cores)),) * 2)
    for core in cores:
        p = len(core)
        total[:p, :p] += core
        total[p:, p:] += np.eye(len(total) - p)
    return total / len(cores)


def early(learner: Any, start: Start) -> bool:
    """Whether a learner is tried before the best start is known: closed forms, and those of angles by angle."""
    by_angle = isinstance(start, ByAngle)
    return by_angle if isinstance(learner, MeanOf) else closed(learner) or (learner.traits.by_angle and by_angle)


def closed(learner: Any) -> bool:
    """Whether it is a closed form."""
    return learner.traits.exact.max_iter is None


def references(candidates: dict[str, Any]) -> list[str]:
    """The candidates that are named beforehand: the first mean, by angle, and the first closed form elsewhere."""
    means = [name for name, learner in candidates.items() if isinstance(learner, MeanOf)]
    forms = [name for name, learner in candidates.items() if closed(learner) and not isinstance(learner, MeanOf)]
    return [*means[:1], *forms[:1]]


def as_learner(candidate: Any) -> Any:
    """A learner from an instance, a class, or a public name."""
    if isinstance(candidate, str):
        candidate = {cls.__name__: cls for cls in subclasses(Learner)}.get(candidate, candidate)
    if isinstance(candidate, type):
        candidate = candidate()
    if isinstance(candidate, Posteriors) and candidate.learner is not None:
        raise ValueError("AutoMetric: a candidate Posteriors stands beside what is best without it; give no learner.")
    if not isinstance(candidate, Blended | Kernelized | Posteriors):
        raise TypeError(f"AutoMetric: candidates must be learners with an anchor, got {_validate.shown(candidate)}.")
    return clone(candidate)


def subclasses(cls: Any) -> Iterator[Any]:
    """All classes below one."""
    for child in cls.__subclasses__():
        yield child
        yield from subclasses(child)
