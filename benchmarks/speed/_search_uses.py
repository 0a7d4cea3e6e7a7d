"""Other uses than ten neighbors of many queries: other k, few items, one query, a metric that learns."""

import time
from typing import Any

import numpy as np

import gramian as gm
from benchmarks import harness
from benchmarks.speed import _search_sets as sets
from benchmarks.speed.online import numpy_lego

KS = (1, 10, 100, 1000)
STEPS = 3000


def exact() -> list[dict[str, Any]]:
    """ExactIndex, faiss Flat and scikit-learn over k and few items, many queries in a call and one."""
    rng = np.random.default_rng(0)
    points = {
        "noise 1,000 × 64": rng.standard_normal((1300, 64), dtype=np.float32),
        "noise 1,000 × 784": rng.standard_normal((1300, 784), dtype=np.float32),
        "noise 20,000 × 64": rng.standard_normal((20_300, 64), dtype=np.float32),
        "images 10,000 × 784": np.vstack(sets.images(10_000)),
    }
    rows = []
    for name, X in points.items():
        X, Q = X[:-300], X[-300:]
        rows += [row for k in KS for row in scans(f"exact, {name}, k = {k:,}", X, Q, k)]
        rows += scans(f"exact, {name}, k = 10, one query", X, Q[:1], 10, calls=100)
    return rows


def scans(case: str, X: np.ndarray, Q: np.ndarray, k: int, calls: int = 1) -> list[dict[str, Any]]:
    """Time per query of each exact search; the ratio is that over ours."""
    import faiss
    from sklearn.neighbors import NearestNeighbors

    faiss.omp_set_num_threads(1)
    ours = gm.ExactIndex(gm.Mahalanobis.euclidean(X.shape[1])).add(X)
    flat, brute = faiss.IndexFlatL2(X.shape[1]), NearestNeighbors(n_neighbors=k, algorithm="brute").fit(X)
    flat.add(X)
    searches = {
        "ExactIndex": lambda: ours.query(Q, k),
        "faiss Flat": lambda: flat.search(Q, k),
        "scikit-learn brute": lambda: brute.kneighbors(Q),
    }
    repeat = lambda search: [search() for _ in range(calls)]  # noqa: E731
    found = {name: harness.cpu_time(lambda search=search: repeat(search), 5) for name, search in searches.items()}
    each = {name: seconds / calls / len(Q) for name, seconds in found.items()}
    return [
        {"case": case, "method": name, "cpu_s": s, "queries_per_s": 1 / s, "ratio": s / each["ExactIndex"]}
        for name, s in each.items()
    ]


def learning() -> list[dict[str, Any]]:
    """CPU time of single queries while a metric learns, and of its steps beside a plain NumPy loop."""
    X, Q = sets.clustered(100_000, 128, 1000, 1.0, 1000)
    rng = np.random.default_rng(0)
    pairs, half = rng.integers(len(X), size=(2 * STEPS, 2)), X.shape[1] // 2
    targets = 2 * ((X[pairs[:, 0], :half] - X[pairs[:, 1], :half]) ** 2).sum(axis=1, dtype=float)
    index = gm.OnlineHashIndex(gm.LEGO(eta=1e-4), random_state=0).add(X)
    for i in range(20):
        index.learn_one(X[i], X[i + 1], targets[i]).query(Q[:1])  # compile
    still = float(np.median([_taken(lambda q=Q[[at]]: index.query(q)) for at in range(200)]))
    waits = []
    for (i, j), target, at in zip(pairs[:STEPS], targets, rng.integers(len(Q), size=STEPS)):
        index.learn_one(X[i], X[j], target)
        waits.append(_taken(lambda q=Q[[at]]: index.query(q)))
    case, moves = "while learning, 100,000 × 128", index.stats_["moves"] + index.stats_["rehashes"]
    p50, p99 = np.quantile(waits, [0.5, 0.99])
    step = _taken(lambda: [index.learn_one(X[i], X[j], y) for (i, j), y in zip(pairs[STEPS:], targets[STEPS:])])
    V = (X[pairs[STEPS:, 0]] - X[pairs[STEPS:, 1]]).astype(float)
    loop = _taken(lambda: numpy_lego(V, targets[STEPS:], 1e-4)) / STEPS
    setting = f"{moves} moves of the codes"
    return [
        {
            "case": case,
            "method": "OnlineHashIndex, query before it learns, median",
            "cpu_s": still,
            "ratio": still / p50,
        },
        {"case": case, "method": "query, median", "setting": setting, "cpu_s": p50, "ratio": 1.0},
        {"case": case, "method": "query, 99 of 100 below", "setting": setting, "cpu_s": p99, "ratio": p99 / p50},
        {"case": case, "method": "NumPy loop, a step", "cpu_s": loop, "ratio": 1.0},
        {"case": case, "method": "learn_one", "cpu_s": step / STEPS, "ratio": step / STEPS / loop},
    ]


def _taken(call: Any) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start
