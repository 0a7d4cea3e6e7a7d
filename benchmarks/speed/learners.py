"""Learners against metric-learn 0.7.0 on the same data and side information."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np

import gramian as gm
from benchmarks import harness
from benchmarks.speed import learners_more
from benchmarks.speed.learners_more import PEER

TITLE = "Learners against metric-learn 0.7.0"
NOTES = """
Both sides get the same points, pairs and bounds, and what each reaches is measured by one function here, not by its own
report. *Excess* is the objective relative to the optimum, which our solver finds to a gap of 1e-8 (for
MMC, a maximum, it is how much is missing). metric-learn runs in its own environment with scikit-learn < 1.8.

- ITML: first half of scikit-learn's digits (898 × 64), 4,000 pairs, bounds from the 5th and 95th percentile of squared
  distances, γ = 1, identity prior. metric-learn does 1,000 sweeps, its default limit; ours stops at its default
  tolerance, and at a loose one.
- MMC: breast_cancer (569 × 30) as it is and with unit variances, 2,845 pairs; the objective is Σ d over dissimilar
  pairs with Σ d² over similar pairs scaled to 1.
- RCA: whole classes of the digits half as chunklets. GMML: the 4,000 pairs; metric-learn has none.

The others learn on random halves of breast_cancer (284 × 30) and digits (898 × 64), with unit variances and as they
are, without an anchor. *As good* is our time until the objective is that of the peer, where it stops early; the row
above it is our own tolerance.

- LFDA: two directions; the objective is the criterion of Sugiyama (2007), larger is better, with the scatters as
  defined there. metric-learn's scatters are others. Covariance: the largest difference of M, relative to its largest
  entry, stands for the objective.
- MLKR: Σ (y − ŷ)² with labels as numbers. Its start, and that it stops where a hundredth of the variance is left,
  were chosen with these halves in view. LSML: 20 C² quadruplets, identity prior, weights that sum to 1.
  On breast_cancer as it is metric-learn's MLKR starts where every softmax is one-hot, and stops there at once; ours is
  better from its start on. *One evaluation*, with its gradient, takes about 2n²(2d + 8) operations in single precision
  (11 million at 284 × 30), exp of n² numbers and seven passes over them: with the coordinates that the start is in it
  is more than a tenth of that fit of metric-learn, so that no fit from this start would be ten times faster.
  LSML at its own tolerance goes on to a thousandth of the optimum, from a start that is as good as metric-learn's end.
- SDML: metric-learn fails on both sets; the peer is scikit-learn's `graphical_lasso`, which it calls, on the same
  matrix, sparsity 0.1.
- SCML: triplets (3 × 10 neighbors) and bases of metric-learn's making, β = 1e-5; w = 0 has the objective 1.
"""
REQUIREMENTS = ("metric-learn==0.7.0", "scikit-learn<1.8")


def run(quick: bool = False) -> list[dict[str, Any]]:
    """Rows of all learners; the quick form gives metric-learn 20 sweeps of ITML and skips its MMC."""
    warnings.simplefilter("ignore")
    python = harness.peer_python("metric-learn", REQUIREMENTS)
    digits = harness.load("digits")
    X, y = digits.X[:898], digits.y[:898]
    pairs = gm.Pairs.from_labels(y, n_pairs=4000, random_state=0).with_bounds(X)
    rows = itml(python, X, pairs, 20 if quick else 1000)
    cancer = harness.load("breast_cancer")
    for case, A in (("raw", cancer.X), ("unit variance", cancer.X / cancer.X.std(axis=0))):
        rows += mmc(None if quick else python, f"breast_cancer, {case}", A, cancer.y)
    return rows + rca(python, X, y) + gmml(X, pairs) + learners_more.rows(python, quick)


def itml_objective(M: np.ndarray, X: np.ndarray, pairs: gm.Pairs, gamma: float = 1.0) -> float:
    """D_ld(M, I) + γ Σ D_ld(ξ_i, b_i) at the best slack, ξ = max(d², u) for similar and min(d², l) for dissimilar."""
    _, logdet = np.linalg.slogdet(M)
    d = gm.Mahalanobis.from_matrix(M).pair_sqdist(X[pairs.left], X[pairs.right])
    u, l = pairs.bounds
    ratio = np.where(pairs.similar, np.maximum(d / u, 1), np.minimum(d / l, 1))
    return float(np.trace(M) - logdet - len(M) + gamma * (ratio - np.log(ratio) - 1).sum())


def mmc_objective(M: np.ndarray, X: np.ndarray, pairs: gm.Pairs) -> float:
    """Σ_D d of the metric scaled to Σ_S d² = 1."""
    d = gm.Mahalanobis.from_matrix(M).pair_sqdist(X[pairs.left], X[pairs.right])
    return float(np.sqrt(d[~pairs.similar]).sum() / np.sqrt(d[pairs.similar].sum()))


def itml(python: Path, X: np.ndarray, pairs: gm.Pairs, sweeps: int) -> list[dict[str, Any]]:
    """ITML at its default and at a loose tolerance, and metric-learn's."""
    best = itml_objective(gm.ITML(tol=1e-8, max_iter=20000, anchor=0).fit(X, pairs).metric_.matrix, X, pairs)
    seconds, ours = harness.timed(lambda: gm.ITML(anchor=0).fit(X, pairs), repeats=5)
    short, loose = harness.timed(lambda: gm.ITML(tol=5e-3, anchor=0).fit(X, pairs), repeats=5)
    u, l = (float(b[0]) for b in pairs.bounds)
    given = {"gamma": 1.0, "max_iter": sweeps, "bounds": [u, l]}
    found = [("gramian", seconds, ours.metric_.matrix, ours.n_iter_)]
    found += [("gramian, tol=5e-3", short, loose.metric_.matrix, loose.n_iter_)]
    found += [("metric-learn", *_peer(python, "itml", X, pairs, repeats=1, **given))]
    rows = []
    for method, time, M, n in found:
        value = itml_objective(M, X, pairs)
        rows.append(_row("ITML, digits half", method, time, seconds, value, value / best - 1, n))
    return rows


