"""What is delivered to people who do not judge everything, and beside some who judge against all others."""

from typing import Any

import numpy as np

from benchmarks.harness import remembered
from benchmarks.serve import across, lives, people, tasks
from gramian.service import Space, duels, evidence, learning, wealth

TITLE = "People with habits"
NOTES = """
As in *New queries*, but people do not judge all of a list; visits go on until there are 1,000 clicks, at most 400,
on 100 queries in turn. From clicks alone, which have no dislikes, AutoMetric seldom learns anything.
*all, one in ten wrong*: as there. *cascade*: from the top to the first good one, which is liked; those above are
disliked. *stops at a rank*: judges the first few only, at each with chance 0.3 of being the last. *clicks by place*: no
judgments, only clicks, on good ones four times as likely as on others, and by 0.8 less likely with every place
(`"like": null`). *one in ten against*: every tenth visit is by somebody who likes what others call bad.
"""
NAMES = ("digits + noise", "letters", "faces by pose")
"""Tasks whose gain is large, middling and large."""
CLICKS, MOST = 1000, 400
SEEDS = (2, 3)


def judged(values: np.ndarray) -> list[tuple[int, bool | None]]:
    """Places and judgments of what is not 0."""
    return [(place, bool(value > 0)) for place, value in enumerate(values) if value]


def clicked(good: np.ndarray, rng: np.random.Generator) -> list[tuple[int, bool | None]]:
    """Clicks alone, by place and worth."""
    chance = np.where(good, 0.8, 0.2) * 0.8 ** np.arange(len(good))
    return [(int(place), None) for place in np.flatnonzero(rng.random(len(good)) < chance)]


def mixed(good: np.ndarray, rng: np.random.Generator) -> list[tuple[int, bool | None]]:
    """Everything, one in ten wrong, and in one of ten visits the contrary."""
    against = rng.random() < 0.1
    return judged(lives.against(good, rng) if against else lives.all_judged(good, rng))


HABITS = {
    "all, one in ten wrong": lambda good, rng: judged(lives.all_judged(good, rng)),
    "cascade": lambda good, rng: judged(lives.cascade(good, rng)),
    "stops at a rank": lambda good, rng: judged(lives.stops(good, rng)),
    "clicks by place": clicked,
    "one in ten against": mixed,
}


def run(quick: bool = False) -> list[dict[str, Any]]:
    """A row for each task and habit."""
    names, seeds, most = (NAMES[:1], SEEDS[:1], 40) if quick else (NAMES, SEEDS, MOST)
    return [row(name, habit, seeds, most) for name in names for habit in HABITS]


def row(name: str, habit: str, seeds: tuple[int, ...], most: int) -> dict[str, Any]:
    """Means over people."""
    code = [learning, duels, wealth, evidence, tasks, across, lives]
    key = (*(module.__file__ for module in code), __file__, name, habit, most)
    looks = [
        remembered("serve_habits", (*key, seed), lambda seed=seed: life(name, habit, seed, most)) for seed in seeds
    ]
    counts = {key: float(np.mean([look[key] for look in looks])) for key in ("visits", "clicks")}
    found = {"delivered / possible": across.ratio(looks), "task": tasks.marked(name), "people": habit, **counts}
    found |= {
        "adopted": across.adopted(looks),
        "same: plain": float(np.mean([look["same"]["plain"] for look in looks])),
    }
    return found | {f"same: {key}": across.told([look["same"][key] for look in looks]) for key in across.NAMES}


def life(name: str, habit: str, seed: int, most: int) -> dict[str, Any]:
    """One space, until there are enough clicks."""
    X, y = tasks.task(name)
    rng = np.random.default_rng(seed)
    asked, sides = across.split(y, across.VISITS, rng)
    clicks = visits = 0
    with people.opened(X) as space, people.drawn(rng.spawn(1)[0]):
        while clicks < CLICKS and visits < most:
            across.learn_when_due(space)
            clicks += visit(space, y, int(asked[visits % len(asked)]), habit, rng)
            visits += 1
        metrics, look = across.compared(space, X), across.standing(space)
        return {**look, "visits": visits, "same": across.gains(X, y, sides["same"], metrics)}


def visit(space: Space, y: np.ndarray, query: int, habit: str, rng: np.random.Generator) -> int:
    """Ten results, and what a person of a habit says of them; the number of clicks."""
    found = space.query("a", id=query, k=10, duel=True)
    said = HABITS[habit](y[found["ids"]] == y[query], rng)
    for place, like in said:
        space.feedback("a", query, found["ids"][place], like, duel_id=found["duel_id"])
    return len(said)
