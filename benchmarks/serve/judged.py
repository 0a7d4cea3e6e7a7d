"""A cold start: what a space learns from 200 judgments, for queries that nobody judged."""

from collections.abc import Callable
from typing import Any

import numpy as np

import gramian as gm
from benchmarks.harness import data_folder, remembered
from benchmarks.retrieval import rivals
from benchmarks.serve import people
from gramian.learners import auto_metric, query_adapter, retrieval, trials
from gramian.service import evidence, judgments, learning

TITLE = "200 judgments before any click"
NOTES = """
7,000 programs of Debian, MiniLM vectors: short descriptions ask for long ones. A judge grades the ten that the plain
search finds for each of 20 queries, 1 or 0, by one *meaning*: the two programs have the same use (17 of them), stand in
the same section (35), or the text is the program's own. `Space.judge` takes the 200 grades, and the learner of the
service proposes a metric, which in a service would then have to win. Asked are 500 other queries; P@10 is the share
of the ten best that are right (without the program's own text for the first two meanings), MRR the mean of one by the
place of the first right one. *gain* is the mean over 5 draws of the judged queries ± its standard error over them;
± of *plain* is the error over the queries. *service* is `auto`, as `gramian serve` has it, *gmml* its closed form;
beside them what else one can do with the grades: *QueryAdapter* on the likes, with the dislikes as hard negatives
(held-out queries decide, so that 20 mostly leave it as it is), and a linear adapter of the query on the likes in thirty
lines, tuned on a held-out fifth. *wrong* is the share of grades that say the contrary. Nothing was chosen on these
queries.
"""
QUERIES, DEPTH, ASKED, DRAWS = 20, 10, 500, 5
MEANINGS = ("same use", "same section", "own text")
WRONG = (0.0, 0.1)
Maps = tuple[np.ndarray, np.ndarray]
"""Queries and documents, mapped: the nearest are the best."""


def run(quick: bool = False) -> list[dict[str, Any]]:
    """A row for each meaning, share of wrong grades and method."""
    draws = 1 if quick else DRAWS
    return [row for meaning in MEANINGS for wrong in WRONG for row in rows(meaning, wrong, draws)]


def rows(meaning: str, wrong: float, draws: int) -> list[dict[str, Any]]:
    """Means over draws, the plain search first."""
    parts = [drawn(meaning, wrong, draw) for draw in range(draws)]
    plain = parts[0]["plain"]
    head = {"meaning": meaning, "wrong": wrong}
    listed = [{**head, "method": "plain", "P@10": told(plain[:2]), "MRR": told(plain[2:])}]
    for method in METHODS:
        gains = np.array([part[method] for part in parts])  # (draws, 2)
        errors = gains.std(axis=0, ddof=1) / np.sqrt(len(gains)) if len(gains) > 1 else np.full(2, np.nan)
        cells = [told((mean, error), "+.4f") for mean, error in zip(gains.mean(axis=0), errors)]
        worst = {"worst draw, P@10": f"{gains[:, 0].min():+.4f}", "worst draw, MRR": f"{gains[:, 1].min():+.4f}"}
        listed.append({**head, "method": method, "P@10": cells[0], "MRR": cells[1], **worst})
    return listed


def told(pair: Any, form: str = ".4f") -> str:
    """A mean and its error."""
    return f"{pair[0]:{form}} ± {pair[1]:.4f}"


def drawn(meaning: str, wrong: float, draw: int) -> dict[str, list[float]]:
    """Gains in P@10 and MRR by method, and the two of the plain search with their errors; kept for the same code."""
    code = [judgments, evidence, learning, auto_metric, trials, query_adapter, retrieval, rivals]
    key = (*(module.__file__ for module in code), __file__, meaning, wrong, draw)
    return remembered("serve_judged", key, lambda: measured(meaning, wrong, draw))


