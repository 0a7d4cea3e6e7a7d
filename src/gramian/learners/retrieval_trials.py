"""Which map of queries and documents stands: candidates, what they score on queries held out, and the rule."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from gramian import linalg
from gramian.learners.retrieval import MEASURES, Retrieval, scores
from gramian.learners.trials import OTHERS, REFERENCE, Report, plus_minus
from gramian.learners.two_sided import TwoSided, contrasted, low_rank, mean_of, ridge, whitened

FOLDS = 5
ALL_FOLDS = 1000
"""Queries up to which all folds are run; of more, two folds say enough."""
HELD = 700
"""Queries that one of these two folds holds out at most."""
SEARCHED = 10_000
"""Queries by which candidates are compared, at most; what stands learns from all."""
FEWEST = 10
"""Queries without which nothing can be held out."""
WEIGHTS = (0.0, 0.3, 0.6)
"""Weights of the identity to choose from, beside 1."""
NEAR = 0.5
"""Standard errors that weights of the identity may differ by and count as alike."""
TEMPERATURE, REG, STEPS = 0.05, 0.03, 4
"""Of the contrast: few steps are a penalty of their own, and the blend with the identity is another."""
CONTRAST = "contrast"
"""The candidate that is named beforehand, so that less is asked of it."""
LIGHT = 0.3
"""Weight of the identity beside it, at most."""

WHITENED = (0.3, False), (0.6, False), (0.5, True)
"""Powers, and whether it is by the differences of pairs: a mean of three ways errs less than each."""
PENALTY = 10.0
"""Of the ridge."""

Road = Callable[[], TwoSided]


@dataclass
class Roads:
    """Candidates on one task: what one needs of another is made once."""

    task: Retrieval
    both: bool
    made: dict[str, TwoSided] = field(default_factory=dict)
    start: TwoSided | None = None

    def __call__(self, name: str) -> TwoSided:
        """The map of a name."""
        if name not in self.made:
            self.made[name] = self.roads()[name]()
        return self.made[name]

    def roads(self) -> dict[str, Road]:
        """Names, in the order tried: the closed form first."""
        roads: dict[str, Road] = {"ridge": partial(ridge, self.task, PENALTY)}
        if self.both:
            parts = "contrast of queries", "contrast of both"
            roads |= {name: partial(self.contrast, tied) for name, tied in zip(parts, (False, True))}
            roads[CONTRAST] = lambda: mean_of([self(name) for name in parts])
        else:
            roads[CONTRAST] = partial(self.contrast, False)
        roads["low rank"] = lambda: low_rank(self(CONTRAST), max(1, self.task.queries.shape[1] // 8))
        return roads

    def contrast(self, tied: bool) -> TwoSided:
        """A descent of queries, or of both sides, from queries whitened in three ways and in none, in the mean."""
        if self.start is None:
            ways = [whitened(self.task, *way) for way in WHITENED]
            plain = TwoSided(np.eye(self.task.queries.shape[1]))
            self.start = mean_of([plain, *ways]).scaled(self.task)
        return contrasted(self.task, self.start, tied, TEMPERATURE, REG, STEPS)


@dataclass(frozen=True, eq=False)
class Trial:
    """A candidate, and its measures (weights, queries, 3) on the queries that were held out, in one order."""

    name: str
    scores: np.ndarray
    seconds: float

    def gain(self, base: np.ndarray, folds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Gain in MRR over ``base`` (queries, 3) and its standard error, for each weight, on some of the queries."""
        gains = self.scores[:, folds, 0] - base[folds, 0]  # (weights, queries)
        return gains.mean(axis=1), gains.std(axis=1, ddof=1) / np.sqrt(gains.shape[1])


@dataclass(frozen=True, eq=False)
class Standing:
    """What stands: the place of a trial and of its weight; the identity where there is none."""

    trial: int | None = None
    place: int = -1


