"""For new queries: what the clicks of earlier ones teach, and whether duels let only gains through."""

from typing import Any

import numpy as np

from benchmarks.harness import remembered
from benchmarks.report import PICTURES
from benchmarks.serve import people, tasks
from gramian.learners import AutoMetric, anchored, auto_metric, gmml, held_out, trials
from gramian.service import Space, duels, evidence, learning, wealth

TITLE = "New queries"
NOTES = """
People visit one after the other and judge 10 results each, on queries of half of the classes, 1,000 clicks in all, some
of them wrong. As soon as there are 30 clicks the service learns a candidate, and again whenever the clicks have grown
by 30% and none leads; from then on every visit is a duel, and a candidate is adopted or dropped by itself. Afterwards:
share of right ones among the 10 best, without a click, for queries nobody asked before, of the classes that people
clicked in (*same*) and of classes that nobody clicked in (*new*; with few classes there are none apart).
**delivered / possible** is the gain over plain features of what the service then *uses* by the gain of *AutoMetric*
(by distance) on all clicks so far, for *same*; it is left out where AutoMetric gains less than its standard error,
and in the rows *mean* it is the ratio of the mean gains, ± its standard error over tasks and people drawn with
replacement. *proposed* is what the learner of the service learns from all clicks, in use or not. Gains are means over
so many *people* (seeds), ± their standard error. Tasks marked * were used to choose constants; those marked † are made
of data that come with scikit-learn, those marked ‡ of packages of registries (`python -m benchmarks.serve.outside`);
both are *other tasks*, as far as they are not of the ten.
"""
VISITS, TESTED, RESULTS = 100, 300, 10
LOOKS = (30, 100)
"""Visits after which one looks at the questions nobody asked."""
WRONG = (0.05, 0.1)
SEEDS = (2, 3, 4)
"""People of a task: other queries, classes, mistakes and coins."""
NAMES = ("in use", "proposed", "AutoMetric")
Row = dict[str, Any]
Look = dict[str, Any]
"""What one person's space is worth after some clicks: mean gains by side and name, and how they came."""


def run(quick: bool = False) -> list[Row]:
    """Rows for each task, share of wrong clicks and number of clicks."""
    names = tasks.names()[:1] if quick else tasks.names()
    seeds, visits = (SEEDS[:1], 30) if quick else (SEEDS, VISITS)
    looks = [(wrong, name, course(name, wrong, seed, visits)) for wrong in WRONG for name in names for seed in seeds]
    found: dict[tuple[float, str, int], list[Look]] = {}
    for wrong, name, some in looks:
        for look in some:
            found.setdefault((wrong, name, look["clicks"]), []).append(look)
    rows = [row(name, wrong, clicks, people) for (wrong, name, clicks), people in found.items()] + means(found)
    if not quick:
        draw(rows)
    return rows


def course(name: str, wrong: float, seed: int, visits: int) -> list[Look]:
    """All looks at one space, computed once for the same code."""
    code = [learning, duels, wealth, evidence, tasks, auto_metric, trials, held_out, anchored, gmml]
    key = (*(module.__file__ for module in code), __file__, name, wrong, seed, visits)
    return remembered("serve_across", key, lambda: played(name, wrong, seed, visits))


def played(name: str, wrong: float, seed: int, visits: int) -> list[Look]:
    """One task: people, and now and then the questions nobody asked."""
    X, y = tasks.task(name)
    rng = np.random.default_rng(seed)
    asked, sides = split(y, visits, rng)
    looks = []
    with people.opened(X) as space, people.drawn(rng.spawn(1)[0]):
        for number, query in enumerate(asked.tolist(), 1):
            learn_when_due(space)
            one_visit(space, y, query, wrong, rng)
            if number in LOOKS:
                metrics, look = compared(space, X), standing(space)
                for side, test in sides.items():
                    look[side] = gains(X, y, test, metrics)
                looks.append(look)
    return looks


def row(name: str, wrong: float, clicks: int, looks: list[Look]) -> Row:
    """What people of one task got."""
    found: Row = {"delivered / possible": ratio(looks), "task": tasks.marked(name), "wrong clicks": wrong}
    found |= {"clicks": clicks, "people": len(looks), "adopted": adopted(looks)}
    for side in ("same", "new"):
        if side in looks[0]:
            found[f"{side}: plain"] = float(np.mean([look[side]["plain"] for look in looks]))
            found |= {f"{side}: {key}": told([look[side][key] for look in looks]) for key in NAMES}
    return found


