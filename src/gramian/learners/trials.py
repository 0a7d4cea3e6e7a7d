"""Candidates for a metric, what they score on points that were held out, and the rule that says which one stands."""

import time
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any

import numpy as np

from gramian import linalg
from gramian._arrays import asarray, to_numpy
from gramian.constraints import Chunklets, Labels
from gramian.learners.anchored import WEIGHTS, SharedDirections, gain_and_error, root_of
from gramian.learners.beside_classes import BesideClasses, ClassPath
from gramian.learners.candidates import MeanOf, mean_core
from gramian.learners.door import require_kind
from gramian.learners.held_out import Fold, held_out, path_scores, searched
from gramian.learners.path import Path, SharedPoints, Straight
from gramian.learners.starts import Start
from gramian.learners.task import Task

PLAIN = len(WEIGHTS) - 1
"""Place of the weight 1: the start alone."""
COUNTS = {"seen": 2.0, "new": 1.0}
"""What a gain on new points of known classes counts beside one on classes that were never seen."""
REFERENCE, OTHERS, CLASSES = 1.0, 2.0, 0.5
"""Standard errors that a gain must exceed: of the one named beforehand, of the best of many, and of class
probabilities beside what stands: their classifier learns from fewer labels on a fold, so that folds say less."""
MOST = int(np.flatnonzero(WEIGHTS == 0.3)[0])
"""Place of the largest weight of a mean as the reference."""
NEAR = 0.5
"""Standard errors by which a gain may be smaller for a larger weight of the start."""
SPARED = 0.03
"""What held-out classes may lose by what was learned from the others."""
PART = 3
"""One neighbor is looked at for so many held-out points of a class: the nearest of few points are as far apart as
distant ones of many, and there a metric that forgets what is near looks good."""


