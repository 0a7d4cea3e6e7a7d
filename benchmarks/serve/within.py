"""Within one query: what five, ten and twenty clicks on its results are worth, against rivals."""

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import peer_python, remembered, run_peer
from benchmarks.report import PICTURES
from benchmarks.serve import people, tasks
from gramian.service import query_model

TITLE = "Within one query"
NOTES = """
Share of right ones among the 20 best results that were not yet clicked, mean over queries, after 5 / 10 / 20 clicks
(the 5 best, the next 5, 10 more, ranked anew in between). *service* is the query model of `gramian serve` with its
constants as they are; of each rival the best of its settings on other queries of the same task is taken, also
with the wrong clicks. *best rival* is the one with the highest mean over the three columns. Standard errors are those
of the difference between service and best rival over the queries, largest of the three. None of these tasks was
used to choose the constants of the query model, which `python -m benchmarks.serve.choosing` compares on other data;
they were compared there once more after a first run of this study. Rivals: no learning, Rocchio (a linear adapter of
the query, fitted to the clicks of this query alone, is Rocchio without dislikes), 2·mean⁺ − mean⁻ (Qdrant's average,
FiftyOne), logistic regression on the clicks as in Lilac, the same with 100 random items as far ones, and Qdrant's
relevance feedback (naive strategy, local mode of its client, strength tuned).
"""
TASKS = ("mnist", "coil", "faces by pose", "digits by parity", "news, sentence encoder", "yeast")
"""Six of the tasks, of each kind one: a visit with all rivals takes long."""
QUERIES, TUNING = 40, 10
QDRANT = Path(__file__).parent / "peers" / "qdrant.py"
PEER = ("qdrant-client==1.*", "numpy")
CLICKS = (0, 5, 10, 20)
Scores = dict[str, np.ndarray]
"""Shares (queries, 4) of right ones by method."""


def run(quick: bool = False) -> list[dict[str, Any]]:
    """A row for each task and share of wrong clicks."""
    names = TASKS[:2] if quick else TASKS
    rows = []
    for wrong in (0.0, 0.1):
        found = {name: scores(name, wrong, 10 if quick else QUERIES) for name in names}
        rows += [row(name, wrong, found[name]) for name in names]
        if not quick:
            draw(found, wrong)
    return rows


def scores(name: str, wrong: float, count: int) -> Scores:
    """The service and its rivals on one task, each computed once for the same code."""
    task = (people.__file__, tasks.__file__, name, wrong, count)
    own = (query_model.__file__, *task)
    ours = remembered("serve_within", own, lambda: by_service(name, wrong, count))
    others = remembered("serve_rivals", (QDRANT, *task), lambda: by_rivals(name, wrong, count))
    return {kind: np.array(values) for kind, values in {"service": ours, **others}.items()}


def asked(n: int, count: int) -> tuple[list[int], list[int]]:
    """Queries to judge by, and others to choose the settings of rivals."""
    order = np.random.default_rng(1).permutation(n)
    return order[:count].tolist(), order[count : count + min(TUNING, count)].tolist()


def by_service(name: str, wrong: float, count: int) -> list[list[float]]:
    """Shares of right ones by the query model."""
    X, y = tasks.task(name)
    with people.opened(X) as space:
        rank = people.by_space(space)
        return [people.visit(rank, y, query, wrong) for query in asked(len(X), count)[0]]


def by_rivals(name: str, wrong: float, count: int) -> dict[str, Any]:
    """Shares of right ones by each rival."""
    X, y = tasks.task(name)
    test, tune = asked(len(X), count)
    found = {kind: tuned(options, y, test, tune, wrong) for kind, options in rivals(X).items()}
    found["qdrant feedback"] = qdrant(X, y, test, tune, wrong)
    return {kind: values.tolist() for kind, values in found.items()}


def row(name: str, wrong: float, found: Scores) -> dict[str, Any]:
    """One line of the table."""
    ours = found["service"]
    found = {kind: values for kind, values in found.items() if kind != "service"}
    best = max(found, key=lambda kind: found[kind][:, 1:].mean())
    gain = ours - found[best]
    error = gain.std(axis=0, ddof=1) / np.sqrt(len(gain))
    result = {"task": name, "wrong clicks": wrong, "0 clicks": float(ours[:, 0].mean())}
    result |= {"service": _three(ours), "best rival": f"{best} {_three(found[best])}"}
    result |= {"difference": _three(gain, "+.3f"), "s.e.": float(error[1:].max())}
    return result | {kind: _three(values) for kind, values in found.items()}


def rivals(X: np.ndarray) -> dict[str, list[people.Method]]:
    """Settings of every rival."""
    points = people.Points(X)
    weights = [(1, 1, 0.5), (1, 0.75, 0.15), (0.3, 1, 0.7), (1, 2, 1)]
    return {
        "nothing": [people.nothing(points)],
        "rocchio": [people.rocchio(points, *w) for w in weights],
        "two means": [people.two_means(points)],
        "logistic": [people.logistic(points, C, 0) for C in (1.0, 10.0, 100.0)],
        "logistic + random": [people.logistic(points, C, 100) for C in (1.0, 10.0, 100.0)],
    }


def tuned(options: list[people.Method], y: np.ndarray, test: list[int], tune: list[int], wrong: float) -> np.ndarray:
    """Scores (queries, 4) of the setting that is best on the other queries."""
    ranked = [people.by_score(method) for method in options]
    if len(ranked) > 1:
        means = [np.mean([people.visit(rank, y, q, wrong)[1:] for q in tune]) for rank in ranked]
        ranked = [ranked[int(np.argmax(means))]]
    return np.array([people.visit(ranked[0], y, q, wrong) for q in test])


def qdrant(X: np.ndarray, y: np.ndarray, test: list[int], tune: list[int], wrong: float) -> np.ndarray:
    """Scores of Qdrant's own client, in an environment of its own."""
    python = peer_python("qdrant", PEER)
    codes = np.unique(y, return_inverse=True)[1]
    given = {"X": people.Points(X).Z, "y": codes, "test": test, "tune": tune, "wrong": wrong}
    given |= {"visit": people.VISIT, "shown": people.SHOWN}
    return np.array(run_peer(python, QDRANT, given))


def _three(values: np.ndarray, form: str = ".3f") -> str:
    return " / ".join(format(float(v), form) for v in values[:, 1:].mean(axis=0))


def draw(found: dict[str, Scores], wrong: float) -> None:
    """A panel for each task: share of right ones by clicks, with standard errors."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, (len(found) + 1) // 2, figsize=(14, 6.2), sharex=True)
    for ax, (name, methods) in zip(axes.flat, found.items()):
        for shift, (kind, values) in enumerate(methods.items()):
            error = values.std(axis=0, ddof=1) / np.sqrt(len(values))
            style = {"lw": 2.4, "color": "black"} if kind == "service" else {"lw": 1.0}
            places = np.array(CLICKS) + 0.15 * (shift - 3)
            ax.errorbar(places, values.mean(axis=0), yerr=error, label=kind, capsize=2, elinewidth=0.7, **style)
        ax.set_title(name, fontsize=10)
        ax.set_xticks(CLICKS)
    for ax in axes[:, 0]:
        ax.set_ylabel("share of right results")
    for ax in axes[-1]:
        ax.set_xlabel("clicks")
    handles, labels = axes.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncol=len(labels), frameon=False)
    figure.suptitle(f"Within one query, {wrong:.0%} wrong clicks")
    figure.tight_layout(rect=(0, 0.05, 1, 1))
    figure.savefig(PICTURES / f"serve_within_{round(100 * wrong)}.png", dpi=100)
    plt.close(figure)