@dataclass(frozen=True, eq=False)
class Search:
    """Held-out queries of all folds, what the identity scores on them, and the trials."""

    base: np.ndarray
    """(queries, 3)."""
    folds: np.ndarray
    """(queries,): the fold of each."""
    trials: list[Trial]
    weights: tuple[float, ...] = WEIGHTS

    def winner(self, rows: np.ndarray | None = None) -> Standing:
        """The rule: the contrast stands where it gains more than one error over the identity.

        Another takes the place of what stands where it gains more than two over that: among few documents closed forms
        look better than they are among many. Of weights within half an error of the best one, the largest is taken.
        """
        rows = np.ones(len(self.base), dtype=bool) if rows is None else rows
        light = sum(weight <= LIGHT for weight in self.weights)
        stand, base = Standing(), self.base
        for errors, reference in ((REFERENCE, True), (OTHERS, False)):
            best, leader = 0.0, stand
            for i, trial in enumerate(self.trials):
                if (trial.name == CONTRAST) != reference:
                    continue
                mean, error = (values[: light if reference else None] for values in trial.gain(base, rows))
                low = mean - errors * error
                top = int(np.argmax(low))
                if low[top] > best:
                    best = float(low[top])
                    leader = Standing(i, int(np.flatnonzero(mean >= mean[top] - NEAR * error[top])[-1]))
            stand = leader
            if stand.trial is not None:
                base = self.trials[stand.trial].scores[stand.place]
        return stand

    def best(self) -> Standing:
        """The trial that gains most, whether or not it gains."""
        means = np.array([trial.gain(self.base, np.ones(len(self.base), dtype=bool))[0] for trial in self.trials])
        trial, place = np.unravel_index(int(np.argmax(means)), means.shape)
        return Standing(int(trial), int(place))

    def gain(self, stand: Standing) -> tuple[float, float]:
        """Gain in MRR of what stands, and its error."""
        if stand.trial is None:
            return 0.0, 0.0
        mean, error = self.trials[stand.trial].gain(self.base, np.ones(len(self.base), dtype=bool))
        return float(mean[stand.place]), float(error[stand.place])

    def honest(self) -> tuple[float, float]:
        """Gain in MRR and its error: each fold is judged by the choice that the other folds would make."""
        gains = np.zeros(len(self.base))
        for fold in np.unique(self.folds):
            rows = self.folds == fold
            stand = self.winner(~rows)
            if stand.trial is not None:
                gains[rows] = self.trials[stand.trial].scores[stand.place, rows, 0] - self.base[rows, 0]
        return float(gains.mean()), float(gains.std(ddof=1) / np.sqrt(len(gains)))

    def rows(self, stand: Standing) -> Iterator[dict[str, Any]]:
        """What a report says."""
        n = len(self.base)
        first = {"gain": 0.0, "gain_error": 0.0, "weight": 1.0, "seconds": 0.0}
        yield row("as they are", self.base, first, "chosen" if stand.trial is None else "")
        everything = np.ones(n, dtype=bool)
        for i, trial in enumerate(self.trials):
            mean, error = trial.gain(self.base, everything)
            place = stand.place if stand.trial == i else int(np.argmax(mean))
            facts = {"gain": float(mean[place]), "gain_error": float(error[place]), "weight": self.weights[place]}
            facts["seconds"] = trial.seconds
            yield row(trial.name, trial.scores[place], facts, "chosen" if stand.trial == i else "")


def row(name: str, judged: np.ndarray, facts: dict[str, Any], note: str) -> dict[str, Any]:
    """A row of a report from the measures (queries, 3) of a candidate."""
    mean = judged.mean(axis=0)
    error = float(judged[:, 0].std(ddof=1) / np.sqrt(len(judged)))
    more = {name: float(value) for name, value in zip(MEASURES, mean)}
    return {"candidate": name, "score": float(mean[0]), "error": error, **facts, **more, "note": note}


class RetrievalReport(Report):
    """Rows as those of :class:`.AutoMetric`, whose score is MRR; with ``"MRR"``, ``"recall@10"`` and ``"nDCG@10"``.

    ``before`` and ``after`` are the rows of the points as they are and of what was chosen.
    """

    @property
    def before(self) -> dict[str, Any]:
        """The row of the points as they are."""
        return self[0]

    @property
    def after(self) -> dict[str, Any]:
        """The row of what was chosen."""
        return next(row for row in self if row["note"] == "chosen")

    def __str__(self) -> str:
        if not self:
            return "nothing was held out"
        head = f"{'candidate':26} {'held-out MRR':>18} {'gain':>18} {'recall@10':>10} {'nDCG@10':>8} {'identity':>8}"
        lines = [
            f"{row['candidate']:26} {plus_minus(row['score'], row['error']):>18} "
            f"{plus_minus(row['gain'], row['gain_error'], '+'):>18} {row['recall@10']:10.4f} {row['nDCG@10']:8.4f} "
            f"{row['weight']:8.2f}" + (f"  {row['note']}" if row["note"] else "")
            for row in self
        ]
        return "\n".join([head, *lines])

    __repr__ = __str__


@dataclass(frozen=True, eq=False)
class Fold:
    """A task, the rows of its queries that were held out, and what the others taught."""

    task: Retrieval
    rows: np.ndarray
    roads: Roads


def folds_of(n: int, rng: np.random.RandomState) -> list[np.ndarray]:
    """Rows of queries to be held out, fold by fold."""
    order = rng.permutation(n)
    folds = [np.sort(order[i::FOLDS]) for i in range(FOLDS)]
    return folds if n <= ALL_FOLDS else [fold[linalg.spread(len(fold), HELD)] for fold in folds[:2]]


def search(
    task: Retrieval, both: bool, rng: np.random.RandomState, weights: tuple[float, ...] = WEIGHTS
) -> tuple[Search, list[Fold]]:
    """All candidates on all folds; and what each fold learned."""
    if len(task.queries) > SEARCHED:
        task = task.of(np.sort(rng.permutation(len(task.queries))[:SEARCHED]))
    base, places, by_name, learned = [], [], dict[str, list[np.ndarray]](), []
    seconds: dict[str, float] = {}
    for number, out in enumerate(folds_of(len(task.queries), rng)):
        answers = task.answers[out]
        roads = Roads(task.of(np.setdiff1d(np.arange(len(task.queries)), out)), both)
        learned.append(Fold(task, out, roads))
        base.append(scores(task.queries[out], task.documents, answers))
        places.append(np.full(len(out), number))
        for name in roads.roads():
            start = time.process_time()
            blends = [roads(name).blended(w) for w in weights]
            judged = [scores(m.queries(task.queries[out]), m.documents(task.documents), answers) for m in blends]
            by_name.setdefault(name, []).append(np.stack(judged))
            seconds[name] = seconds.get(name, 0.0) + time.process_time() - start
    trials = [Trial(name, np.concatenate(parts, axis=1), seconds[name]) for name, parts in by_name.items()]
    return Search(np.concatenate(base), np.concatenate(places), trials, weights), learned
