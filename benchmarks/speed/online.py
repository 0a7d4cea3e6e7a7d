"""Online learning: steps per second, and what it costs to keep an index true."""

import time

import numpy as np

import gramian as gm
from benchmarks import harness
from gramian.online import LegoRule, OnlineITMLRule, PolaRule

TITLE = "Online learning and index upkeep"
NOTES = """
CPU seconds on one thread. Steps: random differences with targets near their squared length, exact targets, every step
an update; "NumPy" is the textbook rank-one loop on M. Neither metric-learn nor river has an online metric learner to
compare with: metric-learn has offline learners only, river none. Upkeep: 100,000 points in 64 dimensions, 256 bits,
after LEGO steps that turn about 2% of the bits; "re-hash" computes all codes and norms anew, and a faiss HNSW graph has
to be built anew, since it cannot follow a metric.
"""


def numpy_lego(V, targets, eta):
    """(5.2)–(5.4) as they stand, on M."""
    M = np.eye(V.shape[1])
    for z, y in zip(V, targets):
        w = M @ z
        p = z @ w
        t = eta * y * p - 1
        after = (t + np.sqrt(t * t + 4 * eta * p * p)) / (2 * eta * p)
        c = eta * (after - y)
        M -= (c / (1 + c * p)) * np.outer(w, w)
    return M


def step_rows(d, quick):
    """Steps per second of each rule at one dimension."""
    rng = np.random.default_rng(0)
    n = 5000 if quick else 50_000
    V = rng.standard_normal((n, d)) / np.sqrt(d)
    targets, signs = rng.uniform(0.5, 1.5, n), np.zeros(n, int)
    cases = {
        "NumPy loop, LEGO": (n // 10, lambda m: numpy_lego(V[:m], targets[:m], 0.1)),
        "LEGO": (n, lambda m: run_rule(LegoRule(0.1), V[:m], targets[:m], signs[:m])),
        "ITML-Online": (n, lambda m: run_rule(OnlineITMLRule(0.1), V[:m], targets[:m], signs[:m])),
        "POLA": (n // 50, lambda m: run_rule(PolaRule(), V[:m], targets[:m], signs[:m])),
    }
    rates = {name: m / harness.cpu_time(lambda m=m, fn=fn: fn(m)) for name, (m, fn) in cases.items()}
    return [
        {
            "case": f"steps, d = {d}",
            "method": name,
            "cpu_s": 1 / rate,
            "ratio": rates["LEGO"] / rate,
            "per_second": round(rate),
        }
        for name, rate in rates.items()
    ]


def run_rule(rule, V, targets, signs):
    """A whole stream."""
    return rule.stream(rule.init(V.shape[1]), V, targets, signs)


def low_rank_row(quick):
    """Sparse points in 100,000 dimensions, identity plus rank 32."""
    from scipy import sparse

    n = 200 if quick else 2000
    X = sparse.random_array((2 * n, 100_000), density=1e-3, random_state=np.random.default_rng(0), format="csr")
    pairs = gm.Pairs(np.arange(n), np.arange(n, 2 * n), np.arange(n) % 2 == 0, bounds=(10.0, 90.0))
    learner = gm.LEGO(eta=1e-4, rank=32).partial_fit(X, pairs[:64])
    seconds = harness.cpu_time(lambda: learner.partial_fit(X, pairs)) / n
    case = "steps, d = 100,000, rank 32, 100 nonzeros"
    return {"case": case, "method": "LEGO", "cpu_s": seconds, "ratio": 1.0, "per_second": round(1 / seconds)}


def upkeep_rows(quick):
    """One move of the codes in four ways."""
    n, d = (5000, 32) if quick else (100_000, 64)
    rng = np.random.default_rng(0)
    X = (rng.standard_normal((200, d))[rng.integers(0, 200, n)] * 2 + rng.standard_normal((n, d))).astype(np.float32)
    seconds = {}
    for detector in ("likely", "margin"):
        settings = {"detector": detector, "rehash_share": 1.0, "random_state": 0}
        index = gm.OnlineHashIndex(gm.LEGO(eta=1e-4), **settings).add(X)
        for _ in range(2):
            share = teach(index, X, rng)
            start = time.process_time()
            counts = index.upkeep(force=True)
            seconds[f"move, {detector}"] = time.process_time() - start
        note = f"{counts['touched'] / n / 256:.1%} of the bits computed, {counts['flipped'] / n / 256:.2%} flipped"
        seconds[f"move, {detector}"] = seconds[f"move, {detector}"], f"{note}, {share:.1%} expected"
    seconds["re-hash all"] = harness.cpu_time(lambda: index.hash(X)), "codes"
    seconds["rebuild faiss HNSW"] = hnsw(index.metric_.transform(X).astype(np.float32))
    best = seconds["move, likely"][0]
    case = f"upkeep, n = {n}, d = {d}"
    return [
        {"case": case, "method": name, "cpu_s": s, "ratio": s / best, "note": note}
        for name, (s, note) in seconds.items()
        if s is not None
    ]


def teach(index, X, rng, share=0.02, most=2000):
    """LEGO steps until the directions have turned, toward a metric that counts the first half of the features."""
    half, turned = X.shape[1] // 2, 0.0
    for _ in range(most):
        i, j = rng.integers(0, len(X), 2)
        index.learn_one(X[i], X[j], 2 * float(np.sum((X[i, :half] - X[j, :half]) ** 2)))
        turned = index.stale_
        if turned >= share:
            break
    return turned


def hnsw(Z):
    """CPU seconds to build a graph."""
    try:
        import faiss
    except ImportError:
        return None, ""
    faiss.omp_set_num_threads(1)
    part = Z[: len(Z) // 5]
    start = time.process_time()
    faiss.IndexHNSWFlat(Z.shape[1], 32).add(part)
    return 5 * (time.process_time() - start), "5 × a fifth of the points (less than all at once)"


def run(quick=False):
    """All rows."""
    rows = [row for d in ((16,) if quick else (16, 64, 100, 256)) for row in step_rows(d, quick)]
    rows = [{"note": "", **row} for row in [*rows, low_rank_row(quick), *upkeep_rows(quick)]]
    return [{**row, "cpu_s": float(f"{row['cpu_s']:.4g}"), "ratio": round(row["ratio"], 2)} for row in rows]
