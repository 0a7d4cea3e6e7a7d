"""Points and queries for the search benchmark."""

import numpy as np

from benchmarks import harness


def clustered(n: int, d: int, n_clusters: int, spread: float, m: int = 300) -> tuple[np.ndarray, np.ndarray]:
    """Items and queries from one mixture of Gaussian clusters of unit spread."""
    rng = np.random.default_rng(0)
    centers = spread * rng.normal(size=(n_clusters, d)).astype(np.float32)
    X = centers[rng.integers(n_clusters, size=n + m)] + rng.standard_normal((n + m, d), dtype=np.float32)
    return X[:n], X[n:]


def embedded(n: int, d: int, m: int = 300, latent: int = 64) -> tuple[np.ndarray, np.ndarray]:
    """Unit vectors near a subspace: 500 clusters in 64 directions of falling size, and noise in all d."""
    rng = np.random.default_rng(1)
    A = rng.normal(size=(latent, d)) * np.arange(1, latent + 1)[:, None] ** -0.5
    Z = rng.normal(size=(500, latent))[rng.integers(500, size=n + m)] + 0.7 * rng.normal(size=(n + m, latent))
    X = (Z @ A + 0.15 * rng.normal(size=(n + m, d))).astype(np.float32)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X[:n], X[n:]


def split(X: np.ndarray, n: int, m: int = 300) -> tuple[np.ndarray, np.ndarray]:
    """Items and queries drawn from a set."""
    order = np.random.default_rng(0).permutation(len(X))
    return X[order[m : m + n]].astype(np.float32), X[order[:m]].astype(np.float32)


def images(n: int) -> tuple[np.ndarray, np.ndarray]:
    """MNIST, 784 pixels."""
    return split(np.asarray(harness.load("mnist").X), n)


def sentences() -> tuple[np.ndarray, np.ndarray]:
    """Newsgroup messages by the Universal Sentence Encoder, 512 dimensions."""
    from benchmarks.effect.texts import sentence_encoder

    X = sentence_encoder()[0]
    return split(X, len(X) - 300)


def stored(name: str) -> tuple[np.ndarray, np.ndarray]:
    """A set that comes with its own queries."""
    data = harness.load(name)
    return data.X.astype(np.float32), data.queries.astype(np.float32)[:300]


def on_disk(n: int, m: int = 30) -> tuple[np.ndarray, np.ndarray]:
    """The clustered points of the benchmark of fits over blocks, 64 dimensions, in a file that stays on disk."""
    from benchmarks.beyond.blocks import data

    X = np.load(data(n)[0], mmap_mode="r")
    return X[: n - m], np.array(X[n - m :])
