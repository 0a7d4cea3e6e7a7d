"""What the MNIST benchmarks of Li, Yang and Wang (2007) share: digits, graphs, splits, and the rows of Table 2."""

import time

import numpy as np

import gramian as gm
from benchmarks.harness import ROOT, load
from gramian.manifold import NeighborGraph, neighbors
from gramian.manifold.graph import adjacency
from gramian.manifold.vote import vote

SPLITS, TDL_SPLITS = 3, 2
PAPER = {
    ("Euclidean", "TDL"): 96.13,
    ("Euclidean", "Laplacian eigenmaps"): 95.91,
    ("tangent", "TDL"): 97.49,
    ("tangent", "Laplacian eigenmaps"): 97.41,
}


def digits(quick):
    """The digits in [0, 1], float32."""
    data = load("mnist", dtype=np.float32)
    step = 20 if quick else 1
    return (data.X / np.float32(255))[::step], data.y.astype(int)[::step]


def cached(name, make, quick):
    """An array and the CPU seconds it took, kept between runs under benchmarks/.cache: a long run can be resumed."""
    path = ROOT / "benchmarks" / ".cache" / f"{name}{'_quick' if quick else ''}.npz"
    if not path.is_file():
        start = time.process_time()
        value = make()
        path.parent.mkdir(exist_ok=True)
        np.savez(path, value=value, seconds=time.process_time() - start)
    stored = np.load(path)
    return stored["value"], float(stored["seconds"])


def graph(name, X, quick):
    """Adjacency matrix of the Euclidean or the tangent graph, and the CPU seconds it took.

    Both start from one exact search for 60 Euclidean neighbors.
    """
    tangent = gm.TangentDistance((28, 28))
    # Compiled code is loaded before the clock runs.
    neighbors(X[:50], 3, distance=tangent, shortlist=5)
    ids, seconds = cached("mnist_neighbors", lambda: neighbors(X, 60)[0].astype(np.int32), quick)
    if name == "tangent":
        near = ids
        ids, more = cached("mnist_tangent", lambda: rerank(tangent, X, near), quick)
        seconds += more
    return NeighborGraph(20)._symmetric(adjacency(ids[:, :20], None, len(X))), seconds


def rerank(distance, X, ids):
    """The listed neighbors, nearest first under another distance."""
    return np.take_along_axis(ids, np.argsort(distance.listed_sqdist(X, X, ids), axis=1, kind="stable"), 1)


def labeled(y, seed):
    """5% of the labels, −1 elsewhere."""
    known = np.random.default_rng(seed).permutation(len(y))[: len(y) // 20]
    labels = np.full(len(y), -1)
    labels[known] = y[known]
    return labels


def accuracy(F, y, labels):
    """10-NN in the embedding, in percent."""
    known = labels >= 0
    return 100 * np.mean(vote(F[known], y[known], F[~known], 10) == y[~known])


def table(name, quick):
    """TDL and eigenmaps on one of the graphs: accuracy and CPU seconds."""
    X, y = digits(quick)
    A, graph_seconds = graph(name, X, quick)
    splits = [labeled(y, seed) for seed in range(SPLITS)]

    def learn(seed):
        return gm.TDL(60, lam=128.0, n_neighbors=20, graph=A).fit(X, splits[seed]).embedding_.astype(np.float32)

    def eigenmaps():
        return gm.LaplacianEigenmaps(60, graph=A).fit_transform(X).astype(np.float32)

    plain, eigen_seconds = cached(f"mnist_{name}_eigenmaps", eigenmaps, quick)
    learned = [cached(f"mnist_{name}_tdl{s}", lambda s=s: learn(s), quick) for s in range(1 if quick else TDL_SPLITS)]
    eigenmap_scores = [accuracy(plain, y, labels) for labels in splits]
    scores = [accuracy(F, y, labels) for (F, _), labels in zip(learned, splits)]
    seconds = [spent for _, spent in learned]
    rows = []
    for method, s in (("TDL", np.array(scores)), ("Laplacian eigenmaps", np.array(eigenmap_scores))):
        note = f"±{s.std():.2f}, splits: " + ", ".join(f"{value:.2f}" for value in s)
        rows.append(row("Table 2", name, method, s.mean(), PAPER[name, method], note))
    rows.append(row("CPU seconds", name, "graph", graph_seconds, None, "with 60 neighbors, of which 20 are used"))
    rows.append(row("CPU seconds", name, "Laplacian eigenmaps, given the graph", eigen_seconds, None, ""))
    note = "cost and eigenproblem; the paper: 480 s on a Pentium IV"
    rows.append(row("CPU seconds", name, "TDL, given the graph", np.median(seconds), None, note))
    return rows


def row(table, case, method, ours, paper, note):
    """One row of a result."""
    return {"table": table, "case": case, "method": method, "ours": ours, "paper": paper, "note": note}
