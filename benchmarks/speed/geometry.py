"""Transductive distance learning on all of MNIST: time and memory of its parts and of the whole."""

import time
from typing import Any

import gramian as gm
from benchmarks import harness
from benchmarks.papers.tdl.mnist import digits, graph, labeled
from gramian.manifold import NeighborGraph

TITLE = "TDL on 70,000 digits"
NOTES = """
70,000 images of 784 pixels in single precision, 5% labeled; exact graph of 20 neighbors, L = D − A, λ = 128, 60
eigenvectors. Each row runs once in a process of its own, on one thread; *peak* is the largest resident size of that
process with the data in it. Wall seconds are those of a shared machine.
"""


def run(quick: bool = False) -> list[dict[str, Any]]:
    """The graph, the eigenproblem given the graph, and both; the quick form has 3,500 digits."""
    X, y = digits(quick)
    labels = labeled(y, 0)
    A, _ = graph("Euclidean", X, quick)
    parts = {
        "graph": lambda: NeighborGraph(20)(X),
        "cost and eigenproblem, given the graph": lambda: gm.TDL(60, lam=128.0, graph=A).fit(X, labels),
        "whole fit": lambda: gm.TDL(60, lam=128.0).fit(X, labels),
    }
    return [_row(f"{len(X):,} digits", method, part) for method, part in parts.items()]


def _row(case: str, method: str, part: Any) -> dict[str, Any]:
    start = time.time()
    seconds, peak = harness.process_cost(part)
    spent = {"cpu_s": seconds, "wall_s": time.time() - start, "peak_GB": peak / 1e9}
    return {"case": case, "method": method, **spent}