def told(values: list[float]) -> str:
    """A mean gain with its standard error over people."""
    error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
    return f"{np.mean(values):+.3f} ± {error:.3f}"


def adopted(looks: list[Look]) -> str:
    """Adoptions of each person."""
    return " ".join(str(look["adopted"]) for look in looks)


def delivered(looks: list[Look]) -> tuple[float, float]:
    """Mean gains for the same classes, of what is in use and of AutoMetric."""
    return tuple(float(np.mean([look["same"][key] for look in looks])) for key in ("in use", "AutoMetric"))


def ratio(looks: list[Look]) -> float | None:
    """The gain of what is in use by that of AutoMetric; None where that is not clear of zero."""
    got, possible = delivered(looks)
    values = [look["same"]["AutoMetric"] for look in looks]
    error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
    return round(got / possible, 2) if possible > max(error, 0.003) else None


def means(found: dict[tuple[float, str, int], list[Look]]) -> list[Row]:
    """Rows for each share of wrong clicks and number of clicks: the ten tasks, and the others."""
    rows = []
    for wrong, clicks in sorted({(wrong, clicks) for wrong, _, clicks in found}):
        for word, names in (("mean of ten tasks", tasks.TEN), ("mean of other tasks", tasks.OTHERS)):
            groups = [found[wrong, name, clicks] for name in names if (wrong, name, clicks) in found]
            if groups:
                rows.append(mean_row(word, wrong, clicks, groups))
    return rows


def mean_row(word: str, wrong: float, clicks: int, groups: list[list[Look]]) -> Row:
    """The ratio of mean gains over tasks, with its standard error by drawing tasks and people again."""
    sums = np.array([[delivered([look]) for look in looks] for looks in groups])  # (tasks, people, 2)
    rng, draws = np.random.default_rng(0), []
    for _ in range(2000):
        some = sums[rng.integers(len(sums), size=len(sums))]
        whose = rng.integers(sums.shape[1], size=some.shape[:2])
        got, possible = np.take_along_axis(some, whose[..., None], axis=1).mean(axis=(0, 1))
        draws.append(got / possible)
    got, possible = sums.mean(axis=(0, 1))
    text = f"{got / possible:.2f} ± {np.std(draws):.2f}"
    first: Row = {"delivered / possible": text, "task": word, "wrong clicks": wrong, "clicks": clicks}
    rest = {f"same: {key}": f"{np.mean([[look['same'][key] for look in g] for g in groups]):+.3f}" for key in NAMES}
    return first | {"people": sums.shape[0] * sums.shape[1]} | rest


