"""CPU seconds and memory of a fit: 5,000 pairs of Debian × 384, and 100,000 pairs × 768 made from them."""

import numpy as np

import gramian as gm
from benchmarks import harness
from benchmarks.retrieval.tasks import load

SIZES = (5_000, 384), (100_000, 768)


def pairs(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of Debian; for more and wider ones these again and again, each time turned to other columns, with noise."""
    task = load("debian")
    if (n, d) == (5_000, 384):
        return task.Q[:n], task.D[:n]
    rng = np.random.default_rng(0)
    Q, D = np.empty((n, d), np.float32), np.empty((n, d), np.float32)
    for start in range(0, n, len(task.Q)):
        rows = slice(start, min(start + len(task.Q), n))
        P = rng.normal(size=(task.Q.shape[1], d)).astype(np.float32) / np.float32(d) ** 0.5
        for X, Y in ((Q, task.Q), (D, task.D)):
            X[rows] = Y[: len(X[rows])] @ P + 0.02 * rng.normal(size=(len(X[rows]), d)).astype(np.float32)
    return Q, D


def report() -> str:
    """A line for each size: CPU seconds of the fit and the peak of its process, vectors and libraries included."""
    lines = ["| pairs | columns | side | CPU s | peak of the process |", "| --- " * 5 + "|"]
    for n, d in SIZES:
        seconds, peak = harness.process_cost(lambda n=n, d=d: gm.QueryAdapter(random_state=0).fit(*pairs(n, d)))
        lines.append(f"| {n:,} | {d} | query | {seconds:.0f} | {peak / 1e6:,.0f} MB |")
    return "\n".join(lines)