@dataclass(frozen=True, eq=False)
class Trial:
    """A candidate at a start: its scores (clusters, weights) on what each fold held out, by fold and kind."""

    name: str
    start: Start
    learner: Any = None
    reference: bool = False
    """Whether it was named beforehand."""
    scores: tuple[tuple[int, str, np.ndarray], ...] = ()
    seconds: float = 0.0
    note: str = ""

    def gain(self, over: "Standing", folds: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """Gain over what stands, and its standard error, for each weight; −∞ where nothing was scored."""
        base = {(fold, kind): scores[:, [over.place]] for fold, kind, scores in over.trial.scores}
        gains = [
            (kind, scores - base[fold, kind])
            for fold, kind, scores in self.scores
            if (fold, kind) in base and (folds is None or fold in folds)
        ]
        return gain_and_error(gains, COUNTS) if gains else (np.full(len(WEIGHTS), -np.inf), np.zeros(len(WEIGHTS)))

    def bound(self, over: "Standing", errors: float, folds: Any = None) -> tuple[float, int]:
        """Lower bound of the gain, and the place of the largest weight that is within half an error of the best."""
        mean, error = self.gain(over, folds)
        if isinstance(self.learner, MeanOf) and errors == REFERENCE:
            mean, error = mean[: MOST + 1], error[: MOST + 1]
        low = mean - errors * error
        if isinstance(self.learner, BesideClasses):  # another one may gain more where this one costs too much
            low[self.loss_of_new(folds) > SPARED] = -np.inf
        top = len(low) - 1 - int(np.argmax(low[::-1]))
        if not np.isfinite(low[top]):
            return -np.inf, PLAIN
        return float(low[top]), int(np.flatnonzero((mean >= mean[top] - NEAR * error[top]) & np.isfinite(low))[-1])

    def loss_of_new(self, folds: Any = None) -> np.ndarray:
        """What held-out classes lose against the start itself, for each weight.

        What the start gains by itself, say by angle, is no excuse.
        """
        origin = self.learner.under.trial if isinstance(self.learner, BesideClasses) else self
        plain = {fold: scores[:, [PLAIN]] for fold, kind, scores in origin.scores if kind == "new"}
        losses = [
            (kind, plain[fold] - scores)
            for fold, kind, scores in self.scores
            if kind == "new" and (folds is None or fold in folds)
        ]
        return gain_and_error(losses)[0] if losses else np.zeros(len(WEIGHTS))

    def row(self, base: "Trial", stand: "Standing | None" = None) -> dict[str, Any]:
        """What a report says of it: at the weight that stands, or at its best one."""
        chosen = stand is not None and stand.trial is self
        place = stand.place if chosen and stand is not None else self.bound(Standing(base), OTHERS)[1]
        scores = [(kind, scores[:, [place]]) for _, kind, scores in self.scores]
        mean, error = gain_and_error(scores, COUNTS) if scores else (np.array([np.nan]), np.array([np.nan]))
        gain, gain_error = (values[place] for values in self.gain(Standing(base))) if scores else (0.0, 0.0)
        return {
            "candidate": self.name,
            "score": float(mean[0]),
            "error": float(error[0]),
            "gain": float(gain),
            "gain_error": float(gain_error),
            "weight": float(WEIGHTS[place]),
            "seconds": self.seconds,
            "note": "chosen" if chosen else self.note,
        }


@dataclass(frozen=True, eq=False)
class Standing:
    """What is to be beaten: a trial, and the place of its weight."""

    trial: Trial
    place: int = PLAIN


def winner(trials: list[Trial], first: Trial, folds: Any = None) -> Standing:
    """The rule, in three sentences.

    The reference takes the place of the start where it gains more than one standard error, and any candidate takes the
    place of what stands then where it gains more than two. Its weight is the largest within half an error of its best.
    It rises until classes that were held out lose at most 0.03.

    Class probabilities are tried last, beside what stands by then, and half an error is enough for them.
    The reference is a mean of learners by angle; where that does not gain so much, a closed form.
    """
    stand = Standing(first)
    named = [trial for trial in trials if trial.reference]
    means, forms = ([one for one in named if isinstance(one.learner, MeanOf) == mean] for mean in (True, False))
    beside = [trial for trial in trials if isinstance(trial.learner, BesideClasses)]
    others = [trial for trial in trials if not isinstance(trial.learner, BesideClasses)]
    for errors, group in ((REFERENCE, means), (REFERENCE, forms), (OTHERS, others), (CLASSES, beside)):
        if group is forms and stand.trial is not first:
            continue
        bounds = [(*trial.bound(stand, errors, folds), trial) for trial in group]
        low, place, best = max(bounds, key=itemgetter(0), default=(-np.inf, PLAIN, first))
        stand = Standing(best, place) if low > 0 else stand
    spared = np.flatnonzero(stand.trial.loss_of_new(folds) <= SPARED)
    return replace(stand, place=int(spared[spared >= stand.place].min(initial=PLAIN)))


def honest(trials: list[Trial], first: Trial, base: Trial, n_folds: int) -> tuple[float, float]:
    """Gain of the rule over the base, and its error: each fold is judged by the choice that the other folds make."""
    gains = []
    for fold in range(n_folds):
        stand = winner(trials, first, set(range(n_folds)) - {fold})
        plain = {kind: scores[:, [PLAIN]] for number, kind, scores in base.scores if number == fold}
        gains += [
            (kind, scores[:, [stand.place]] - plain[kind])
            for number, kind, scores in stand.trial.scores
            if number == fold and kind in plain
        ]
    mean, error = gain_and_error(gains, COUNTS) if gains else (np.zeros(1), np.zeros(1))
    return float(mean[0]), float(error[0])


class Search:
    """The folds of a task, and what each start and candidate has on them."""

    def __init__(self, task: Task, k: int, cv: int, closed: bool = False):
        self.X, self.task, self.k = linalg.dense(task.Z), task, k
        self.folds = list(held_out(task.y, task.rng, cv, task.order, closed))
        self.seed = int(task.rng.randint(2**31 - 1))
        self.paths: dict[tuple[int, str, int], Any] = {}
        self.directions = defaultdict[tuple[str, int], SharedDirections](SharedDirections)
        self.shared: dict[tuple[str, int], SharedPoints] = {}

    def trial(self, name: str, start: Start, learner: Any = None, reference: bool = False) -> Trial:
        """Scores along the path from what a candidate learns to its start; what it cannot take is noted."""
        began, note, rng = time.process_time(), "", np.random.RandomState(self.seed)
        scores: list[tuple[int, str, np.ndarray]] = []
        for number, fold in enumerate(self.folds):
            points = self.points(start, fold)
            try:
                path = self.path(learner, start, points, number, rng)
            except (ValueError, TypeError) as error:
                note = str(error)
                continue
            if not isinstance(path, ClassPath):
                path = self.seen(path, start, points, number)
            weights = WEIGHTS if learner is not None else WEIGHTS[-1:]
            for kind, score in path_scores(fold, points, path, weights, self.k, PART):
                scores.append((number, kind, np.broadcast_to(score, (len(score), len(WEIGHTS)))))
        seconds = 0.0 if learner is None else time.process_time() - began
        return Trial(name, start, learner, reference, tuple(scores), seconds, note)

    def path(self, learner: Any, start: Start, points: Any, number: int, rng: np.random.RandomState) -> Any:
        """What a learner finds on a fold; starts that differ in the scoring alone share it, and so do means."""
        if learner is None:
            return Path(np.zeros((start.d, 0)), np.zeros((0, 0)))
        if isinstance(learner, MeanOf):
            return mean_of([self.path(part, start, points, number, rng) for part in learner.parts])
        fold = self.folds[number]
        if isinstance(learner, BesideClasses):
            below = self.path(learner.under.trial.learner, start, points, number, rng)
            return self.beside(learner, fold, self.seen(below, start, points, number))
        key = id(learner), start.learned_as, number
        if key not in self.paths:
            require_kind(learner, fold.side)
            task = replace(self.task, Z=points, y=fold.side, rng=rng, rows=None, report=None)
            task = replace(task, directions=self.directions[start.learned_as, number])
            inner, frame = learner.framed(task)
            self.paths[key] = frame.part(inner, task, fold.rows).path
        return self.paths[key]

    def seen(self, path: Any, start: Start, points: Any, number: int) -> Straight:
        """A path as the start sees it, on held-out points that it shares with the others."""
        fold = self.folds[number]
        center = start.center(linalg.take(points, fold.rows))
        path = path if center is None else replace(path, center=center)
        if not isinstance(path, Path) or not isinstance(fold.side, Labels | Chunklets):
            return path
        self.shared = {key: points for key, points in self.shared.items() if key[0] == start.learned_as}  # room
        key = start.learned_as, number
        if key not in self.shared:
            self.shared[key] = SharedPoints(to_numpy(linalg.take(points, searched(fold))))
        return replace(path, shared=self.shared[key])

    def beside(self, learner: BesideClasses, fold: Fold, below: Any) -> ClassPath:
        """Probabilities that saw a fold only, beside what stands there."""
        require_kind(learner.posteriors, fold.side)
        assert isinstance(fold.side, Labels)
        start, place = learner.under.trial.start, learner.under.place
        rows = to_numpy(linalg.take(start.coordinates.accept(self.X), fold.rows))  # classifiers run on the CPU
        return learner.path(below, float(WEIGHTS[place]), rows, fold.side, start.weights(rows))

    def points(self, start: Start, fold: Fold) -> Any:
        """All points at a start that saw those of the fold only."""
        X = start.coordinates.accept(self.X)
        return X * asarray(start.weights(linalg.take(X, fold.rows)), X)


def mean_of(paths: list[Path]) -> Path:
    """The path from the mean of what several learners found on the first of the same directions."""
    widest = max(paths, key=lambda path: path.U.shape[1])
    return Path(widest.U, root_of(mean_core([path.learned @ path.learned.T for path in paths])))


class Report(list):
    """Rows ``{"candidate", "score", "error", "gain", "gain_error", "weight", "seconds", "note"}``, in the order tried.

    ``score`` ± ``error`` is the held-out score, ``gain`` ± ``gain_error`` what it is above the points as they are
    (paired), ``weight`` that of the prior, ``seconds`` CPU time. :func:`gramian.plotting.gains` draws it.
    """

    def __init__(self, rows: Iterable[dict[str, Any]] = ()):
        super().__init__(rows)

    def to_frame(self) -> Any:
        """The rows as a pandas DataFrame."""
        import pandas

        return pandas.DataFrame(list(self))

    def __str__(self) -> str:
        width = max([28, *(len(row["candidate"]) for row in self)])
        head = f"{'candidate':{width}} {'held-out score':>18} {'gain':>18} {'prior':>6} {'CPU s':>7}"
        lines = [
            f"{row['candidate']:{width}} {plus_minus(row['score'], row['error']):>18} "
            f"{plus_minus(row['gain'], row['gain_error'], '+'):>18} {row['weight']:6.2f} {row['seconds']:7.2f}"
            + (f"  {row['note']}" if row["note"] else "")
            for row in self
        ]
        return "\n".join([head, *lines])

    __repr__ = __str__


def plus_minus(value: float, error: float, sign: str = "") -> str:
    """A number and its error, or that there is none."""
    return f"{value:{sign}.4f} ± {error:.4f}" if np.isfinite(value) else "not compared"
