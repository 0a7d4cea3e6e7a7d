"""How one size of the benchmark of large searches is measured, by ours and by others."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

import gramian as gm
from benchmarks import harness
from benchmarks.speed import _search_rivals
from benchmarks.speed._patches import patches
from benchmarks.speed._search_methods import GRAPHS, metrics
from benchmarks.speed._search_rivals import K
from gramian.search.cell_candidates import cell_scores, for_list
from gramian.search.hash_search import HashSearch
from gramian.search.orders import EPSILON

ENOUGH = 0.99
PEERS = ("faiss IVFFlat", "faiss IVF-RaBitQ fast scan + refine", "hnswlib", "usearch")
BEAMED = 100_000
"""Points up to which usearch is built, and hnswlib for the sizes between: graphs take minutes beyond."""


@dataclass
class Points:
    """Items, mapped or in memory, and queries."""

    X: np.ndarray
    Q: np.ndarray
    mapped: bool = False

    def __post_init__(self) -> None:
        if not self.mapped:
            self.X = np.array(self.X)

    def true(self, metric: gm.Mahalanobis, k: int = K) -> np.ndarray:
        """Distances of the k nearest, (m, k), by a scan of blocks in single precision and their exact ranking."""
        V, best = metric.transform(self.Q).astype(np.float32), np.zeros((len(self.Q), 0), np.int64)
        values = np.zeros(best.shape, np.float32)
        for start in range(0, len(self.X), 1 << 18):
            U = metric.transform(self.X[start : start + (1 << 18)]).astype(np.float32)
            D = (U * U).sum(axis=1) - 2 * (V @ U.T)  # (m, block)
            near = np.argpartition(D, 2 * k, axis=1)[:, : 2 * k]
            best = np.hstack([best, start + near])
            values = np.hstack([values, np.take_along_axis(D, near, axis=1)])
            order = np.argsort(values, axis=1)[:, : 2 * k]
            best, values = np.take_along_axis(best, order, axis=1), np.take_along_axis(values, order, axis=1)
        return np.sort(self.distances(metric, best), axis=1)[:, :k]

    def distances(self, metric: gm.Mahalanobis, ids: np.ndarray) -> np.ndarray:
        """Exact distances of listed items, (m, k)."""
        flat = metric.pair_sqdist(
            self.X[ids.ravel()].astype(float), np.repeat(self.Q, ids.shape[1], axis=0).astype(float)
        )
        return flat.reshape(ids.shape)

    @cached_property
    def nearest(self) -> np.ndarray:
        """Distances of the ten nearest under the plain metric."""
        return self.true(metrics(self.X.shape[1])[0])

    def recall(self, ids: np.ndarray, metric: gm.Mahalanobis, true: np.ndarray) -> float:
        """Share of answers that are no farther than the true last neighbor; ties count."""
        inside = self.distances(metric, np.maximum(ids, 0)) <= true[:, -1:] * (1 + 1e-6)
        return float((inside & (ids >= 0)).mean())


def each(search: Callable, Q: np.ndarray, repeats: int = 5) -> tuple[float, np.ndarray]:
    """CPU time of a query, and the answers."""
    search(Q[:4])
    seconds, ids = harness.timed(lambda: search(Q), repeats, warmup=1)
    return seconds / len(Q), np.asarray(ids)


def cells(points: Points, case: str, repeat: int = 5) -> list[dict[str, Any]]:
    """The index with cells: as it is, under a new metric, and under one of condition 10⁴."""
    plain, other = metrics(points.X.shape[1])
    warm = np.array(points.X[:3000])
    gm.HashIndex(plain, cells=30, random_state=0).add(warm).with_metric(other).query(points.Q)  # compile
    build, index = harness.timed(lambda: gm.HashIndex(plain, random_state=0).add(points.X), repeats=1, warmup=0)
    rows = [row(points, case, "HashIndex", index, points.nearest, repeat) | {"build_s": build}]
    d = points.X.shape[1]
    steep = gm.Mahalanobis.from_matrix(np.diag(np.geomspace(1, 1e4, d)[np.random.default_rng(1).permutation(d)]))
    for name, metric in (("HashIndex, new metric", other), ("HashIndex, condition 10⁴", steep)):
        fresh, turned = harness.timed(lambda metric=metric: index.with_metric(metric), repeats=1, warmup=0)
        rows.append(row(points, case, name, turned, points.true(metric), repeat) | {"new_metric_s": fresh})
    rows[0]["new_metric_s"] = rows[1]["new_metric_s"]
    return rows


def row(points: Points, case: str, name: str, index: gm.HashIndex, true: np.ndarray, repeat: int) -> dict[str, Any]:
    """Time, recall and reads of an index with cells."""
    seconds, ids = each(lambda Q: index.query(Q, K)[0], points.Q, repeat)
    kept = index.n_bits_ / 8 + 8 + 4 * (index.n_cells_ > 0) + 8 * points.mapped
    found = {"case": case, "method": name, "setting": f"{index.n_cells_} cells", "cpu_s": seconds}
    found |= {"recall": points.recall(ids, index.metric, true), "queries_per_s": 1 / seconds}
    found |= {"bytes_per_item": kept + 4 * points.X.shape[1]}
    return found | (reads(points, index, true) if index.n_cells_ else {})


def reads(points: Points, index: gm.HashIndex, true: np.ndarray) -> dict[str, float]:
    """Cells that a query visits, items in them, and points that it compares, on average."""
    search = HashSearch(index, index._items, points.Q, None)
    candidates = search.candidates
    scores = cell_scores(candidates, search.asked, slice(0, len(points.Q)))  # (m, L)
    visited = scores <= for_list(candidates.reach, K) * np.sqrt(true[:, -1:])
    sizes = np.bincount(index._items["cells"], minlength=scores.shape[1])
    compared = float(index.compared(points.Q, K).mean())
    return {
        "cells_read": float(visited.sum(axis=1).mean()),
        "items_read": float((visited @ sizes).mean()),
        "compared": compared,
    }


def plain(points: Points, case: str) -> list[dict[str, Any]]:
    """The scan of all codes."""
    metric, other = metrics(points.X.shape[1])
    build, index = harness.timed(
        lambda: gm.HashIndex(metric, cells=None, random_state=0).add(points.X), repeats=1, warmup=0
    )
    found = row(points, case, "HashIndex, cells=None", index, points.nearest, 3) | {"build_s": build, "setting": "-"}
    return [found | {"new_metric_s": harness.cpu_time(lambda: index.with_metric(other), repeats=1, warmup=0)}]


def exact(points: Points, case: str) -> list[dict[str, Any]]:
    """ExactIndex, and the share of items that bounds of cells could not leave out."""
    metric, other = metrics(points.X.shape[1])
    build, index = harness.timed(lambda: gm.ExactIndex(metric).add(points.X), repeats=1, warmup=0)
    seconds, ids = each(lambda Q: index.query(Q, K)[0], points.Q, 3)
    first = {"case": case, "method": "ExactIndex", "cpu_s": seconds, "queries_per_s": 1 / seconds, "build_s": build}
    first |= {"recall": points.recall(ids, metric, points.nearest), "bytes_per_item": 4.0 * 2 * points.X.shape[1] + 8}
    first["new_metric_s"] = harness.cpu_time(lambda: index.with_metric(other), repeats=1, warmup=0)
    return [first, {"case": case, "method": "exact, cells", "items_read": left_over(points)}]


def left_over(points: Points, m: int = 50) -> float:
    """Items that neither the lengths around their centers nor the planes between centers rule out, on average."""
    metric = metrics(points.X.shape[1])[0]
    index = gm.HashIndex(metric, random_state=0).add(points.X)
    items = index._items
    search = HashSearch(index, items, points.Q[:m], None)
    own = search.candidates.asked(search.asked, slice(0, m))[3]  # (m, L)
    scores = cell_scores(search.candidates, search.asked, slice(0, m))
    lengths, labels, last = np.sqrt(items["sqnorms"]), items["cells"], np.sqrt(points.nearest[:m, -1])
    left = 0
    for q in range(m):
        inside = (scores[q] <= last[q])[labels]
        left += int((np.abs(np.sqrt(own[q])[labels] - lengths)[inside] <= last[q]).sum())
    return left / m


def rivals(d: int, n: int) -> list[str]:
    """Other engines that are measured at a size."""
    return [name for name in PEERS if name != "usearch" or n <= BEAMED]


def rival(points: Points, case: str, name: str) -> list[dict[str, Any]]:
    """Another engine at its first setting with enough recall."""
    (build, settings, size), (metric, other) = (
        _search_rivals.rivals(points.X.shape[1])[name],
        metrics(points.X.shape[1]),
    )
    seconds, index = harness.timed(lambda: build(points.X), repeats=1, warmup=0)
    found: dict[str, Any] = {}
    for label, prepare in settings:
        cost, ids = each(prepare(index), points.Q)
        found = {"setting": label, "recall": points.recall(ids.astype(np.int64), metric, points.nearest), "cpu_s": cost}
        if found["recall"] >= ENOUGH:
            break
    anew = lambda: build(other.transform(points.X).astype(np.float32))  # noqa: E731
    fresh = seconds if name in GRAPHS else harness.cpu_time(anew, repeats=1, warmup=0)
    found |= {"case": case, "method": name, "queries_per_s": 1 / found["cpu_s"], "build_s": seconds}
    return [found | {"bytes_per_item": size, "new_metric_s": fresh}]


def few() -> list[dict[str, Any]]:
    """Below 100,000 points: "auto" beside none, in turns."""
    rows = []
    for n in (1000, 10_000, 99_999):
        points = Points(*patches(n))
        metric = metrics(64)[0]
        both = [gm.HashIndex(metric, cells=cells, random_state=0).add(points.X) for cells in ("auto", None)]
        turns = np.array([[taken(one.query, points.Q, K) for one in both] for _ in range(15)])
        seconds = np.median(turns, axis=0) / len(points.Q)
        answers = [one.query(points.Q, K) for one in both]
        same = all(np.array_equal(a, b) for a, b in zip(*answers))
        for one, cost, name in zip(both, seconds, ('"auto"', "None")):
            found = {"case": f"few points, {n:,} × 64", "method": f"HashIndex, cells={name}", "cpu_s": cost}
            found |= {"recall": points.recall(one.query(points.Q, K)[0], metric, points.nearest)}
            rows.append(found | {"setting": "same answers" if same else "other answers", "ratio": cost / seconds[1]})
    return rows


def taken(call: Callable, *args: Any) -> float:
    """CPU seconds of one call."""
    start = time.process_time()
    call(*args)
    return time.process_time() - start


def forced() -> list[dict[str, Any]]:
    """Cells where "auto" makes none: real embeddings of few points."""
    rows = []
    for name in ("glove100_20k", "jeopardy_ada002"):
        data = harness.load(name)
        X = np.asarray(data.X, np.float32)
        points = Points(X[300:], X[:300])
        metric = gm.Mahalanobis.euclidean(X.shape[1])
        for count in (None, round(len(X) ** 0.5)):
            index = gm.HashIndex(metric, cells=count, random_state=0).add(points.X)
            case = f"forced, {name} {len(points.X):,} × {X.shape[1]}"
            found = row(points, case, f"HashIndex, cells={count}", index, points.nearest, 5)
            rows.append({**found, "ratio": found["cpu_s"] / rows[-1]["cpu_s"] if count else 1.0})
    return rows


def sublinear(points: Points) -> list[dict[str, Any]]:
    """Sorted orders and buckets for the one nearest neighbor: time, and how much farther than the true one it is."""
    metric, n = metrics(points.X.shape[1])[0], len(points.X)
    rows: list[dict[str, Any]] = []
    true = np.sqrt(points.nearest[:, 0])
    for searcher in ("orders", "buckets") if points.mapped else ("scan", "orders", "buckets"):
        index = gm.HashIndex(metric, searcher=searcher, random_state=0).add(points.X)
        seconds, ids = each(lambda Q, index=index: index.query(Q, 1)[0], points.Q, 3)
        own = np.sqrt(points.distances(metric, ids)[:, 0])
        quotient = np.divide(own, true, out=np.ones_like(own), where=true > 0)
        add = np.median([taken(index.add, points.Q[i : i + 1]) for i in range(5)])
        found = {"case": f"orders, n = {n:,}", "method": searcher, "cpu_s": seconds, "queries_per_s": 1 / seconds}
        found |= {"recall": float((quotient <= 1 + 1e-6).mean()), "within": float((quotient <= 1 + EPSILON).mean())}
        found |= {
            "farther": float(quotient.mean()),
            "compared": float(index.compared(points.Q, 1).mean()),
            "add_s": add,
        }
        rows.append(found | {"ratio": seconds / rows[0]["cpu_s"] if rows else 1.0})
        del index
    return rows
