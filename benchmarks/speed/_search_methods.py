"""How one set of the search benchmark is measured: every method over its settings, its build, and a new metric."""

from collections.abc import Callable
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


def measured(make: Callable, skip: tuple[str, ...], again: bool = True) -> list[dict[str, Any]]:
    """Every method on one set; without ``again`` only hash indexes take a new metric, the others would fill memory."""
    X, Q = make()
    d = X.shape[1]
    plain, other = gm.Mahalanobis.euclidean(d), gm.Mahalanobis.from_matrix(np.diag(np.linspace(0.5, 2, d)))
    exact = gm.ExactIndex(plain).add(X[:1000])
    exact.query(Q, K), exact.query(Q[:4], K), exact.with_metric(other).query(Q[:4], K)  # compile
    first, true = whole(X, Q, plain, other if again else None)
    found = [first]
    found += [hashed(name, settings, X, Q, true, plain, other) for name, settings in OURS.items()]
    for name, (build, settings, size) in rivals(d).items():
        if not any(word in name for word in skip):
            found.append(rival(name, build, settings, size, X, Q, true, other if again else None))
    return found


def whole(X: Any, Q: Any, plain: gm.Mahalanobis, other: gm.Mahalanobis | None) -> tuple[dict[str, Any], np.ndarray]:
    """The exact index, and the neighbors that are true."""
    build, index = harness.timed(lambda: gm.ExactIndex(plain).add(X), repeats=1, warmup=0)
    fresh = other and harness.cpu_time(lambda: index.with_metric(other), repeats=1, warmup=0)
    seconds, (true, _) = harness.timed(lambda: index.query(Q, K))
    size = 4 * X.shape[1] + sum(part.rows.nbytes for n, part in index._items.columns.items() if n != "points") / len(X)
    points = [{"setting": "-", "recall": 1.0, "cpu_s": seconds / len(Q)}]
    one = {"method": "ExactIndex", "points": points, "build_s": build, "bytes": size}
    return {**one, "new_s": fresh, "new_bytes": size}, true


def hashed(name: str, settings: dict, X: Any, Q: Any, true: Any, plain: Any, other: Any) -> dict[str, Any]:
    """A hash index over the recall that is asked of it."""
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


def rival(name: str, build: Callable, settings: list, size: float, X: Any, Q: Any, true: Any, other: Any) -> dict:
    """Another engine, over its settings until its recall is 0.999."""
    seconds, index = harness.timed(lambda: build(X), repeats=1, warmup=0)
    points: list[dict[str, Any]] = []
    for label, prepare in settings:
        points.append(point(label, prepare(index), Q, true))
        if points[-1]["recall"] >= 0.999 or points[-1]["cpu_s"] > max(0.01, SLOW * len(X)):
            break
    again = lambda: build(other.transform(X).astype(np.float32))  # noqa: E731
    fresh = seconds if name in GRAPHS else other and harness.cpu_time(again, repeats=1, warmup=0)
    return {"method": name, "points": points, "build_s": seconds, "bytes": size, "new_s": fresh, "new_bytes": size}


def point(label: str, search: Callable, Q: np.ndarray, true: np.ndarray) -> dict[str, Any]:
    """Recall and time per query of one setting."""
    search(Q[:4])
    seconds, found = harness.timed(lambda: search(Q), repeats=2, warmup=0)
    return {"setting": label, "recall": recall_at_k(found, true), "cpu_s": seconds / len(Q)}
