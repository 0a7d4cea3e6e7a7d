"""Candidates for a metric and what they score on points that were held out."""

import time
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from gramian import linalg
from gramian.constraints import Constraints, Labels
from gramian.learners.anchor import WEIGHTS, gain_and_error
from gramian.learners.blend import Blend
from gramian.learners.holdout import Fold, held_out, path_scores
from gramian.learners.path import MeanPath, Path
from gramian.learners.report import Report
from gramian.learners.starts import Scaled, Start, dominated

COUNTS = {"seen": 2.0, "new": 1.0}
"""What a gain on new points of known classes counts beside one on classes that were never seen."""
SURE = 2.0
"""Standard errors that are taken off a gain before candidates are compared: the best of many looks too good."""
SETTLED = int(np.flatnonzero(WEIGHTS == 0.3)[0])
"""Place of the weight of a settled trial: nothing is chosen there, so that one error is enough."""
NEAR = 0.5
"""Standard errors by which a gain may be smaller for a larger weight of the start."""
PART = 3
"""One neighbor is looked at for so many held-out points of a class: the nearest of few points are as far apart as
distant ones of many, and there a metric that forgets what is near looks good."""
SPARED = 0.03
"""What held-out classes may lose by what was learned from the others, among the few neighbors that are looked at."""
BEHIND = 0.1
"""A start that scores so much less than another is not learned from."""


@dataclass
class Trial:
    """One candidate: its scores on what was held out, (clusters, weights) by fold and kind."""

    name: str
    start: Start
    learner: Any = None
    careful: bool = False
    """Whether one standard error is enough for it where no candidate gains more than two."""
    settled: bool = False
    """Whether it takes the place of its start where it gains more than one error at a settled weight."""
    scores: list[tuple[int, str, np.ndarray]] = field(default_factory=list)
    seconds: float = 0.0
    note: str = ""

    def gains(self, base: "Trial", folds: Any = None, place: int = -1) -> list[tuple[str, np.ndarray]]:
        """Gains over what the base has with the weight at a place, on some of the folds."""
        plain = {(fold, kind): scores[:, [place]] for fold, kind, scores in base.scores}
        return [
            (kind, scores - plain[fold, kind])
            for fold, kind, scores in self.scores
            if (folds is None or fold in folds) and (fold, kind) in plain
        ]

    def best(
        self, base: "Trial", folds: Any = None, errors: float = SURE, place: int = -1
    ) -> tuple[float, int, float, float]:
        """The largest lower bound of the gain over the base; the place of a weight, the gain there, and its error.

        The weight is the largest whose gain is within half a standard error of the best one.
        """
        found = self.gains(base, folds, place)
        if not found:
            return -np.inf, len(WEIGHTS) - 1, 0.0, 0.0
        mean, error = gain_and_error(found, COUNTS)
        bound = mean - errors * error
        top = len(bound) - 1 - int(np.argmax(bound[::-1]))
        near = int(np.flatnonzero(mean >= mean[top] - NEAR * error[top])[-1])
        return float(bound[top]), near, float(mean[near]), float(error[near])


