"""What simulated people mean by similar: vectors with labels that the search does not see."""

from functools import cache

import numpy as np

from benchmarks.harness import load
from benchmarks.serve import outside
from gramian import linalg

CHOSEN_ON = ("mnist", "mnist + noise", "coil", "faces by pose", "faces by glasses")
"""Tasks on which the constants of the service were chosen."""
HELD_OUT = ("digits by parity", "news, MiniLM", "yale faces", "wdbc, raw", "yeast")
"""Tasks that were looked at only after that."""
AT_HAND = ("digits by parity", "wdbc, raw")
FREE = ("digits + noise",)
"""Tasks of data that need no download."""
TEN = (*CHOSEN_ON, *HELD_OUT)
OTHERS = (*FREE, *(name for name in outside.TASKS if name not in HELD_OUT))
"""Tasks that were never looked at before, of data that are no files of ours."""
MOST = 2500
"""Items of a task."""


def names() -> list[str]:
    """All tasks that can be made here."""
    return [name for name in (*TEN, *OTHERS) if name not in outside.TASKS or outside.available(name)]


def marked(name: str) -> str:
    """The name, with a star where constants were chosen, and a dagger where the data are at hand or in packages."""
    if name in CHOSEN_ON:
        return f"{name} *"
    return f"{name} †" if name in (*FREE, *AT_HAND) else f"{name} ‡" if name in outside.TASKS else name


@cache
def task(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Vectors and labels of a task."""
    rng = np.random.default_rng(0)
    if name in outside.TASKS:
        X, y = outside.task(name)
        some, rank = rng.permutation(len(X))[:MOST], outside.TASKS[name][1]
        return (leading(X[some], rank) if rank else X[some]), y[some]
    if name == "mnist + noise":
        X, y = task("mnist")
        return np.hstack([X, 1.5 * X.std() * rng.standard_normal((len(X), 64))]), y
    if name == "news, sentence encoder":
        from benchmarks.effect.texts import sentence_encoder

        X, y = sentence_encoder()
        return leading(X[:MOST], 128), y[:MOST]
    if name == "digits by parity":
        from sklearn.datasets import load_digits

        X, y = load_digits(return_X_y=True)
        return X, y % 2
    if name == "digits + noise":
        from sklearn.datasets import load_digits

        X, y = load_digits(return_X_y=True)
        return np.hstack([X, 1.5 * X.std() * rng.standard_normal((len(X), 64))]), y
    if name.startswith("faces by"):
        label = {"pose": "y_pose", "glasses": "y_sunglasses"}[name.split()[-1]]
        data = load("cmu_faces")
        return leading(data.X / 255.0, 100), np.asarray(data[label])
    file, rank = _FILES[name]
    data = load(file)
    X, y = np.asarray(data.X, float), np.asarray(data.y)
    keep = rng.permutation(len(X))[:MOST]
    return (leading(X[keep], rank) if rank else X[keep]), y[keep]


_FILES = {
    "mnist": ("mnist", 64),
    "coil": ("coil20_32x32", 100),
    "yale faces": ("yaleb_cropped_32x32", 100),
    "yeast": ("yeast", 0),
    "wdbc, raw": ("wdbc", 0),
}
"""File, and coordinates to keep (0: all features as they are)."""


def leading(X: np.ndarray, rank: int) -> np.ndarray:
    """The leading principal coordinates of X."""
    X = X - X.mean(axis=0)
    if X.shape[1] <= len(X):
        values, vectors = linalg.eigh(X.T @ X)
        return X @ vectors[:, ::-1][:, :rank]
    values, vectors = linalg.eigh(X @ X.T)
    return vectors[:, ::-1][:, :rank] * np.sqrt(np.maximum(values[::-1][:rank], 0))
