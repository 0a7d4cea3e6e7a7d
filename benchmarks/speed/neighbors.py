"""LMNN against metric-learn, PyLMNN and mlpack, and alignment of 21 kernels."""

import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import gramian as gm
from benchmarks import harness
from benchmarks.speed.lmnn_loss import lmnn_loss
from gramian import linalg
from gramian.constraints import Labels
from gramian.kernels import align, scaled_gaussians
from gramian.learners import neighbor_targets as targets

TITLE = "LMNN and kernel alignment"
NOTES = """
*Objective* is that of LMNN with k = 3 and push = 1, measured by our own loss for everybody; it is also the default of
the others up to a factor. *Accuracy* is that of 3-NN on the other half, mean over the splits.

- Digits half: 898 of scikit-learn's digits divided by 16 (`train_test_split` with `random_state` 0 to 9); *stratified*
  keeps the share of each class. The exact optimum of LMNN is not the best classifier here, the Euclidean distance is
  as good. metric-learn is better for not getting there in its 1,000 steps; a penalty does the same on
  purpose: `reg="pull"`, or a fifth of it, which is as accurate as metric-learn's at the same objective.
- PyLMNN 1.6.4 runs with scipy < 1.11 and without GPyOpt, which no longer installs; mlpack 4.8 with L-BFGS, one split.
- Alignment: *memory* is the largest resident size of a process that does nothing else, less that of one with 20 points.
"""
PEERS = {
    "metric-learn": ("metric-learn==0.7.0", "scikit-learn<1.6"),
    "PyLMNN": ("PyLMNN==1.6.4", "numpy<1.27", "scipy<1.11", "scikit-learn<1.3", "six"),
    "mlpack": ("mlpack==4.8.0",),
}
SCRIPT = Path(__file__).parent / "peers" / "neighbors.py"


def peer(learner: str, X: np.ndarray, y: np.ndarray) -> tuple[float, np.ndarray, int]:
    """CPU seconds, factor and iterations of a learner of another package."""
    package = learner.split()[0]
    python = harness.peer_python(f"neighbors-{package}", PEERS[package])
    found = harness.run_peer(python, SCRIPT, {"X": X, "y": y, "learner": learner})
    return found["seconds"], np.array(found["components"]), found["n_iter"]


def halves(seed: int, unit: float, stratified: bool = False) -> tuple[np.ndarray, ...]:
    """Training and test halves of the digits, divided by a unit."""
    from sklearn.model_selection import train_test_split

    digits = harness.load("digits")
    stratify = digits.y if stratified else None
    return train_test_split(digits.X / unit, digits.y, test_size=0.5, random_state=seed, stratify=stratify)


def three_nearest(L: np.ndarray, X: np.ndarray, y: np.ndarray, test: np.ndarray, truth: np.ndarray) -> float:
    """3-NN accuracy under a factor."""
    from sklearn.neighbors import KNeighborsClassifier

    return float(KNeighborsClassifier(3).fit(X @ L.T, y).score(test @ L.T, truth))


def lmnn_objective(L: np.ndarray, X: np.ndarray, y: np.ndarray) -> float:
    """LMNN objective of a factor."""
    labels = Labels.from_array(y, "")
    return lmnn_loss(L, X, labels.codes, targets.same_class(X, labels, 3))[0]


def ours(learner: gm.LMNN) -> Callable:
    """A fit with the answers of a peer."""

    def fit(X: np.ndarray, y: np.ndarray) -> tuple[float, np.ndarray, int]:
        seconds, fitted = harness.timed(lambda: learner.fit(X, y), repeats=1, warmup=0)
        return seconds, fitted.components_, fitted.n_iter_

    return fit


def lightly(X: np.ndarray, y: np.ndarray) -> tuple[float, np.ndarray, int]:
    """LMNN with a fifth of the weight that ``reg="pull"`` gives."""
    near = targets.same_class(X, Labels.from_array(y, ""), 3)
    pull = sum(linalg.pair_sqdist(X, X[column]).sum() for column in near.T) / X.shape[1]
    return ours(gm.LMNN(reg=0.2 * pull, anchor=0))(X, y)


def lmnn_digits(splits: int, stratified: bool) -> list[dict[str, Any]]:
    """LMNN of everybody on the same halves."""
    methods: dict[str, tuple[Callable, int]] = {
        "gramian": (ours(gm.LMNN(anchor=0)), splits),
        'gramian, reg="pull"': (ours(gm.LMNN(reg="pull", anchor=0)), splits),
        "gramian, a fifth of it": (lightly, splits),
        "Euclidean": (lambda X, y: (0.0, np.eye(X.shape[1]), 0), splits),
        "PyLMNN": (partial(peer, "PyLMNN"), splits),
        "metric-learn": (partial(peer, "metric-learn LMNN"), splits),
        "mlpack": (partial(peer, "mlpack LMNN"), int(not stratified)),
    }
    gm.LMNN(anchor=0).fit(*halves(0, 16.0)[::2])  # compilation and caches
    rows: list[dict[str, Any]] = []
    for method, (fit, count) in methods.items():
        runs = [lmnn_run(fit, *halves(seed, 16.0, stratified)) for seed in range(count)]
        if runs:
            cpu, objective, accuracy, n_iter = np.median(runs, axis=0)[0], *np.mean(runs, axis=0)[1:]
            row = {"case": "LMNN, digits half" + ", stratified" * stratified, "method": method, "cpu_s": float(cpu)}
            row |= {"ratio": float(cpu / (rows[0]["cpu_s"] if rows else cpu)), "objective": float(objective)}
            rows.append(row | {"accuracy": float(accuracy), "n_iter": float(n_iter), "splits": count})
    return rows


def lmnn_run(fit: Callable, X: np.ndarray, test: np.ndarray, y: np.ndarray, truth: np.ndarray) -> tuple[float, ...]:
    """Seconds, objective, accuracy and iterations of one fit."""
    seconds, L, n_iter = fit(X, y)
    return seconds, lmnn_objective(L, X, y), three_nearest(L, X, y, test, truth), n_iter


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
    if quick:
        return alignment(500) + lmnn_digits(1, stratified=False)
    return alignment(2000) + lmnn_digits(10, stratified=False) + lmnn_digits(10, stratified=True)
