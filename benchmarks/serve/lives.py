"""Whole lives of collections in which nothing that is proposed is better: how often is something adopted?"""

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.harness import remembered
from gramian.service import duels, wealth

TITLE = "Lives in which there is nothing to learn"
NOTES = """
400 lives for each kind of person, 150 visits each, 10 results a visit, through the very code that makes the lists and
weighs the votes. What is in use and what is proposed rank 60 items at random, with half of their order in common;
a candidate is renewed every 8 visits, and at once where its votes were bad (whoever renews may look). So
every adoption is wrong. *permuted labels*: what is liked is drawn anew for each query. *two camps*: on half of
the queries the candidate is better, on the other half worse by as much. *by place*: the higher, the likelier a like,
nothing else is said. *cascade*: from the top to the first good one, which is liked; those above are disliked.
*stops at a rank*: judges the first few only. *moods*: whole visits of likes or of dislikes. *against*: likes what the
person would call bad. *everything first*: likes the upper half, dislikes the lower. *reached 1/α* counts lives whose
wealth ever was enough, adopted or not; at most 5% of lives may. ± is the standard error.
"""
LIVES, VISITS, SHOWN, ITEMS = 400, 150, 10, 60
RENEWED = 8
"""Visits after which a candidate is renewed."""
Judge = Callable[[np.ndarray, np.random.Generator], np.ndarray]
"""From whether each shown item is good to what is said of it: 1, −1, or 0 for nothing."""


def all_judged(good: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Everything, one in ten wrong."""
    return np.where(good ^ (rng.random(len(good)) < 0.1), 1, -1)


def by_place(good: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Likes that depend on the place alone."""
    return (rng.random(len(good)) < 0.8 ** np.arange(1, len(good) + 1)).astype(int)


def cascade(good: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Down to the first good one."""
    first = int(np.argmax(good)) if good.any() else len(good)
    return np.where(np.arange(len(good)) < first, -1, np.where(np.arange(len(good)) == first, 1, 0))


def stops(good: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The first few."""
    return all_judged(good, rng) * (np.arange(len(good)) < rng.geometric(0.3))


def moods(good: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """All of one visit alike."""
    return np.full(len(good), 1 if rng.random() < 0.5 else -1)


def against(good: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The contrary of the truth."""
    return np.where(good, -1, 1)


def upper(good: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The upper half."""
    return np.where(np.arange(len(good)) < len(good) // 2, 1, -1)


PEOPLE: dict[str, Judge] = {
    "permuted labels": all_judged,
    "two camps": all_judged,
    "by place": by_place,
    "cascade": cascade,
    "stops at a rank": stops,
    "moods": moods,
    "against": against,
    "everything first": upper,
}


def run(quick: bool = False) -> list[dict[str, Any]]:
    """A row for each kind of person."""
    lives = 20 if quick else LIVES
    key = (duels.__file__, wealth.__file__, __file__, lives)
    return [remembered("serve_lives", (*key, kind), lambda kind=kind: row(kind, lives)) for kind in PEOPLE]


def row(kind: str, lives: int) -> dict[str, Any]:
    """How many lives adopted something."""
    ends = [life(kind, np.random.default_rng([seed, len(kind)])) for seed in range(lives)]
    adopted, reached = (sum(side) / lives for side in zip(*ends))
    error = float(np.sqrt(max(reached * (1 - reached), 1 / lives) / lives))
    return {"people": kind, "lives": lives, "adopted": adopted, "reached 1/α": reached, "s.e.": error}


def life(kind: str, rng: np.random.Generator) -> tuple[bool, bool]:
    """Whether something was adopted, and whether the wealth was ever enough."""
    votes: list[float] = []
    parts: list[np.ndarray] = []
    adopted = reached = False
    for visit in range(VISITS):
        vote = one_vote(kind, rng)
        votes += [] if vote is None else [vote]
        decision = wealth.decided(parts, np.array(votes), 0)
        adopted |= decision == "adopted"
        reached |= wealth.log_wealth([*parts, wealth.log_gains(votes)]) >= wealth.log_needed(0)
        if decision == "lost" or (visit + 1) % RENEWED == 0 or (len(votes) > 3 and sum(votes) < -1):
            parts, votes = [*parts, wealth.log_gains(votes)], []
    return adopted, reached


def one_vote(kind: str, rng: np.random.Generator) -> float | None:
    """A visit: two rankings, one list, and what is said of it; None where nothing is said of either side."""
    common = rng.normal(size=ITEMS)
    scores = common + rng.normal(size=(2, ITEMS))
    good = rng.random(ITEMS) < 0.5
    if kind == "two camps":  # one side sees what is good
        scores[int(rng.random() < 0.5)] += 1.0 * good
    rankings = [np.argsort(-side).tolist() for side in scores]
    duel = duels.interleave(1, rankings[0], 0, rankings[1], SHOWN, rng)
    said = PEOPLE[kind](good[duel.ids], rng)
    judged = [(int(value), team == 1) for value, team in zip(said, duel.teams) if value and team != duels.NOBODY]
    return wealth.vote(judged) if judged else None
