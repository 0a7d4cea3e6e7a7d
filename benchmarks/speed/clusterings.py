"""Two clusterings at once: one start, a default fit, growth with n and d, and a million points."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.cluster import KMeans

import gramian as gm
from benchmarks import harness
from gramian.clustering import match
from gramian.datasets import two_views

TITLE = "Several clusterings"
NOTES = """
Sum of two views (`two_views`), k clusters in each, spread 2. "One start" is `n_init=1` with the penalty given,
"default" chooses the penalty on 1,000 points and takes 10 starts. Nr-Kmeans is that of ClustPy 0.0.3 in its own
environment, k-means scikit-learn's with 10 starts for each of the two numbers of clusters; neither is the same
problem. `ratio` is to our default fit of the same case (to our first row where the case grows).
"""
PEER = Path(__file__).parents[1] / "papers" / "disparate" / "peers" / "nrkmeans.py"


def run(quick: bool = False) -> list[dict[str, Any]]:
    """Rows per size and method."""
    warnings.simplefilter("ignore")
    rows = []
    for k in (2, 4) if quick else (2, 4, 8):
        rows += fixed(1000 if quick else 4000, 20, k)
    return rows + growth(
        [(2000, 20), (4000, 20)] if quick else [(10_000, 20), (20_000, 20), (40_000, 20), (10_000, 80)]
    )


def fixed(n: int, d: int, k: int) -> list[dict[str, Any]]:
    """One size, all methods."""
    data, case = two_views(n, d, n_clusters=k, family="sum", random_state=0), f"n = {n:,}, d = {d}, k = {k}"
    default, model = harness.timed(lambda: gm.DecorrelatedKMeans((k, k), random_state=0).fit(data.X), repeats=3)
    single = gm.DecorrelatedKMeans((k, k), model.penalty_, n_init=1, random_state=0, center=True)
    one, alone = harness.timed(lambda: single.fit(data.X), repeats=3)
    plain, _ = harness.timed(lambda: [KMeans(k, n_init=10, random_state=0).fit(data.X) for _ in range(2)])
    em, mixed = harness.timed(lambda: gm.ConvolutionalEM((k, k), random_state=0).fit(data.X), repeats=1)
    python = harness.peer_python("clustpy", ["clustpy==0.0.3"])
    peer = harness.run_peer(python, PEER, {"X": [data.X], "k": [k, k], "n_init": 10})

    def row(method: str, seconds: float, labels: Any = None) -> dict[str, Any]:
        nmi = None if labels is None else round(float(match(labels, data.y).scores.mean()), 3)
        return {"case": case, "method": method, "cpu_s": seconds, "ratio": seconds / default, "nmi": nmi}

    return [
        row("DecorrelatedKMeans, default", default, model.labels_),
        row("DecorrelatedKMeans, one start", one, alone.labels_),
        row("ConvolutionalEM, default", em, mixed.labels_),
        row("Nr-Kmeans, 10 starts", peer["seconds"][0], np.array(peer["labels"][0])),
        row("k-means, twice", plain),
    ]


def growth(shapes: list[tuple[int, int]]) -> list[dict[str, Any]]:
    """One start of 20 steps, as n and d grow."""
    rows: list[dict[str, Any]] = []
    for n, d in shapes:
        X = np.random.default_rng(0).normal(size=(n, d))
        model = gm.DecorrelatedKMeans((4, 4), penalty=float(n) / d, n_init=1, max_iter=20, random_state=0)
        seconds, fitted = harness.timed(lambda model=model, X=X: model.fit(X), repeats=1)
        row = {"case": f"growth, n = {n:,}, d = {d}", "method": "DecorrelatedKMeans, one start", "cpu_s": seconds}
        rows.append(row | {"ratio": seconds / (rows[0]["cpu_s"] if rows else seconds), "nmi": None})
    return rows
