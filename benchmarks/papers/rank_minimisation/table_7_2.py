"""Jain 2009, Table 7.2: 5-NN accuracy and rank of learned low-rank kernels."""

import warnings

import numpy as np
from sklearn.model_selection import KFold

from benchmarks.harness import load
from gramian import Gaussian, LowRankKernel, Pairs
from gramian.rankmin.burg import burg

TITLE = "Low-rank kernels for nearest neighbors (Jain 2009, Table 7.2)"
NOTES = """
5-NN, two-fold cross-validation (shuffled, one repetition; the thesis averages 20), 40 C² pairs, bounds at the 30th
and 70th percentile of the squared distances of the kernel, at most T = 50 rounds, Gaussian kernel with σ = 0.1. The
thesis does not say how features are scaled; its kernel rank of 607 for Scale is exactly the number of different
directions among the 625 points, so rows of unit length are used here. With them the Gaussian column agrees for
Cancer, and for Musk over more shuffles (80.7 over five). It does not for Scale (607 as the rank, but 89% and not 66%)
and Ionosphere: a nearest-neighbor rule on this kernel is Euclidean, and no scaling we tried gives 90% on Ionosphere
or 66% on Scale. Heart has 267 points in the thesis, the size of SPECTF Heart; we have Statlog Heart with 270, so that
row compares different data. The wanted rank is the one printed in the thesis (rounded), β is found by binary search.
The thesis does not say from which points pairs are drawn: "training half" never sees a label of the test half, "all
points" does, through the pairs. Neither reading, nor the plain average of T = 50 answers at any β we tried, comes
near the 93% and 98% printed for Musk.
"""
PAPER = {
    "musk1": {"GK": (80.80, 476), "MW": (93.11, 44.1), "OCP": (98.15, 61.2), "Burg": (81.51, 61.2)},
    "heart_statlog": {"GK": (77.44, 267), "MW": (91.05, 46.8), "OCP": (91.13, 39.5), "Burg": (83.91, 39.5)},
    "ionosphere": {"GK": (90.34, 350), "MW": (91.26, 40), "OCP": (91.17, 27.9), "Burg": (90.67, 27.9)},
    "wdbc": {"GK": (90.12, 569), "MW": (93.14, 82), "OCP": (91.46, 94), "Burg": (93.38, 94)},
    "balance_scale": {"GK": (66.34, 607), "MW": (73.78, 146), "OCP": (72.46, 91), "Burg": (72.11, 91)},
}
PAPER["heart_statlog"]["Burg from OCP"] = (94.29, 39.5)
KERNEL = Gaussian(0.1)


def accuracy(K: np.ndarray, y: np.ndarray, train: np.ndarray, test: np.ndarray, k: int = 5) -> float:
    """5-NN accuracy in percent under the distances of a kernel matrix."""
    D = K.diagonal()[None, train] - 2 * K[np.ix_(test, train)]
    near = np.argsort(D, axis=1, kind="stable")[:, :k]
    votes = np.array([np.bincount(y[train][row]).argmax() for row in near])
    return 100 * float(np.mean(votes == y[test]))


def learn(X: np.ndarray, pairs: Pairs, ranks: dict) -> dict:
    """Factors of the learned kernels."""
    common = {"kernel": KERNEL, "setting": "transductive", "random_state": 0}
    factors = {
        "MW": LowRankKernel(rank=round(ranks["MW"][1]), method="mw", **common).fit(X, pairs).factor_,
        "OCP": LowRankKernel(rank=round(ranks["OCP"][1]), method="ocp", **common).fit(X, pairs).factor_,
        "factored": LowRankKernel(rank=round(ranks["OCP"][1]), method="factored", **common).fit(X, pairs).factor_,
        "Burg": LowRankKernel(rank=round(ranks["Burg"][1]), method="burg", **common).fit(X, pairs).factor_,
    }
    # What LowRankKernel(method="burg", init="ocp") does, without playing the game a second time.
    D = KERNEL.sqdist(X)
    pairs = pairs if pairs.bounds else Pairs(pairs.left, pairs.right, pairs.similar, percentiles(D))
    core = burg(factors["OCP"], pairs, 1.0, 1000, 1e-3).M
    factors["Burg from OCP"] = factors["OCP"] @ np.linalg.cholesky(core)
    return factors


def percentiles(D: np.ndarray) -> tuple:
    """The bounds (u, l) of the thesis."""
    return tuple(np.percentile(D[np.triu_indices(len(D), 1)], (30, 70)))


def run(quick: bool = False) -> list[dict]:
    """All sets, both ways to draw pairs."""
    warnings.simplefilter("ignore")
    rows = []
    for name in ("heart_statlog",) if quick else PAPER:
        data = load(name)
        X, y = np.asarray(data.X, float), np.unique(data.y, return_inverse=True)[1]
        X = X / np.linalg.norm(X, axis=1, keepdims=True)
        for drawn in ("training half", "all points"):
            rows += _rows(name, drawn, X, y)
    return sorted(rows, key=lambda row: row["table"])


def _rows(name: str, drawn: str, X: np.ndarray, y: np.ndarray) -> list[dict]:
    K = KERNEL(X)
    bounds = percentiles(KERNEL.sqdist(X))
    found: dict = {}
    for train, test in KFold(2, shuffle=True, random_state=0).split(X):
        known = np.where(np.isin(np.arange(len(y)), train), y, -1) if drawn == "training half" else y
        pairs = Pairs.from_labels(known, 40 * len(np.unique(y)) ** 2, unknown=-1, random_state=0)
        pairs = Pairs(pairs.left, pairs.right, pairs.similar, bounds)
        found.setdefault("GK", []).append((accuracy(K, y, train, test), np.linalg.matrix_rank(K)))
        for method, F in learn(X, pairs, PAPER[name]).items():
            found.setdefault(method, []).append((accuracy(F @ F.T, y, train, test), F.shape[1]))
    return [_row(name, drawn, method, *np.mean(values, axis=0)) for method, values in found.items()]


def _row(name: str, drawn: str, method: str, percent: float, rank: float) -> dict:
    paper = PAPER[name].get(method)
    note = f"rank {rank:g}" + (f" (paper {paper[1]:g})" if paper else "")
    note += "; not the data of the thesis" if name == "heart_statlog" else ""
    table = f"Table 7.2: accuracy in percent, pairs from {'the ' if drawn == 'training half' else ''}{drawn}"
    shown = None if paper is None else paper[0]
    return {"table": table, "case": name, "method": method, "ours": percent, "paper": shown, "note": note}
