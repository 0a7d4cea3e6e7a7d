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
and in the rows *mean* it is the ratio of the mean gains. *proposed* is what the learner of the service learns from all
clicks, in use or not. ± is the standard error over the queries. Tasks marked * were used to choose constants; those
marked † are made of data that come with scikit-learn.
"""
VISITS, TESTED, RESULTS = 100, 300, 10
LOOKS = (30, 100)
"""Visits after which one looks at the questions nobody asked."""
WRONG = (0.05, 0.1)


def run(quick: bool = False) -> list[dict[str, Any]]:
    """Rows for each task, share of wrong clicks and number of clicks."""
    names = tasks.names()[:1] if quick else tasks.names()
    rows = [row for wrong in WRONG for name in names for row in course(name, wrong, 30 if quick else VISITS)]
    rows = [*rows, *means(rows)]
    if not quick:
        draw(rows)
    return rows


def course(name: str, wrong: float, visits: int) -> list[dict[str, Any]]:
    """All looks at one task, computed once for the same code."""
    code = [learning, duels, wealth, evidence, tasks, auto_metric, trials, held_out, anchored, gmml]
    key = (*(module.__file__ for module in code), __file__, name, wrong, visits)
    return remembered("serve_across", key, lambda: played(name, wrong, visits))


def played(name: str, wrong: float, visits: int) -> list[dict[str, Any]]:
    """One task: people, and now and then the questions nobody asked."""
    X, y = tasks.task(name)
    rng = np.random.default_rng(2)
    asked, sides = split(y, visits, rng)
    rows = []
    with people.opened(X) as space:
        for number, query in enumerate(asked.tolist(), 1):
            learn_when_due(space)
            one_visit(space, y, query, wrong, rng)
            if number in LOOKS:
                metrics, row = compared(space, X), {"task": tasks.marked(name), "wrong clicks": wrong}
                row |= standing(space)
                for side, test in sides.items():
                    row |= gains(side, X, y, test, metrics)
                rows.append({"delivered / possible": ratio([row]), **row})
    return rows


def number(text: str) -> tuple[float, float]:
    """A gain and its error."""
    mean, _, error = text.partition(" ± ")
    return float(mean), float(error or 0)


def ratio(rows: list[dict[str, Any]]) -> float | None:
    """The gain of what is in use by that of AutoMetric, means over rows; None where that is not clear of zero."""
    possible = [number(row["same: AutoMetric"]) for row in rows]
    mean, error = np.mean([gain for gain, _ in possible]), np.sqrt(np.sum([e**2 for _, e in possible])) / len(rows)
    delivered = np.mean([number(row["same: in use"])[0] for row in rows])
    return round(float(delivered / mean), 2) if mean > error else None


def means(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A row for each share of wrong clicks and number of clicks."""
    found = []
    for wrong, clicks in sorted({(row["wrong clicks"], row["clicks"]) for row in rows}):
        some = [row for row in rows if (row["wrong clicks"], row["clicks"]) == (wrong, clicks)]
        row = {"delivered / possible": ratio(some), "task": "mean", "wrong clicks": wrong, "clicks": clicks}
        for column in ("in use", "proposed", "AutoMetric"):
            row[f"same: {column}"] = f"{np.mean([number(one[f'same: {column}'])[0] for one in some]):+.3f}"
        found.append(row)
    return found


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


def standing(space: Space) -> dict[str, Any]:
    """Clicks so far, and what became of the candidates."""
    listed = space.versions("a")["versions"]
    statuses = [version["status"] for version in listed[1:]]
    told = ", ".join(f"{statuses.count(word)} {word}" for word in dict.fromkeys(statuses))
    clicks = sum(not click["undone"] for click in space.clicks("a", limit=10**6))
    return {"clicks": clicks, "candidates": told or "none"}


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


def gains(side: str, X: np.ndarray, y: np.ndarray, test: np.ndarray, maps: dict[str, Any]) -> dict[str, Any]:
    """Precision of plain features and what each metric, and the adapter, adds to it."""
    plain = precision(X, X[test], y, test)
    found: dict[str, Any] = {f"{side}: plain": float(plain.mean())}
    for name, (Z, transform) in maps.items():
        found[f"{side}: {name}"] = _gain(precision(Z, transform(X[test]), y, test) - plain)
    return found


def _gain(differences: np.ndarray) -> str:
    error = differences.std(ddof=1) / np.sqrt(len(differences))
    return f"{differences.mean():+.3f} ± {error:.3f}"


def precision(Z: np.ndarray, Q: np.ndarray, y: np.ndarray, test: np.ndarray) -> np.ndarray:
    """Share of right ones among the ten items nearest to each query, without itself."""
    norms = (Z**2).sum(axis=1)
    D = norms[None] - 2 * Q @ Z.T
    D[np.arange(len(test)), test] = np.inf
    near = np.argpartition(D, RESULTS, axis=1)[:, :RESULTS]
    return (y[near] == y[test][:, None]).mean(axis=1)


def draw(rows: list[dict[str, Any]]) -> None:
    """For each share of wrong clicks a picture with a panel for each task: gains by clicks, with standard errors."""
    for wrong in WRONG:
        chosen = [row for row in rows if row["wrong clicks"] == wrong and row["task"] != "mean"]
        panels = list(dict.fromkeys(row["task"] for row in chosen))
        _draw_one({task: [row for row in chosen if row["task"] == task] for task in panels}, wrong)


def _draw_one(panels: dict[str, list[dict[str, Any]]], wrong: float) -> None:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, (len(panels) + 1) // 2, figsize=(14, 6.2), sharex=True)
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
    figure.tight_layout(rect=(0, 0.05, 1, 1))
    figure.savefig(PICTURES / f"serve_across_{round(100 * wrong)}.png", dpi=100)
    plt.close(figure)