def measured(meaning: str, wrong: float, draw: int) -> dict[str, list[float]]:
    """One draw of judged queries."""
    Q, D, kind = task(meaning)
    order = np.random.default_rng(2026).permutation(np.flatnonzero(kind >= 0))
    asked, pool = order[:ASKED], order[ASKED:]
    rng = np.random.default_rng([draw, 50])
    judged = rng.choice(pool, QUERIES, replace=False)
    own = meaning == "own text"
    top = np.argsort(sqdists((Q, D), judged, kind, own), axis=1, kind="stable")[:, :DEPTH]
    grades = kind[top] == kind[judged][:, None]
    grades = np.where(rng.random(grades.shape) < wrong, ~grades, grades)
    before = scores((Q, D), asked, kind, own)
    size = np.sqrt(len(asked))
    found = {"plain": [v for row in before for v in (float(row.mean()), float(row.std(ddof=1) / size))]}
    for name, method in METHODS.items():
        after = scores(method(Q, D, judged, top, grades), asked, kind, own)
        found[name] = (after - before).mean(axis=1).tolist()
    return found


def task(meaning: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Queries and documents of length one, and what each is of; −1 where nobody knows."""
    stored = np.load(data_folder() / "debian_minilm.npz")
    Q, D = (rivals.unit(stored[name].astype(np.float32)) for name in ("Q", "D"))
    return Q, D, np.arange(len(D)) if meaning == "own text" else stored[meaning.split()[1]].astype(int)


def sqdists(maps: Maps, rows: np.ndarray, kind: np.ndarray, own: bool) -> np.ndarray:
    """Squared distances (m, n), up to |z|², to documents; infinite where the kind is not known."""
    Z, W = maps
    sqdist = (W**2).sum(axis=1) - 2 * Z[rows] @ W.T
    sqdist[:, kind < 0] = np.inf
    if not own:
        sqdist[np.arange(len(rows)), rows] = np.inf
    return sqdist


def scores(maps: Maps, asked: np.ndarray, kind: np.ndarray, own: bool) -> np.ndarray:
    """P@10 and one by the place of the first right one, (2, asked)."""
    parts = []
    for block in np.array_split(asked, 4):
        sqdist = sqdists(maps, block, kind, own)
        right = kind == kind[block][:, None]  # (m, n)
        best = np.where(right, sqdist, np.inf).min(axis=1)
        place = 1 + (sqdist < best[:, None]).sum(axis=1)
        ten = np.argpartition(sqdist, DEPTH, axis=1)[:, :DEPTH]
        precision = np.take_along_axis(right, ten, axis=1).mean(axis=1)
        parts.append(np.stack([precision, np.where(np.isfinite(best), 1 / place, 0.0)]))
    return np.concatenate(parts, axis=1)


def by_space(learner: str) -> Callable[..., Maps]:
    """What a space learns from the judgments."""

    def method(Q: np.ndarray, D: np.ndarray, judged: np.ndarray, top: np.ndarray, grades: np.ndarray) -> Maps:
        with people.opened(D) as space:
            space.judge("a", np.repeat(Q[judged], DEPTH, axis=0), top.ravel(), grades.ravel().astype(float))
            number = space.learn("a", learner)["version"]
            metric = space.collection("a").version(number).metric
        return metric.transform(Q).astype(np.float32), metric.transform(D).astype(np.float32)

    return method


def by_adapter(Q: np.ndarray, D: np.ndarray, judged: np.ndarray, top: np.ndarray, grades: np.ndarray) -> Maps:
    """QueryAdapter on the likes, with the dislikes as hard negatives."""
    likes, dislikes = (np.column_stack([np.nonzero(some)[0], top[some]]) for some in (grades, ~grades))
    adapter = gm.QueryAdapter(random_state=0).fit(Q[judged], D, likes, hard=dislikes)
    return rivals.unit(np.asarray(adapter.transform_queries(Q))), D


def by_thirty_lines(Q: np.ndarray, D: np.ndarray, judged: np.ndarray, top: np.ndarray, grades: np.ndarray) -> Maps:
    """A tuned linear adapter of the query on the likes."""
    W = rivals.tuned(Q[judged[np.nonzero(grades)[0]]], D[top[grades]], False, 0)
    return rivals.mapped(W, Q, D, False)


METHODS: dict[str, Callable[..., Maps]] = {
    "service": by_space("auto"),
    "gmml": by_space("gmml"),
    "QueryAdapter": by_adapter,
    "linear adapter, tuned": by_thirty_lines,
}
