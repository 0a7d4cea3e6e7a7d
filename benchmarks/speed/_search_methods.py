"""How one set of the search benchmark is measured: every method over its settings, its build, and a new metric."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import gramian as gm
from benchmarks import harness
from benchmarks.speed._search_rivals import K, rivals
from gramian.search.evaluation import recall_at_k

RECALLS = (0.9, 0.93, 0.95, 0.96, 0.97, 0.98, 0.985, 0.99, 0.995)
OURS: dict[str, dict[str, Any]] = {
    "HashIndex, 256 bits": {},
    "HashIndex auto": {"n_bits": "auto"},
    "HashIndex auto, products": {"n_bits": "auto", "estimate": "products"},
    "HashIndex auto, int8": {"n_bits": "auto", "store": "int8"},
}
SLOW = 1e-8
"""Seconds a query, per item, after which no costlier setting is tried."""
GRAPHS = ("faiss HNSW", "hnswlib", "usearch")


def measured(case: str, make: Callable, skip: tuple[str, ...], again: bool = True) -> list[dict[str, Any]]:
    """Every method on one set, each measured once, so that a run may be stopped anywhere and go on; no case, no memory.

    Without ``again`` only hash indexes take a new metric, the others would fill memory.
    """
    data = cache(make)
    files = [Path(__file__).with_name(f"_search_{part}.py") for part in ("methods", "rivals", "sets")]

    def part(name: str, measure: Callable, *args: Any) -> Any:
        call = lambda: measure(*args, *data())  # noqa: E731
        return harness.remembered("search", (case, name, *files), call) if case else call()

    first = part("ExactIndex", whole, again)
    true, found = np.array(first.pop("true")), [first]
    found += [part(name, hashed, name, settings, true) for name, settings in OURS.items()]
    kept = [name for name in rivals(1) if not any(word in name for word in skip)]
    return found + [part(name, rival, name, true, again) for name in kept]


def metrics(d: int) -> tuple[gm.Mahalanobis, gm.Mahalanobis]:
    """The metric of the search, and the new one."""
    return gm.Mahalanobis.euclidean(d), gm.Mahalanobis.from_matrix(np.diag(np.linspace(0.5, 2, d)))


def whole(again: bool, X: Any, Q: Any) -> dict[str, Any]:
    """The exact index, and the neighbors that are true."""
    plain, other = metrics(X.shape[1])
    small = gm.ExactIndex(plain).add(X[:1000])
    small.query(Q, K), small.query(Q[:4], K), small.with_metric(other).query(Q[:4], K)  # compile
    build, index = harness.timed(lambda: gm.ExactIndex(plain).add(X), repeats=1, warmup=0)
    fresh = harness.cpu_time(lambda: index.with_metric(other), repeats=1, warmup=0) if again else None
    seconds, (true, _) = harness.timed(lambda: index.query(Q, K))
    size = 4 * X.shape[1] + sum(part.rows.nbytes for n, part in index._items.columns.items() if n != "points") / len(X)
    points = [{"setting": "-", "recall": 1.0, "cpu_s": seconds / len(Q)}]
    one = {"method": "ExactIndex", "points": points, "build_s": build, "bytes": size, "true": true.tolist()}
    return {**one, "new_s": fresh, "new_bytes": size}


def hashed(name: str, settings: dict, true: np.ndarray, X: Any, Q: Any) -> dict[str, Any]:
    """A hash index over the recall that is asked of it."""
    plain, other = metrics(X.shape[1])
    gm.HashIndex(plain, random_state=0, **settings).add(X[:3000]).query(Q[:4], K)  # compile
    build, index = harness.timed(lambda: gm.HashIndex(plain, random_state=0, **settings).add(X), repeats=1, warmup=0)
    points = []
    for recall in RECALLS:
        asked = gm.HashIndex._from_state({**index._state(), "settings": {**index._settings(), "recall": recall}})
        points.append(point(f"recall {recall}", lambda Q, asked=asked: asked.query(Q, K)[0], Q, true))
    fresh = harness.cpu_time(lambda: index.with_metric(other), repeats=1, warmup=0)
    own = index.n_bits_ / 8 + 8 + 4 * ("products" in name)
    size = own + (X.shape[1] + 8 if "int8" in name else 4 * X.shape[1])
    name = f"{name} ({index.n_bits_})" if "auto" in name else name
    return {"method": name, "points": points, "build_s": build, "bytes": size, "new_s": fresh, "new_bytes": own}


def rival(name: str, true: np.ndarray, again: bool, X: Any, Q: Any) -> dict[str, Any]:
    """Another engine, over its settings until its recall is 0.999."""
    (build, settings, size), other = rivals(X.shape[1])[name], metrics(X.shape[1])[1]
    seconds, index = harness.timed(lambda: build(X), repeats=1, warmup=0)
    points: list[dict[str, Any]] = []
    for label, prepare in settings:
        points.append(point(label, prepare(index), Q, true))
        if points[-1]["recall"] >= 0.999 or points[-1]["cpu_s"] > max(0.01, SLOW * len(X)):
            break
    anew = lambda: build(other.transform(X).astype(np.float32))  # noqa: E731
    fresh = seconds if name in GRAPHS else harness.cpu_time(anew, repeats=1, warmup=0) if again else None
    return {"method": name, "points": points, "build_s": seconds, "bytes": size, "new_s": fresh, "new_bytes": size}


def point(label: str, search: Callable, Q: np.ndarray, true: np.ndarray) -> dict[str, Any]:
    """Recall and time per query of one setting."""
    search(Q[:4])
    seconds, found = harness.timed(lambda: search(Q), repeats=2, warmup=0)
    return {"setting": label, "recall": recall_at_k(found, true), "cpu_s": seconds / len(Q)}