class Search:
    """The folds, and what each start and candidate has on them."""

    def __init__(self, X: np.ndarray, y: Labels | Constraints, k: int, cv: int, rng: np.random.RandomState):
        self.X, self.y, self.k, self.rng = linalg.dense(X), y, k, rng
        self.folds = list(held_out(y, rng, cv))
        self.starts: list[Trial] = []
        self.paths: dict[tuple[int, str, int], Any] = {}
        self.seed = int(rng.randint(2**31 - 1))
        self.dominated = dominated(self.X)

    @property
    def base(self) -> Trial:
        """The points as they are."""
        return self.starts[0]

    @property
    def base_score(self) -> float:
        """Held-out score of the points as they are."""
        found = [(kind, scores) for _, kind, scores in self.base.scores]
        return float(gain_and_error(found, COUNTS)[0][-1]) if found else 0.0

    def hopeful(self, starts: list[Start]) -> list[Start]:
        """Starts that are not far behind the best one."""
        gains = [
            gain_and_error(trial.gains(self.base), COUNTS)[0][-1] if trial.scores else 0.0 for trial in self.starts
        ]
        return [start for start, gain in zip(starts, gains) if gain >= max(gains) - BEHIND]

    def leader(self, trials: list[Trial], start: Start) -> Start:
        """The start of the best trial so far, or the one given when none gains."""
        best = max([*self.starts, *trials], key=lambda trial: trial.best(self.base)[0])
        return best.start if best.best(self.base)[0] > 0 else start

    def winner(self, trials: list[Trial], folds: Any = None) -> tuple[Trial, int]:
        """The best of the trials, and the place of a weight at which classes without labels lose little."""
        best, place = self._best(trials, folds)
        return best, self.sparing(best, place, folds)

    def sparing(self, trial: Trial, place: int, folds: Any = None) -> int:
        """The first place from a given one on, toward the start, where classes without labels lose little by learning.

        They are compared with the start of the trial: what it gains by itself, say by angle, is no excuse.
        """
        found = [(kind, gain) for kind, gain in trial.gains(trial, folds) if kind == "new"]
        if not found:
            return place
        spared = np.flatnonzero(gain_and_error(found)[0] >= -SPARED)
        return int(spared[spared >= place].min())

    def _best(self, trials: list[Trial], folds: Any = None) -> tuple[Trial, int]:
        """The best of the trials by all that was held out, and the place of its weight.

        A trial must gain more than two errors over the prior, or over the settled trial where that gains more than
        one. Where none does it is the settled one, or the careful one if it gains more than one error: each is one, not
        the best of many.
        """
        stand, at = self.settled(trials, folds)
        best = max(trials, key=lambda trial: trial.best(stand, folds, SURE, at)[0])
        bound, place, *_ = best.best(stand, folds, SURE, at)
        if bound > 0:
            return best, place
        if stand is not self.base:
            return stand, at
        few = [trial for trial in trials if trial.careful or trial is trials[0]]
        best = max(few, key=lambda trial: trial.best(self.base, folds, 1.0)[0])
        return best, best.best(self.base, folds, 1.0)[1]

    def prior(self, folds: Any = None) -> Trial:
        """The points as they are; scaled where one column decides all distances, unless that loses more than an error.

        The unit of a column is no knowledge: where one has more than half of all variance, the others are not heard.
        """
        for trial in self.starts:
            found = trial.gains(self.base, folds) if isinstance(trial.start, Scaled) and self.dominated else []
            if found:
                mean, error = gain_and_error(found, COUNTS)
                return trial if mean[-1] >= -error[-1] else self.base
        return self.base

    def settled(self, trials: list[Trial], folds: Any = None) -> tuple[Trial, int]:
        """What others must be better than: a settled trial of the prior with its weight, or the prior."""
        prior = self.prior(folds)
        for trial in reversed([one for one in trials if one.settled and one.start.learned_as == prior.start.name]):
            found = trial.gains(prior, folds)
            if found:
                mean, error = gain_and_error(found, COUNTS)
                if mean[SETTLED] > error[SETTLED]:
                    return trial, _settled_place(trial, folds)
                break
        return prior, len(WEIGHTS) - 1

    def points(self, start: Start, fold: Fold) -> np.ndarray:
        """All points at a start that saw those of the fold only."""
        X = start.coordinates.accept(self.X)
        return X * start.weights(X[fold.rows])

    def score_start(self, start: Start) -> None:
        """Scores of points that nothing was learned on, the same for each weight."""
        trial = Trial(start.name, start)
        self.starts.append(trial)
        for number, fold in enumerate(self.folds):
            points = self.points(start, fold)
            nothing = Path(np.zeros((start.d, 0)), np.zeros((0, 0)), center=start.center(points[fold.rows]))
            found = path_scores(fold, points, nothing, WEIGHTS[-1:], self.k, PART)
            trial.scores += [(number, kind, np.repeat(scores, len(WEIGHTS), axis=1)) for kind, scores in found]

    def score(self, trial: Trial) -> None:
        """Scores of a candidate along its path, fold by fold; what it cannot take is noted."""
        began = time.process_time()
        rng = np.random.RandomState(self.seed)
        for number, fold in enumerate(self.folds):
            points = self.points(trial.start, fold)
            try:
                path = self._path(trial.learner, trial.start, points, number, rng)
            except (ValueError, TypeError) as error:
                trial.note = str(error)
                continue
            center = trial.start.center(points[fold.rows])
            path = path if center is None else replace(path, center=center)
            trial.scores += [(number, *found) for found in path_scores(fold, points, path, WEIGHTS, self.k, PART)]
        trial.seconds = time.process_time() - began

    def _path(self, learner: Any, start: Start, points: np.ndarray, number: int, rng: np.random.RandomState) -> Any:
        """What a learner finds on a fold; starts that differ in the scoring alone share it, and so do blends."""
        if isinstance(learner, Blend):
            return MeanPath(tuple(self._path(part, start, points, number, rng) for part in learner.parts))
        key = (id(learner), start.learned_as, number)
        if key not in self.paths:
            self.paths[key] = learner._path_on(points, self.folds[number], rng)
        return self.paths[key]

    def honest(self, trials: list[Trial]) -> tuple[float, float]:
        """Gain and error of the rule: each fold is judged by the choice of the others."""
        found: list[tuple[str, np.ndarray]] = []
        for number in range(len(self.folds)):
            others = set(range(len(self.folds))) - {number}
            best, place = self.winner(trials, others)
            found += [(kind, gain[:, place : place + 1]) for kind, gain in best.gains(self.base, {number})]
        if not found:
            return 0.0, 0.0
        mean, error = gain_and_error(found, COUNTS)
        return float(mean[0]), float(error[0])

    def report(self, tried: list[Trial], best: Trial, place: int) -> Report:
        """A row for each start and candidate, the best one with the place of its weight."""
        return Report(self._row(trial, place if trial is best else None) for trial in [*self.starts, *tried])

    def _row(self, trial: Trial, chosen: int | None) -> dict[str, Any]:
        _, place, gain, gain_error = trial.best(self.base)
        if chosen is not None and trial.scores:
            place = chosen
            means, errors = gain_and_error(trial.gains(self.base), COUNTS)
            gain, gain_error = float(means[place]), float(errors[place])
        scores = [(kind, scores[:, place : place + 1]) for _, kind, scores in trial.scores]
        mean, error = gain_and_error(scores, COUNTS) if scores else (np.array([np.nan]), np.array([np.nan]))
        return {
            "candidate": trial.name,
            "score": float(mean[0]),
            "error": float(error[0]),
            "gain": gain,
            "gain_error": gain_error,
            "weight": float(WEIGHTS[place]),
            "seconds": trial.seconds,
            "note": trial.note if chosen is None else "chosen",
        }


def _settled_place(trial: Trial, folds: Any = None) -> int:
    """The place of the settled weight, or of the smaller one that gains most over it, less one error."""
    mean, error = gain_and_error(trial.gains(trial, folds, SETTLED), COUNTS)
    bound = (mean - error)[:SETTLED]
    return int(np.argmax(bound)) if bound.max() > 0 else SETTLED
