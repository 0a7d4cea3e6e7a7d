"""select_subset: how close to the exhaustive optimum, and how much faster."""

import warnings
from itertools import combinations, islice
from math import comb

import numpy as np

import gramian as gm
from benchmarks import harness
from gramian.approximation.selection import CRITERIA, _loss

TITLE = "Choosing the subset: greedy and exchange against all subsets"
NOTES = """Criterion (24) or (27) of Epstein and Betke. Sets of 20: the first 20 images of eight people of the UMIST
faces, root Hamming distance; the excess is loss / optimal loss − 1. At n = 500 (USPS digits, Gaussian of width 8) the
time of all subsets is that of 20,000 of them, scaled. `ratio` is CPU time divided by that of exchange."""


def faces(count):
    """Gram matrices of sets of 20 images."""
    data = harness.load("umist_faces")
    people = [p for p in np.unique(data.y) if (data.y == p).sum() >= 20][:count]
    for person in people:
        X = data.X[data.y == person][:20]
        yield gm.DistanceKernel(gm.Hamming(float(X.mean()), root=True))(X)


def quality(criterion, m, count):
    """Rows on sets of 20: losses and times of each method."""
    found = {"exchange": [], "greedy": [], "cholesky": [], "exhaustive": []}
    for K in faces(count):
        problem = CRITERIA[criterion](K)
        for method in found:
            cpu, R = harness.timed(
                lambda K=K, method=method: gm.select_subset(K, m, criterion=criterion, method=method), 1, 0
            )
            found[method].append((cpu, _loss(problem, R)))
    best = np.array(found["exhaustive"])[:, 1]
    base = np.array(found["exchange"])[:, 0].mean()
    for method, values in found.items():
        cpu, loss = np.array(values).T
        row = {"case": f"20 faces, m = {m}, {criterion}", "method": method, "cpu_s": cpu.mean()}
        yield row | {
            "ratio": cpu.mean() / base,
            "worst_excess": (loss / best - 1).max(),
            "mean_excess": (loss / best - 1).mean(),
        }


def large(m, sample):
    """Rows at n = 500."""
    data = harness.load("usps")
    K = gm.Gaussian(8.0)(data.X[data.train_idx][:500])
    problem = CRITERIA["trace"](K)
    times, losses = {}, {}
    for method in ("exchange", "greedy", "cholesky"):
        times[method], R = harness.timed(lambda method=method: gm.select_subset(K, m, method=method), 3, 1)
        losses[method] = _loss(problem, R)
    subsets = list(islice(combinations(range(500), m), sample))
    some = harness.cpu_time(lambda: min(_loss(problem, R) for R in subsets), 1, 0)
    times["exhaustive (scaled)"] = some * comb(500, m) / sample
    for method, cpu in times.items():
        row = {"case": f"n = 500, m = {m}, trace", "method": method, "cpu_s": cpu, "ratio": cpu / times["exchange"]}
        yield row | {"worst_excess": None, "mean_excess": None}


def run(quick=False):
    """Rows; quick: two people, fewer subsets."""
    count, sample = (2, 2000) if quick else (8, 20_000)
    rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for criterion, m in (("trace", 3), ("trace", 4 if quick else 5), ("l1", 2 if quick else 3)):
            rows += quality(criterion, m, count)
        rows += large(3, sample)
    return rows
