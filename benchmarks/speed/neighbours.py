"""Learners for nearest neighbors against scikit-learn and metric-learn, and alignment of 21 kernels."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np

import gramian as gm
from benchmarks import harness
from gramian.constraints import Labels
from gramian.kernels import align, scaled_gaussians
from gramian.learners import targets
from gramian.learners.lmnn import lmnn_loss
from gramian.learners.nca import nca_loss

TITLE = "Learners for nearest neighbors"
NOTES = """
*Objective* is measured by our own loss functions for everybody: LMNN with k = 3 and push = 1, which is also
metric-learn's default up to a factor; NCA as −Σ p_i. *Accuracy* is that of 3-NN on the other half.

- Digits half: 898 of scikit-learn's digits, split at random, raw and divided by 16; ten splits for ours, one of them
  for metric-learn. The solution of LMNN does not depend on such a factor; what a method that stops
  before convergence returns does.
- PyLMNN 1.6.4 is not in the table: it needs GPyOpt, which no longer
  installs, and hands scipy a start of two dimensions.
- NCA: scikit-learn stops by itself after two steps on raw digits, where all its probabilities are 0 or 1, at a worse
  objective; on data divided by 16 it reaches ours in as many steps.
- 8,000 × 64: the first MNIST training images on 64 principal components; five steps of scikit-learn's NCA, ours to
  its default tolerance. *Memory* is the largest resident size of a process that does nothing else.
"""
REQUIREMENTS = ("metric-learn==0.7.0", "scikit-learn<1.6")
PEER = Path(__file__).parent / "peers" / "neighbours.py"


def halves(seed: int, unit: float) -> tuple[np.ndarray, ...]:
    """Training and test halves of the digits, divided by a unit."""
    from sklearn.model_selection import train_test_split

    digits = harness.load("digits")
    return train_test_split(digits.X / unit, digits.y, test_size=0.5, random_state=seed)


def three_nearest(L: np.ndarray, X: np.ndarray, y: np.ndarray, test: np.ndarray, truth: np.ndarray) -> float:
    """3-NN accuracy under a factor."""
    from sklearn.neighbors import KNeighborsClassifier

    return float(KNeighborsClassifier(3).fit(X @ L.T, y).score(test @ L.T, truth))


def best_scale(L: np.ndarray, X: np.ndarray, y: np.ndarray) -> float:
    """LMNN objective of a factor."""
    near = targets.same_class(X, Labels.from_array(y, ""), 3)
    return lmnn_loss(L, X, Labels.from_array(y, "").codes, near)[0]


def lmnn_digits(python: Path, splits: int) -> list[dict[str, Any]]:
    """Ours and metric-learn's LMNN on the same halves."""
    rows = []
    for unit in (1.0, 16.0):
        results: dict[str, list] = {}
        for seed in range(splits):
            X, test, y, truth = halves(seed, unit)
            seconds, ours = harness.timed(lambda: gm.LMNN().fit(X, y), repeats=1, warmup=int(seed == 0))  # noqa: B023
            results.setdefault("gramian", []).append((seconds, ours.components_, ours.n_iter_, X, test, y, truth))
            for peer in ["metric-learn LMNN"] * (seed == 0):
                found = harness.run_peer(python, PEER, {"X": X, "y": y, "learner": peer})
                L = np.array(found["components"])
                results.setdefault(peer, []).append((found["seconds"], L, found["n_iter"], X, test, y, truth))
        base = np.median([r[0] for r in results["gramian"]])
        for method, runs in results.items():
            cpu = float(np.median([r[0] for r in runs]))
            rows.append(
                {
                    "case": f"LMNN, digits half / {unit:.0f}",
                    "method": method,
                    "cpu_s": cpu,
                    "ratio": cpu / base,
                    "objective": float(np.mean([best_scale(r[1], r[3], r[5]) for r in runs])),
                    "accuracy": float(np.mean([three_nearest(r[1], *(r[3], r[5], r[4], r[6])) for r in runs])),
                    "n_iter": float(np.mean([r[2] for r in runs])),
                    "splits": len(runs),
                }
            )
    return rows


def nca_digits() -> list[dict[str, Any]]:
    """Ours and scikit-learn's NCA on a digits half."""
    from sklearn.neighbors import NeighborhoodComponentsAnalysis

    rows = []
    for unit in (1.0, 16.0):
        X, test, y, truth = halves(0, unit)
        base = None
        for method, learner in (("gramian", gm.NCA()), ("scikit-learn", NeighborhoodComponentsAnalysis())):
            cpu, fitted = harness.timed(lambda: learner.fit(X, y), repeats=3)  # noqa: B023
            base = base or cpu
            L = fitted.components_
            rows.append(
                {
                    "case": f"NCA, digits half / {unit:.0f}",
                    "method": method,
                    "cpu_s": cpu,
                    "ratio": cpu / base,
                    "objective": nca_loss(L, X, y)[0],
                    "accuracy": three_nearest(L, X, y, test, truth),
                    "n_iter": fitted.n_iter_,
                }
            )
    return rows


def nca_large(n: int) -> list[dict[str, Any]]:
    """Time and memory at n × 64."""
    from sklearn.decomposition import PCA
    from sklearn.neighbors import NeighborhoodComponentsAnalysis

    data = harness.load("mnist")
    X = PCA(64, random_state=0).fit_transform(np.asarray(data.X[:n], dtype=float) / 255)
    y, rows, base = np.asarray(data.y[:n]), [], None
    for method, learner in (("gramian", gm.NCA()), ("scikit-learn", NeighborhoodComponentsAnalysis(max_iter=5))):
        cpu, fitted = harness.timed(lambda: learner.fit(X, y), repeats=1, warmup=0)  # noqa: B023
        base = base or cpu
        row = {"case": f"NCA, MNIST {n} × 64", "method": method, "cpu_s": cpu, "ratio": cpu / base}
        row |= {"objective": nca_loss(fitted.components_, X, y)[0], "n_iter": fitted.n_iter_}
        rows.append(row | {"memory_MB": harness.peak_memory(lambda: learner.fit(X, y)) / 1e6})  # noqa: B023
    return rows


def alignment(n: int) -> list[dict[str, Any]]:
    """21 Gaussian kernels."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((n, 30)), rng.integers(0, 5, n)
    cpu = harness.cpu_time(lambda: align(scaled_gaussians(30), X, y), repeats=3)
    empty = harness.peak_memory(lambda: align(scaled_gaussians(30), X[:20], y[:20]))
    peak = harness.peak_memory(lambda: align(scaled_gaussians(30), X, y))
    row = {"case": f"align, 21 kernels, n = {n}", "method": "gramian", "cpu_s": cpu, "ratio": 1.0}
    return [row | {"memory_MB": (peak - empty) / 1e6, "gram_MB": 8 * n * n / 1e6}]


def run(quick: bool = False) -> list[dict[str, Any]]:
    """All rows; the quick form has one split, and a small set."""
    warnings.simplefilter("ignore")
    python = harness.peer_python("neighbours", REQUIREMENTS)
    rows = alignment(500 if quick else 2000) + nca_digits() + lmnn_digits(python, 1 if quick else 10)
    return rows + nca_large(1000 if quick else 8000)
