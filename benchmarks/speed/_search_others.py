"""Beside the methods of the search benchmark: two threads, and the sorted orders of the thesis."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import gramian as gm
from benchmarks.speed import _search_sets as sets
from benchmarks.speed._search_methods import point
from benchmarks.speed._search_rivals import K


def threads() -> list[dict[str, Any]]:
    """Wall seconds of one and of two threads."""
    X, Q = sets.clustered(100_000, 128, 1000, 1.0, 4000)
    metric, rows = gm.Mahalanobis.euclidean(128), []
    other = gm.Mahalanobis.from_matrix(np.diag(np.linspace(0.5, 2, 128)))
    for make in (gm.ExactIndex, lambda m: gm.HashIndex(m, random_state=0)):
        index = make(metric).add(X, n_jobs=2)
        index.query(Q[:64], K, n_jobs=2)
        work = {
            "query": lambda jobs, index=index: index.query(Q, K, n_jobs=jobs),
            "add": lambda jobs, make=make: make(metric).add(X, n_jobs=jobs),
            "add under a learned metric": lambda jobs, make=make: make(other).add(X, n_jobs=jobs),
            "with_metric": lambda jobs, index=index: index.with_metric(other, n_jobs=jobs),
        }
        for what, call in work.items():
            turns = [[_wall(call, jobs) for jobs in (1, 2)] for _ in range(9)]
            one, two = (min(turn[i] for turn in turns) for i in (0, 1))
            name = f"{type(index).__name__}, {what}"
            rows.append({"case": "two threads, 100,000 × 128", "method": name, "cpu_s": two, "ratio": one / two})
    return rows


def _wall(call: Callable, jobs: int) -> float:
    start = time.perf_counter()
    call(jobs)
    return time.perf_counter() - start


def sublinear() -> list[dict[str, Any]]:
    """The thesis's sorted orders, without the cap of 32 of them, against the scan at the same recall of the first."""
    rows = []
    for n in (10_000, 30_000, 100_000, 300_000):
        X, Q = sets.clustered(n, 64, n // 100, 1.5, 200)
        metric = gm.Mahalanobis.euclidean(64)
        true = gm.ExactIndex(metric).add(X).query(Q, 1)[0]
        scan = gm.HashIndex(metric, "auto", random_state=0).add(X)
        rows.append(_orders_row(n, "scan, recall 0.99", scan, Q, true))
        for label, l in (("32 orders", 32), ("l = n^{1/(1+ε)} orders", None)):
            most = int(np.ceil(n ** (1 / 2.5))) if l is None else l
            index = gm.HashIndex(metric, searcher="orders", n_orders=most, random_state=0).add(X)
            rows.append(_orders_row(n, f"{label} ({most}), ε = 1.5", index, Q, true))
    first = {row["case"]: row["cpu_s"] for row in rows if row["method"].startswith("scan")}
    return [{**row, "ratio": row["cpu_s"] / first[row["case"]]} for row in rows]


def _orders_row(n: int, label: str, index: gm.HashIndex, Q: np.ndarray, true: np.ndarray) -> dict[str, Any]:
    index.query(Q[:2], 1)
    found = point("k = 1", lambda Q: index.query(Q, 1)[0], Q, true)
    row = {"case": f"orders, n = {n:,}", "method": label, **found, "queries_per_s": 1 / found["cpu_s"]}
    return {**row, "bytes_per_item": 16 * index.n_orders if index.n_orders else index.n_bits_ / 8}