def split(y: np.ndarray, visits: int, rng: np.random.Generator) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Queries of half of the classes for the people, and others of the same and of new classes to judge by."""
    classes = rng.permutation(np.unique(y))
    taught = classes[: (len(classes) + 1) // 2] if len(classes) > 3 else classes
    asked = rng.permutation(np.flatnonzero(np.isin(y, taught)))[:visits]
    rest = rng.permutation(np.setdiff1d(np.arange(len(y)), asked))
    known = np.isin(y[rest], taught)
    sides = {"same": rest[known][:TESTED], "new": rest[~known][:TESTED]}
    return asked, {side: test for side, test in sides.items() if len(test)}


def learn_when_due(space: Space) -> None:
    """What the background does, at a moment that does not depend on the machine."""
    if space.teacher.due(space.collection("a")):
        space.learn("a")


def one_visit(space: Space, y: np.ndarray, query: int, wrong: float, rng: np.random.Generator) -> None:
    """Ten results, ten clicks."""
    found = space.query("a", id=query, k=10, duel=True)
    for item in found["ids"]:
        like = bool((y[item] == y[query]) != (rng.random() < wrong))
        space.feedback("a", query, item, like, duel_id=found["duel_id"])


def standing(space: Space) -> Look:
    """Clicks so far, and how many candidates were adopted."""
    clicks = sum(not click["undone"] for click in space.clicks("a", limit=10**6))
    return {"clicks": clicks, "adopted": sum(v["status"] == "adopted" for v in space.versions("a")["versions"][1:])}


def compared(space: Space, X: np.ndarray) -> dict[str, Any]:
    """Maps of items and of queries by name: what is in use, and what could be."""
    view = space.collection("a")
    with space.store.reading() as db:
        clicked = evidence.gather(db, view, space.seq)
        proposed = learning.learn("auto", clicked)
        left, right, liked, _ = clicked.pairs()
    auto = AutoMetric(normalize=False, random_state=0).fit(np.stack([left, right], axis=1), np.where(liked, 1, -1))
    found = {"in use": view.version("active").metric, "proposed": proposed, "AutoMetric": auto.metric_}
    return {name: (metric.transform(X), metric.transform) for name, metric in found.items()}


def gains(X: np.ndarray, y: np.ndarray, test: np.ndarray, maps: dict[str, Any]) -> dict[str, float]:
    """Precision of plain features and what each metric adds to it."""
    plain = float(precision(X, X[test], y, test).mean())
    found = {name: float(precision(Z, transform(X[test]), y, test).mean()) for name, (Z, transform) in maps.items()}
    return {"plain": plain, **{name: value - plain for name, value in found.items()}}


def precision(Z: np.ndarray, Q: np.ndarray, y: np.ndarray, test: np.ndarray) -> np.ndarray:
    """Share of right ones among the ten items nearest to each query, without itself."""
    norms = (Z**2).sum(axis=1)
    D = norms[None] - 2 * Q @ Z.T
    D[np.arange(len(test)), test] = np.inf
    near = np.argpartition(D, RESULTS, axis=1)[:, :RESULTS]
    return (y[near] == y[test][:, None]).mean(axis=1)


def draw(rows: list[Row]) -> None:
    """For each share of wrong clicks a picture with a panel for each task: gains by clicks, with standard errors."""
    for wrong in WRONG:
        chosen = [one for one in rows if one["wrong clicks"] == wrong and not one["task"].startswith("mean")]
        panels = list(dict.fromkeys(one["task"] for one in chosen))
        _draw_one({task: [one for one in chosen if one["task"] == task] for task in panels}, wrong)


def _draw_one(panels: dict[str, list[Row]], wrong: float) -> None:
    import matplotlib.pyplot as plt

    lines = (len(panels) + 3) // 4
    figure, axes = plt.subplots(lines, 4, figsize=(14, 2.9 * lines + 0.6), sharex=True)
    colors = {"in use": "black", "proposed": "tab:blue", "AutoMetric": "tab:orange"}
    for ax, (task, rows) in zip(axes.flat, panels.items()):
        clicks = np.array([row["clicks"] for row in rows])
        for shift, (name, color) in enumerate(colors.items()):
            for side, line in (("same", "-"), ("new", ":")):
                parts = [row[f"{side}: {name}"].split(" ± ") for row in rows if f"{side}: {name}" in row]
                if parts:
                    values, errors = ([float(part[i]) for part in parts] for i in (0, 1))
                    style = {"color": color, "ls": line, "lw": 2.2 if name == "in use" else 1.1, "capsize": 2}
                    ax.errorbar(clicks + 8 * shift, values, yerr=errors, label=f"{name}, {side} classes", **style)
        ax.axhline(0, color="gray", lw=0.7)
        ax.set_title(task, fontsize=10)
    for ax in axes[:, 0]:
        ax.set_ylabel("gain in the share of right ones")
    for ax in axes[-1]:
        ax.set_xlabel("clicks of other queries")
    handles, labels = max((ax.get_legend_handles_labels() for ax in axes.flat), key=lambda found: len(found[1]))
    figure.legend(handles, labels, loc="lower center", ncol=len(labels), frameon=False, fontsize=9)
    figure.suptitle(f"New queries, {wrong:.0%} wrong clicks")
    for ax in list(axes.flat)[len(panels) :]:
        ax.set_axis_off()
    figure.tight_layout(rect=(0, 0.04, 1, 1))
    figure.savefig(PICTURES / f"serve_across_{round(100 * wrong)}.png", dpi=100)
    plt.close(figure)
