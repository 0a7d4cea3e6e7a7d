"""The protocol of Jain 2009, Table 7.2: data, folds, pairs, and 5-NN in the readings of "k-NN with a kernel"."""

from collections.abc import Callable
from itertools import product

import numpy as np
from sklearn.model_selection import KFold

from benchmarks.harness import load
from benchmarks.papers.rank_minimization.spectf import is_here, spectf
from gramian import Gaussian, Pairs, linalg

PAPER = {
    "musk1": {"GK": (80.80, 476), "MW": (93.11, 44.1), "OCP": (98.15, 61.2), "Burg": (81.51, 61.2)},
    "spectf": {"GK": (77.44, 267), "MW": (91.05, 46.8), "OCP": (91.13, 39.5), "Burg": (83.91, 39.5)},
    "ionosphere": {"GK": (90.34, 350), "MW": (91.26, 40), "OCP": (91.17, 27.9), "Burg": (90.67, 27.9)},
    "wdbc": {"GK": (90.12, 569), "MW": (93.14, 82), "OCP": (91.46, 94), "Burg": (93.38, 94)},
    "balance_scale": {"GK": (66.34, 607), "MW": (73.78, 146), "OCP": (72.46, 91), "Burg": (72.11, 91)},
}
PAPER["spectf"]["Burg from OCP"] = (94.29, 39.5)
KERNEL = Gaussian(0.1)
RTOL = 1e-13
"""All directions in which K₀ is not zero to machine precision, so that K ranges over (nearly) all matrices."""
Fold = tuple[np.ndarray, np.ndarray]


def names() -> tuple[str, ...]:
    """The sets of the table; Heart only where it was fetched."""
    return tuple(name for name in PAPER if name != "spectf" or is_here())


def read(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Features as they are, and labels 0, 1, …"""
    if name == "spectf":
        return spectf()
    data = load(name)
    return np.asarray(data.X, float), np.unique(data.y, return_inverse=True)[1]


def unit_rows(X: np.ndarray) -> np.ndarray:
    """Rows of length one."""
    size = np.linalg.norm(X, axis=1, keepdims=True)
    return X / np.where(size > 0, size, 1.0)


def folds(n: int, seed: int) -> list[Fold]:
    """Two shuffled folds."""
    return list(KFold(2, shuffle=True, random_state=seed).split(np.zeros(n)))


def in_order(n: int, interleaved: bool) -> list[Fold]:
    """Two folds that follow the order of the file: every other point, or the first half and the second."""
    test = np.arange(n) % 2 == 1 if interleaved else np.arange(n) >= (n + 1) // 2
    return [(np.flatnonzero(~test), np.flatnonzero(test)), (np.flatnonzero(test), np.flatnonzero(~test))]


def draw(y: np.ndarray, pool: np.ndarray, bounds: tuple, seed: int, count: int | None = None) -> Pairs:
    """Pairs of different points of the pool, uniformly; 40 C² of them when no count is given."""
    rng = np.random.default_rng(seed)
    count = 40 * len(np.unique(y)) ** 2 if count is None else count
    return _pairs(y, *_different(pool, count, rng), bounds)


def draw_by_class(y: np.ndarray, pool: np.ndarray, bounds: tuple, seed: int, count: int = 40) -> Pairs:
    """So many pairs for each ordered pair of classes, which makes 40 C² of them."""
    rng = np.random.default_rng(seed)
    members = [pool[y[pool] == c] for c in np.unique(y[pool])]
    drawn = [
        _different(A, count, rng) if A is B else (rng.choice(A, count), rng.choice(B, count))
        for A, B in product(members, members)
    ]
    return _pairs(y, *map(np.concatenate, zip(*drawn)), bounds)


def _different(pool: np.ndarray, count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    left = rng.integers(len(pool), size=count)
    right = (left + rng.integers(1, len(pool), size=count)) % len(pool)
    return pool[left], pool[right]


def _pairs(y: np.ndarray, left: np.ndarray, right: np.ndarray, bounds: tuple) -> Pairs:
    return Pairs(left, right, y[left] == y[right], bounds=bounds)


def percentiles(K: np.ndarray) -> tuple[float, float]:
    """The bounds (u, l): 30th and 70th percentile of the squared distances of a kernel."""
    low, high = np.percentile(distances(K)[np.triu_indices(len(K), 1)], (30, 70))
    return float(low), float(high)


def distances(K: np.ndarray) -> np.ndarray:
    """Squared distances of the kernel, K_ii + K_jj − 2 K_ij."""
    d = K.diagonal()
    return d[:, None] + d[None, :] - 2 * K


SPACES: dict[str, Callable] = {
    "distances of K": lambda K, test, train: distances(K)[np.ix_(test, train)],
    "rows of K": lambda K, test, train: linalg.sqdist(K[test], K[train]),
    "rows of K over training points": lambda K, test, train: linalg.sqdist(
        K[np.ix_(test, train)], K[np.ix_(train, train)]
    ),
}
"""Squared distances of test points to training points. A row of K holds what a point has to do with all the others."""
ROWS = "rows of K over training points"


def accuracy(K: np.ndarray, y: np.ndarray, folds: list[Fold], space: str = ROWS, by_class: bool = False) -> float:
    """5-NN accuracy in percent over the folds, plain or as the mean over classes."""
    scores = []
    for train, test in folds:
        near = np.argsort(SPACES[space](K, test, train), axis=1, kind="stable")[:, :5]
        right = np.array([np.bincount(votes).argmax() for votes in y[train][near]]) == y[test]
        scores.append(np.mean([right[y[test] == c].mean() for c in np.unique(y[test])]) if by_class else right.mean())
    return 100 * float(np.mean(scores))
