"""The tasks: data as people have them, fixed in two halves before anything was tuned."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks import harness
from benchmarks.effect import texts

LABELS = (5, 20, 100)
"""Labels per class."""

LEFT = 11
"""A class takes part where it has so many points more than labels: ten to find and one that asks."""

DEVELOPMENT = (
    "news, MiniLM",
    "news, sentence encoder",
    "news, static vectors",
    "mnist, 50 components",
    "isolet",
    "coil20",
    "satellite",
    "ionosphere",
    "yeast",
)
"""Tasks on which settings may be chosen."""

REPORTED = (
    "news, 384 components of tf-idf",
    "news, mean of word vectors",
    "pc or mac, tf-idf",
    "mnist, pixels",
    "usps, pixels",
    "faces in light, 200 components",
    "faces in profile",
    "pendigits",
    "wdbc",
    "spambase",
    "soybean",
)
"""Tasks on which nothing is chosen."""

VECTORS = ("quiz, vectors of a commercial model",)
"""Vectors of a model that is only to be had by its service; nothing is chosen on them."""

MEANINGS = (
    "packages by use",
    "packages by what they work with",
    "packages by interface",
    "packages by language",
    "packages by section",
)
"""One set of vectors under five meanings; nothing is chosen on them."""

MOST_POINTS = 8000
"""Points kept of a large data set."""


@dataclass(frozen=True, eq=False)
class Task:
    """Points with labels; ``y`` counts classes from 0."""

    name: str
    X: np.ndarray
    y: np.ndarray

    def among(self, labels: int) -> np.ndarray:
        """Points of the classes that are large enough for so many labels; none when these are less than half."""
        counts = np.bincount(self.y)
        large = counts >= labels + LEFT
        if large.sum() < 2 or large.sum() < 0.5 * (counts > 0).sum():
            return np.array([], dtype=int)
        return np.flatnonzero(large[self.y])


@cache
def load(name: str) -> Task:
    """A task by name, at most 8,000 points drawn once."""
    X, y = _few(*SOURCES[name]())
    return Task(name, np.asarray(X, dtype=float), np.unique(y, return_inverse=True)[1])


def _few(X: Any, y: np.ndarray) -> tuple[Any, np.ndarray]:
    keep = np.random.default_rng(0).permutation(len(y))[:MOST_POINTS]
    return X[keep], y[keep]


def _plain(name: str) -> Callable[[], tuple[Any, np.ndarray]]:
    return lambda: harness.load(name, return_X_y=True)


def _components(name: str, k: int) -> Callable[[], tuple[Any, np.ndarray]]:
    """The first k principal components of a data set."""

    def make() -> tuple[np.ndarray, np.ndarray]:
        X, y = _few(*harness.load(name, return_X_y=True))
        centered = X - X.mean(axis=0)
        vectors = np.linalg.eigh(centered.T @ centered)[1]
        return centered @ vectors[:, ::-1][:, :k], y

    return make


def _tfidf(name: str) -> Callable[[], tuple[Any, np.ndarray]]:
    """Term counts of a data set as tf-idf rows of unit length."""

    def make() -> tuple[np.ndarray, np.ndarray]:
        X, y = harness.load(name, return_X_y=True)
        return texts.tfidf(sparse.csr_array(X)).toarray(), y

    return make


def _packages(column: str) -> Callable[[], tuple[Any, np.ndarray]]:
    """MiniLM vectors of the long descriptions of Debian's packages, those that have one label in a column."""

    def make() -> tuple[np.ndarray, np.ndarray]:
        stored = np.load(harness.data_folder() / "debian_minilm.npz")
        labeled = stored[column] >= 0
        return stored["D"][labeled].astype(float), stored[column][labeled]

    return make


def _quiz() -> tuple[np.ndarray, np.ndarray]:
    """text-embedding-ada-002 vectors of the clues of a quiz, in 40 categories."""
    stored = np.load(harness.data_folder() / "jeopardy_ada002.npz")
    return stored["X"].astype(float), stored["y"]


SOURCES: dict[str, Callable[[], tuple[Any, np.ndarray]]] = {
    "news, MiniLM": texts.small_transformer,
    "news, sentence encoder": texts.sentence_encoder,
    "news, static vectors": texts.static_vectors,
    "news, 384 components of tf-idf": texts.latent,
    "news, mean of word vectors": texts.word_means,
    "pc or mac, tf-idf": _tfidf("pcmac_counts"),
    "mnist, 50 components": _components("mnist", 50),
    "mnist, pixels": _plain("mnist"),
    "usps, pixels": _plain("usps"),
    "isolet": _plain("isolet_1560"),
    "coil20": _plain("coil20_32x32"),
    "faces in light, 200 components": _components("yaleb_cropped_32x32", 200),
    "faces in profile": _plain("umist_faces"),
    "satellite": _plain("satellite"),
    "pendigits": _plain("pendigits"),
    "ionosphere": _plain("ionosphere"),
    "yeast": _plain("yeast"),
    "wdbc": _plain("wdbc"),
    "spambase": _plain("spambase"),
    "soybean": _plain("soybean_large"),
    "quiz, vectors of a commercial model": _quiz,
    "packages by use": _packages("use"),
    "packages by what they work with": _packages("works-with"),
    "packages by interface": _packages("interface"),
    "packages by language": _packages("implemented-in"),
    "packages by section": _packages("section"),
}
"""How each task is made."""
