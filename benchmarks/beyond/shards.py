"""A sharded index beside one index of the same items: recall, questions a second, and a new metric."""

import statistics
import time
from typing import Any

import numpy as np

import gramian as gm
from benchmarks.beyond.blocks import CLASSES, cluster
from gramian.dask import ShardedIndex
from gramian.dask import shard as shards

TITLE = "A sharded index"
NOTES = """
`HashIndex` shards of 64 features in single precision on two worker processes of one thread, half of the shards on each;
questions in batches of 1,000, k = 10, recall against an exact scan of 200 of them. *alone* is what the shards of one
worker take one after the other, asked for directly on it, the larger of the two: no answer can come sooner on two
cores. *share* is alone / sharded for questions and sharded / alone for a new metric. The last row has one shard on each
worker, so that alone is the time of one shard.
"""
D, BATCH, K = 64, 1_000, 10


def run(quick: bool = False) -> list[dict[str, Any]]:
    """Rows for questions and for a new metric; the quick form has 20,000 items in each shard."""
    each = 20_000 if quick else 1_000_000
    rows = []
    for count in (4, 2):
        X, Q = points(count * each)
        with cluster(2, memory="6GB") as client:
            index = ShardedIndex(client, metric(0), n_shards=count, random_state=0).add(X)
            case = f"{count} shards × {each:,}"
            if count == 4:
                rows += [recall(case, X, Q, index), questions(case, client, index, Q)]
            rows.append(new_metric(case, client, index, Q))
    return rows


def points(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Clustered items, and questions near some of them."""
    rng = np.random.default_rng(0)
    centers = 2 * rng.standard_normal((50 * CLASSES, D), np.float32)
    X = rng.standard_normal((n, D), np.float32)
    X += centers[rng.integers(len(centers), size=n)]
    return X, X[rng.integers(n, size=BATCH)] + 0.3 * rng.standard_normal((BATCH, D), np.float32)


def metric(seed: int) -> gm.Mahalanobis:
    """A random metric."""
    L = np.random.default_rng(seed).normal(size=(D, D)) / 8 + np.eye(D)
    return gm.Mahalanobis(L)


def recall(case: str, X: np.ndarray, Q: np.ndarray, index: ShardedIndex) -> dict[str, Any]:
    """Share of true neighbors found by the shards, and by one index."""
    some = Q[:200]
    exact = gm.ExactIndex(metric(0)).add(X).query(some, K)[0]
    one = gm.HashIndex(metric(0), random_state=0).add(X).query(some, K)[0]
    found = index.query(some, K)[0]
    hits = [np.mean([len(np.intersect1d(a, b)) / K for a, b in zip(ids, exact)]) for ids in (found, one)]
    return {"case": case, "task": "recall@10", "sharded": hits[0], "alone": hits[1], "share": hits[0] / hits[1]}


def questions(case: str, client: Any, index: ShardedIndex, Q: np.ndarray) -> dict[str, Any]:
    """Seconds for a batch, and for the shards of a worker alone."""
    index.query(Q, K)
    together = statistics.median(seconds(lambda: index.query(Q, K)) for _ in range(9))
    alone = statistics.median(by_worker(client, index, asked, Q) for _ in range(9))
    return {"case": case, "task": "batch of 1,000", "sharded": together, "alone": alone, "share": alone / together}


def new_metric(case: str, client: Any, index: ShardedIndex, Q: np.ndarray) -> dict[str, Any]:
    """Seconds until all shards have another metric, and for the shards of a worker alone."""
    together = statistics.median(seconds(lambda seed=seed: index.with_metric(metric(seed))) for seed in (1, 2, 3))
    alone = statistics.median(by_worker(client, index, turned, metric(seed)) for seed in (4, 5, 6))
    return {"case": case, "task": "new metric", "sharded": together, "alone": alone, "share": together / alone}


def by_worker(client: Any, index: ShardedIndex, function: Any, argument: Any) -> float:
    """The larger of the times that the shards of a worker take, one after the other, with the other worker at rest."""
    homes = index.homes.of(len(index.standing.shards))
    totals: dict[str, float] = {}
    for home, shard in zip(homes, index.standing.shards):
        took = client.submit(function, shard, argument, workers=[home], pure=False).result()
        totals[home] = totals.get(home, 0.0) + took
    return max(totals.values())


def asked(shard: shards.Shard, Q: np.ndarray) -> float:
    """Seconds that one shard takes for a batch, on its worker."""
    return seconds(lambda: shards.query(shard, Q, K, None, None))


def turned(shard: shards.Shard, other: gm.Mahalanobis) -> float:
    """Seconds that one shard takes for a new metric, on its worker."""
    return seconds(lambda: shard.index().with_metric(other))


def seconds(task: Any) -> float:
    """Wall seconds of a task."""
    start = time.perf_counter()
    task()
    return time.perf_counter() - start
