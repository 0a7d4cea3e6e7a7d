"""What could decide duels sooner, tried on the tasks of development: ``python -m benchmarks.serve.sooner [SEED…]``.

Nothing is adopted here, so that candidates meet the plain features for 1,000 clicks. A line for each task and depth of
the rankings, in units of the number of results (the service has 1): the log wealth of the stakes of the service and of
the best stake known afterwards, right ones among what was shown and among what is in use, pairs in a list, and the
gains of two learners that could duel at the same time.
"""

import sys
from dataclasses import replace
from unittest import mock

import numpy as np

from benchmarks.serve import across, people, tasks
from gramian.service import Space, duels, evidence, learning, wealth
from gramian.service.answers import Question

STAKES = np.linspace(0, 0.99, 100)
WRONG = 0.1


def main() -> int:
    """All tasks and depths, for some seeds."""
    for seed in map(int, sys.argv[1:] or ("11",)):
        for name in tasks.CHOSEN_ON:
            for depth in (1, 2):
                print(name, seed, f"depth {depth}", life(name, seed, depth), flush=True)
    return 0


def life(name: str, seed: int, depth: int) -> dict[str, float]:
    """One space in which nothing is adopted."""
    X, y = tasks.task(name)
    rng = np.random.default_rng(seed)
    asked, sides = across.split(y, across.VISITS, rng)
    votes, pairs, shown, used = [], [], [], []
    never = {"decided": lambda *votes: None, "leads": lambda *votes: False}
    with people.opened(X) as space, people.drawn(rng.spawn(1)[0]), mock.patch.multiple(wealth, **never):
        for query in asked.tolist():
            across.learn_when_due(space)
            duel, top = listed(space, query, depth, rng)
            good = y[duel.ids] == y[query]
            liked = good != (rng.random(len(good)) < WRONG)
            for item, like in zip(duel.ids, liked):
                space.feedback("a", query, item, bool(like), duel_id=duel.id)
            judged = [(2.0 * like - 1, team == duel.version) for like, team in zip(liked, duel.teams) if team >= 0]
            if judged and duel.version:
                votes.append(wealth.vote(judged))
                pairs.append(len(judged) / 2)
                shown.append(good.mean())
                used.append((y[top] == y[query]).mean())
        gains = proposed(space, X, y, sides["same"])
    best = max(float(np.log1p(stake * np.array(votes)).sum()) for stake in STAKES)
    found = {"log wealth": wealth.log_mixed(wealth.log_gains(votes)), "best stake": best, "pairs": np.mean(pairs)}
    found |= {"shown": np.mean(shown), "in use": np.mean(used), **gains}
    return {key: round(float(value), 3) for key, value in found.items()}


def listed(space: Space, query: int, depth: int, rng: np.random.Generator) -> tuple[duels.Duel, list[int]]:
    """A list as the service makes it, of rankings so many times as long, and the ten best of what is in use."""
    view, k = space.collection("a"), across.RESULTS
    question = Question.of(view, None, query, depth * k, (), (), None, False)
    versions = [view.version("active" if view.candidate is None else view.candidate), view.version("active")]
    rankings = [space.asker.answer(view, version, question)[0].tolist() for version in versions]
    deep = duels.interleave(versions[0].number, rankings[0], 0, rankings[1], depth * k, rng)
    some = sorted(np.argsort([team < 0 for team in deep.teams], kind="stable")[:k].tolist())  # the first five pairs
    duel = replace(deep, ids=[deep.ids[i] for i in some], teams=[deep.teams[i] for i in some])
    duel = duel if depth > 1 else duels.interleave(versions[0].number, rankings[0], 0, rankings[1], k, rng)
    space.submit(duels.open_duel, "a", duel, query, None).result()
    return duel, rankings[1][:k]


def proposed(space: Space, X: np.ndarray, y: np.ndarray, test: np.ndarray) -> dict[str, float]:
    """What two learners gain from the same clicks."""
    with space.store.reading() as db:
        clicked = evidence.gather(db, space.collection("a"), space.seq)
        metrics = {name: learning.learn(name, clicked) for name in ("auto", "gmml")}
    gains = across.gains(X, y, test, {name: (M.transform(X), M.transform) for name, M in metrics.items()})
    return {name: gains[name] for name in metrics}


if __name__ == "__main__":
    sys.exit(main())
