"""Search under a metric: ours against faiss, hnswlib, usearch and scikit-learn, and what a new metric costs each."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import gramian as gm
from benchmarks import harness, report
from benchmarks.speed import _search_sets as sets
from benchmarks.speed._search_rivals import K, rivals
from gramian.search.evaluation import recall_at_k

TITLE = "Nearest neighbors, and taking a new metric"
NOTES = """
k = 10, float32, one thread, CPU time, 300 queries in one call; recall@10 against an exact search. *images* are MNIST,
*sentences* newsgroup messages by the Universal Sentence Encoder, *embedded* unit vectors near a subspace of 64
dimensions with noise in all, *clustered* Gaussian clusters of unit spread around 1,000 centers of spread 1 (100 of
spread 1.5 where it says 100). A method has the first of a fixed list of settings that reaches recall 0.99 on the
queries, the last one if none does: the `recall` asked of HashIndex, candidates per neighbor for codes with refinement,
lists and candidates for inverted files, the beam of graphs. LSH has d bits or 256. `auto` chooses bits from the data;
`products` does not binarize the query. *new metric* is the CPU time until an index that holds the items answers under
another Mahalanobis metric, *new bytes* the memory per item that this takes beside the points: ours hash again, all
others transform the items and build again (graphs: the time of the first build). Graphs are left out where building
takes more than a minute. *ratio* is the time per query over that of `HashIndex auto`; int8 is judged by the points
before they were rounded. *two threads* compares wall seconds: the ratio is one thread over two. *orders* are the
sorted orders of the thesis for k = 1, their ratio the time over that of the scan.
"""
RECALLS = (0.9, 0.93, 0.95, 0.96, 0.97, 0.98, 0.985, 0.99, 0.995)
OURS: dict[str, dict[str, Any]] = {
    "HashIndex, 256 bits": {},
    "HashIndex auto": {"n_bits": "auto"},
    "HashIndex auto, products": {"n_bits": "auto", "estimate": "products"},
    "HashIndex auto, int8": {"n_bits": "auto", "store": "int8"},
}
GRAPHS = ("faiss HNSW", "hnswlib", "usearch")
CASES: dict[str, tuple[Callable, tuple[str, ...]]] = {
    "images 30,000 × 784": (lambda: sets.images(30_000), ("faiss HNSW",)),
    "sentences 5,700 × 512": (sets.sentences, ()),
    "embedded 30,000 × 768": (lambda: sets.embedded(30_000, 768), ("faiss HNSW", "usearch")),
    "embedded 30,000 × 1536": (lambda: sets.embedded(30_000, 1536), GRAPHS),
    "clustered 50,000 × 384": (lambda: sets.clustered(50_000, 384, 1000, 1.0), GRAPHS),
    "clustered 100,000 × 128": (lambda: sets.clustered(100_000, 128, 1000, 1.0), GRAPHS),
    "clustered 100, 100,000 × 128": (lambda: sets.clustered(100_000, 128, 100, 1.5), GRAPHS),
    "clustered 100,000 × 64": (lambda: sets.clustered(100_000, 64, 1000, 1.0), GRAPHS),
    "SIFT 10,000 × 128": (lambda: sets.stored("bigann_sift10k"), ()),
    "GloVe 20,000 × 100": (lambda: sets.stored("glove100_20k"), ()),
    "clustered 1,000,000 × 64": (lambda: sets.clustered(1_000_000, 64, 1000, 1.5, 100), (*GRAPHS, "scikit", "IVF")),
}
DRAWN = ("images 30,000 × 784", "sentences 5,700 × 512", "embedded 30,000 × 768", "GloVe 20,000 × 100")


def run(quick: bool = False) -> list[dict[str, Any]]:
    """Rows per data set and method; the quick form has 4,000 clustered points."""
    if quick:
        return table("clustered", measured(lambda: sets.clustered(4000, 64, 100, 1.5, 50), GRAPHS))
    rows, curves = [], {}
    for name, (make, skip) in CASES.items():
        key = name, Path(__file__), Path(__file__).with_name("_search_rivals.py")
        found = harness.remembered("search", key, lambda make=make, skip=skip: measured(make, skip))
        rows += table(name, found)
        curves[name] = found
    draw({name: curves[name] for name in DRAWN})
    return rows + threads() + harness.remembered("orders", (Path(__file__),), sublinear)


def measured(make: Callable, skip: tuple[str, ...]) -> list[dict[str, Any]]:
    """Every method on one set: all settings up to a recall of 0.999, the build, and a new metric."""
    X, Q = make()
    d = X.shape[1]
    plain, other = gm.Mahalanobis.euclidean(d), gm.Mahalanobis.from_matrix(np.diag(np.linspace(0.5, 2, d)))
    exact = gm.ExactIndex(plain).add(X)
    exact.query(Q[:4], K)
    true = exact.query(Q, K)[0]
    found = [whole("ExactIndex", X, Q, true, plain, other)]
    found += [hashed(name, settings, X, Q, true, plain, other) for name, settings in OURS.items()]
    for name, (build, settings, size) in rivals(d).items():
        if not any(word in name for word in skip):
            found.append(rival(name, build, settings, size, X, Q, true, other))
    return found


def whole(name: str, X: Any, Q: Any, true: Any, plain: gm.Mahalanobis, other: gm.Mahalanobis) -> dict[str, Any]:
    """The exact index."""
    build, index = harness.timed(lambda: gm.ExactIndex(plain).add(X), repeats=1, warmup=0)
    fresh = harness.cpu_time(lambda: index.with_metric(other), repeats=1, warmup=0)
    seconds = harness.cpu_time(lambda: index.query(Q, K)) / len(Q)
    size = 4 * X.shape[1] + sum(part.rows.nbytes for n, part in index._items.columns.items() if n != "points") / len(X)
    points = [{"setting": "-", "recall": 1.0, "cpu_s": seconds}]
    return {"method": name, "points": points, "build_s": build, "bytes": size, "new_s": fresh, "new_bytes": size}


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
        if points[-1]["recall"] >= 0.999 or points[-1]["cpu_s"] > 0.01:
            break
    again = lambda: build(other.transform(X).astype(np.float32))  # noqa: E731
    fresh = seconds if name in GRAPHS else harness.cpu_time(again, repeats=1, warmup=0)
    return {"method": name, "points": points, "build_s": seconds, "bytes": size, "new_s": fresh, "new_bytes": size}


def point(label: str, search: Callable, Q: np.ndarray, true: np.ndarray) -> dict[str, Any]:
    """Recall and time per query of one setting."""
    search(Q[:4])
    seconds, found = harness.timed(lambda: search(Q), repeats=2, warmup=0)
    return {"setting": label, "recall": recall_at_k(found, true), "cpu_s": seconds / len(Q)}


def table(case: str, found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One row per method, at its first setting with recall 0.99."""
    rows = []
    for one in found:
        best = next((p for p in one["points"] if p["recall"] >= 0.99), one["points"][-1])
        row = {"case": case, "method": one["method"], **best, "queries_per_s": 1 / best["cpu_s"]}
        row |= {"build_s": one["build_s"], "bytes_per_item": one["bytes"]}
        rows.append({**row, "new_metric_s": one["new_s"], "new_bytes": one["new_bytes"]})
    ours = next(row["cpu_s"] for row in rows if row["method"].startswith("HashIndex auto ("))
    return [{**row, "ratio": row["cpu_s"] / ours} for row in rows]


