"""What simulated people mean by similar: vectors with labels that the search does not see."""

from functools import cache

import numpy as np

from benchmarks.harness import load
from gramian import linalg

CHOSEN_ON = (
    "mnist",
    "mnist + noise",
    "usps",
    "newsgroups",
    "faces by person",
    "faces by pose",
    "faces by glasses",
    "isolet",
    "pendigits",
    "satellite",
    "coil",
)
"""Tasks on which the constants of the service were chosen."""
HELD_OUT = ("digits by parity", "umist", "yale faces", "soybean", "yeast", "wdbc, raw", "spam, raw", "glass, raw")
"""Tasks that were looked at only after that."""


@cache
def task(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Vectors and labels of a task."""
    rng = np.random.default_rng(0)
    if name == "mnist + noise":
        X, y = task("mnist")
        return np.hstack([X, 1.5 * X.std() * rng.standard_normal((len(X), 64))]), y
    if name == "newsgroups":
        return _newsgroups(rng)
    if name == "digits by parity":
        from sklearn.datasets import load_digits

        X, y = load_digits(return_X_y=True)
        return X, y % 2
    if name.startswith("faces by"):
        label = {"person": "y_person", "pose": "y_pose", "glasses": "y_sunglasses"}[name.split()[-1]]
        data = load("cmu_faces")
        return leading(data.X / 255.0, 100), np.asarray(data[label])
    file, rank, most = _FILES[name]
    data = load(file)
    X, y = np.asarray(data.X, float), np.asarray(data.y)
    keep = rng.permutation(len(X))[:most]
    return (leading(X[keep], rank) if rank else X[keep]), y[keep]


_FILES = {
    "mnist": ("mnist", 64, 10_000),
    "usps": ("usps", 100, 10_000),
    "isolet": ("isolet_1560", 128, 10_000),
    "pendigits": ("pendigits", 0, 10_000),
    "satellite": ("satellite", 0, 10_000),
    "coil": ("coil20_32x32", 100, 10_000),
    "umist": ("umist_faces", 100, 10_000),
    "yale faces": ("yaleb_cropped_32x32", 100, 10_000),
    "soybean": ("soybean_large", 0, 10_000),
    "yeast": ("yeast", 0, 10_000),
    "wdbc, raw": ("wdbc", 0, 10_000),
    "spam, raw": ("spambase", 0, 10_000),
    "glass, raw": ("glass", 0, 10_000),
}
"""File, coordinates to keep (0: all features as they are), most items."""


def leading(X: np.ndarray, rank: int) -> np.ndarray:
    """The leading principal coordinates of X."""
    X = X - X.mean(axis=0)
    if X.shape[1] <= len(X):
        values, vectors = linalg.eigh(X.T @ X)
        return X @ vectors[:, ::-1][:, :rank]
    values, vectors = linalg.eigh(X @ X.T)
    return vectors[:, ::-1][:, :rank] * np.sqrt(np.maximum(values[::-1][:rank], 0))


def _newsgroups(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfTransformer
    from sklearn.preprocessing import normalize

    data = load("newsgroups20_counts")
    words = TfidfTransformer(sublinear_tf=True).fit_transform(data.X)
    Z = normalize(TruncatedSVD(100, random_state=0).fit_transform(words))
    keep = rng.permutation(len(Z))[:10_000]
    return Z[keep], np.asarray(data.y)[keep]