def mmc(python: Path | None, case: str, X: np.ndarray, y: np.ndarray) -> list[dict[str, Any]]:
    """MMC at its default tolerance, and metric-learn's."""
    pairs = gm.Pairs.from_labels(y, random_state=0)
    best = mmc_objective(gm.MMC(tol=1e-8, max_iter=20000, anchor=0).fit(X, pairs).metric_.matrix, X, pairs)
    seconds, ours = harness.timed(lambda: gm.MMC(anchor=0).fit(X, pairs))
    found = [("gramian", seconds, ours.metric_.matrix, ours.n_iter_)]
    found += [] if python is None else [("metric-learn", *_peer(python, "mmc", X, pairs, repeats=1))]
    rows = []
    for method, time, M, n in found:
        value = mmc_objective(M, X, pairs)
        rows.append(_row(f"MMC, {case}", method, time, seconds, value, 1 - value / best, n))
    return rows


def rca(python: Path, X: np.ndarray, y: np.ndarray) -> list[dict[str, Any]]:
    """RCA with whole classes as chunklets."""
    chunks = gm.Chunklets.from_labels(y)
    seconds, _ = harness.timed(lambda: gm.RCA(anchor=0).fit(X, chunks), repeats=11)
    time, _, n = _peer(python, "rca", X, None, repeats=11, chunks=chunks.ids)
    case = "RCA, digits half"
    return [_row(case, "gramian", seconds, seconds), _row(case, "metric-learn", time, seconds)]


def gmml(X: np.ndarray, pairs: gm.Pairs) -> list[dict[str, Any]]:
    """GMML, which has no peer there."""
    seconds, _ = harness.timed(lambda: gm.GMML(anchor=0).fit(X, pairs), repeats=11)
    return [_row("GMML, digits half", "gramian", seconds, seconds)]


def _peer(python: Path, learner: str, X: np.ndarray, pairs: gm.Pairs | None, **given: Any) -> tuple[float, Any, int]:
    """CPU seconds, matrix and iterations of metric-learn."""
    arrays = {"learner": learner, "X": X, **given}
    if pairs is not None:
        arrays |= {"left": pairs.left, "right": pairs.right, "similar": pairs.similar}
    answer = harness.run_peer(python, PEER, arrays)
    L = np.array(answer["components"])
    return answer["seconds"], L.T @ L, answer["n_iter"]


def _row(
    case: str, method: str, cpu_s: float, ours: float, objective: Any = None, excess: Any = None, n_iter: Any = None
) -> dict[str, Any]:
    excess = None if excess is None else f"{excess:.1e}"
    head = {"case": case, "method": method, "cpu_s": cpu_s, "ratio": cpu_s / ours}
    return head | {"objective": objective, "excess": excess, "iterations": n_iter}