def draw(curves: dict[str, list[dict[str, Any]]]) -> None:
    """Recall against queries a second."""
    from gramian.plotting import canvas

    figure = canvas.figure(11, 8)
    names = ["ExactIndex", *OURS, *rivals(64)]
    for ax, (name, found) in zip(figure.subplots(2, 2).ravel(), curves.items()):
        for one in (one for one in found if one["points"][-1]["recall"] > 0.9):
            i = names.index(one["method"].split(" (")[0])
            own = "Index" in one["method"] and "faiss" not in one["method"]
            points = [p for p in one["points"] if p["recall"] >= 0.9]
            style = {"marker": canvas.MARKERS[i % 10], "markersize": 4, "linestyle": "-" if own else ":"}
            x, y = [p["recall"] for p in points], [1 / p["cpu_s"] for p in points]
            ax.plot(x, y, label=one["method"].split(" (")[0], color=canvas.COLORS[i % 10], **style)
        ax.set_yscale("log")
        ax.set_title(name)
        ax.set_xlabel("recall@10")
        ax.set_ylabel("queries a second, one thread")
        canvas.open_frame(ax)
    every = {label: line for ax in figure.axes for line, label in zip(*ax.get_legend_handles_labels())}
    figure.legend(every.values(), every.keys(), loc="outside lower center", ncols=4, frameon=False, fontsize=8)
    figure.savefig(report.PICTURES / "search_recall_speed.png", dpi=110)


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
            "with_metric": lambda jobs, index=index: index.with_metric(other, n_jobs=jobs),
        }
        for what, call in work.items():
            one, two = (min(_wall(call, jobs) for _ in range(3)) for jobs in (1, 2))
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
