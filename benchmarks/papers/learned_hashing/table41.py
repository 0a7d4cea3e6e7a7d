"""Table 4.1: how the cost of a projection, a hash bit and a query grows."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

import gramian as gm
from benchmarks import harness
from gramian.solvers import Problem, Relative, Rows
from gramian.solvers.bregman import walk

TITLE = "Growth of the costs (thesis Table 4.1)"
NOTES = """
CPU seconds at several sizes, and the exponent of their growth: the slope of a line through the logarithms.
*Projection*: one step of ITML on one constraint, against the dimension d (explicit), or the number c of basis points
(implicit, the same step on c coordinates). *Hash*: one bit of one item, against d for dense items, and against the
number z of features that are not zero for sparse ones of 50,000 dimensions with c = 50. *Search*: distances to a
fixed number M of candidates, against d and z. Below the printed exponent: a part of the cost that does not grow is
still large at these sizes.
"""
EXPLICIT, SPARSE = (64, 128, 256, 512), (20, 40, 80, 160)


def projections(d: int, rng: np.random.Generator) -> float:
    """Seconds of one cyclic projection in d dimensions."""
    V = rng.normal(size=(300, d)) / np.sqrt(d)
    bound = np.full(300, 0.5)
    problem = Problem(Rows(V, np.ones((300, 1))), bound, np.eye(d), gm.LogDet(), Relative(1.0))
    steps = walk(problem)

    def once() -> None:
        steps.M[:] = np.eye(d)
        steps.project(np.zeros(300), np.arange(300))

    return harness.cpu_time(once) / 300


def dense_index(d: int, rng: np.random.Generator) -> tuple[Any, np.ndarray]:
    """A hashed index of dense items, and the items."""
    X = rng.normal(size=(2000, d))
    metric = gm.Mahalanobis(np.eye(d) + 0.1 * rng.normal(size=(d, d)) / np.sqrt(d))
    return gm.HashIndex(metric, 256, searcher="orders", epsilon=1.0, random_state=0).add(X), X


def sparse_index(z: int, rng: np.random.Generator) -> tuple[Any, Any]:
    """A hashed index of sparse items with z features each, and the items."""
    rows, d = 500, 50_000
    columns = rng.integers(0, d, (rows, z))
    entries = rng.random(rows * z), (np.repeat(np.arange(rows), z), columns.ravel())
    X = sparse.csr_array(entries, shape=(rows, d))
    basis = np.linalg.qr(rng.normal(size=(d, 50)))[0]
    metric = gm.SubspaceMahalanobis(basis, np.diag(rng.uniform(0.5, 2, 50)), alpha=1.0)
    return gm.KernelHashIndex(metric, 256, epsilon=1.0, random_state=0).add(X), X


def growth(table: str, method: str, paper: float, sizes: tuple, seconds: list[float]) -> dict[str, Any]:
    """One row: the slope of log seconds against log size."""
    slope = float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])
    note = ", ".join(f"{1e6 * value:.3g} µs at {size}" for size, value in zip(sizes, seconds))
    row = {"table": "Exponents of growth", "case": table, "method": method, "ours": round(slope, 2)}
    return row | {"paper": paper, "note": note}


def measured(sizes: tuple, work: Callable[[int], float]) -> list[float]:
    """Seconds at each size."""
    return [work(size) for size in sizes]


def run(quick: bool = False) -> list[dict[str, Any]]:
    """The six cells of the table."""
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    wide, thin = (EXPLICIT[:2], SPARSE[:2]) if quick else (EXPLICIT, SPARSE)
    few = (25, 50) if quick else (25, 50, 100, 200)

    def hashing(make: Callable) -> Callable[[int], float]:
        def seconds(size: int) -> float:
            index, X = make(size, rng)
            return harness.cpu_time(lambda: index.hash(X)) / X.shape[0] / 256

        return seconds

    def searching(make: Callable) -> Callable[[int], float]:
        def seconds(size: int) -> float:
            index, X = make(size, rng)
            return harness.cpu_time(lambda: index.query(X[:200], 5)) / 200

        return seconds

    return [
        growth("projection", "explicit, d", 2, wide, measured(wide, lambda d: projections(d, rng))),
        growth("projection", "implicit, c", 2, few, measured(few, lambda c: projections(c, rng))),
        growth("hash bit", "explicit, d", 1, wide, measured(wide, hashing(dense_index))),
        growth("hash bit", "implicit, z", 1, thin, measured(thin, hashing(sparse_index))),
        growth("search", "explicit, d", 1, wide, measured(wide, searching(dense_index))),
        growth("search", "implicit, z", 1, thin, measured(thin, searching(sparse_index))),
    ]
