"""Within one query: how many of the next results are right after 5, 10 and 20 clicks."""

from typing import Any

import numpy as np

from benchmarks.harness import peer_python, run_peer
from benchmarks.report import PICTURES
from benchmarks.serve import people, tasks

TITLE = "Within one query"
NOTES = """
Share of right ones among the 20 best results that were not yet clicked, mean over queries, after 5 / 10 / 20 clicks
(the 5 best, the next 5, 10 more, ranked anew in between). *service* is the query model of `gramian serve` with its
constants as they are; of each rival the best of its settings on 40 other queries of the same task is taken, also
with the wrong clicks. *best rival* is the one with the highest mean over the three columns. Standard errors are those
of the difference between service and best rival over the queries, largest of the three. Tasks marked * were used to
choose the constants; the others were not looked at before. Rivals: no learning, Rocchio, 2·mean⁺ − mean⁻ (Qdrant's
average, FiftyOne), logistic regression on the clicks as in Lilac, the same with 100 random items as far ones, and
Qdrant's relevance feedback (naive strategy, local mode of its client; without wrong clicks only).
"""
QUERIES, TUNING = 100, 40
PEER = ("qdrant-client==1.*", "numpy")


def run(quick: bool = False) -> list[dict[str, Any]]:
    """A row for each task and share of wrong clicks."""
    names = [*tasks.CHOSEN_ON, *tasks.HELD_OUT]
    names = names[:2] if quick else names
    rows = [row(name, wrong, 10 if quick else QUERIES, quick) for name in names for wrong in (0.0, 0.1)]
    if not quick:
        draw(rows)
    return rows


def row(name: str, wrong: float, count: int, quick: bool) -> dict[str, Any]:
    """The service and its rivals on one task."""
    X, y = tasks.task(name)
    order = np.random.default_rng(1).permutation(len(X))
    test, tune = order[:count].tolist(), order[count : count + min(TUNING, count)].tolist()
    with people.opened(X) as space:
        ours = np.array([people.visit(people.by_space(space), y, q, wrong) for q in test])
    found = {kind: tuned(options, y, test, tune, wrong) for kind, options in rivals(X).items()}
    if wrong == 0 and not quick:
        found["qdrant feedback"] = qdrant(X, y, test, tune)
    best = max(found, key=lambda kind: found[kind][:, 1:].mean())
    gain = ours - found[best]
    error = gain.std(axis=0, ddof=1) / np.sqrt(len(gain))
    marked = f"{name} *" if name in tasks.CHOSEN_ON else name
    result = {"task": marked, "wrong clicks": wrong, "0 clicks": float(ours[:, 0].mean())}
    result |= {"service": _three(ours), "best rival": f"{best} {_three(found[best])}"}
    result |= {"difference": _three(gain, "+.3f"), "s.e.": float(error[1:].max())}
    return result | {kind: _three(scores) for kind, scores in found.items()}


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


def qdrant(X: np.ndarray, y: np.ndarray, test: list[int], tune: list[int]) -> np.ndarray:
    """Scores of Qdrant's own client, in an environment of its own."""
    from pathlib import Path

    python = peer_python("qdrant", PEER)
    codes = np.unique(y, return_inverse=True)[1]
    given = {
        "X": people.Points(X).Z,
        "y": codes,
        "test": test,
        "tune": tune,
        "visit": people.VISIT,
        "shown": people.SHOWN,
    }
    return np.array(run_peer(python, Path(__file__).parent / "peers" / "qdrant.py", given))


def _three(values: np.ndarray, form: str = ".3f") -> str:
    return " / ".join(format(float(v), form) for v in values[:, 1:].mean(axis=0))


def draw(rows: list[dict[str, Any]]) -> None:
    """Difference to the best rival by task, for clean and for wrong clicks."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(11, 6), sharey=True)
    for ax, wrong in zip(axes, (0.0, 0.1)):
        chosen = [row for row in rows if row["wrong clicks"] == wrong]
        places = np.arange(len(chosen))
        for shift, clicks in enumerate(("5", "10", "20")):
            values = [float(row["difference"].split(" / ")[shift]) for row in chosen]
            errors = [row["s.e."] for row in chosen]
            ax.errorbar(values, places + 0.2 * (shift - 1), xerr=errors, fmt="o", label=f"{clicks} clicks")
        ax.set_yticks(places, [row["task"] for row in chosen])
        ax.axvline(0, color="gray", lw=0.8)
        ax.set_title(f"{wrong:.0%} wrong clicks")
        ax.set_xlabel("share of right results: service − best rival")
    axes[0].invert_yaxis()
    axes[0].legend()
    figure.tight_layout()
    figure.savefig(PICTURES / "serve_within.png", dpi=110)
    plt.close(figure)
