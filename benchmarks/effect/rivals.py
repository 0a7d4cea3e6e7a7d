"""What others do with the same labels: each rival is a function of labeled points that returns ``embed(X)``."""

from collections.abc import Callable

import numpy as np

from benchmarks.effect.adapter import train_adapter

Embedding = Callable[[np.ndarray], np.ndarray]


def features(X: np.ndarray, y: np.ndarray, seed: int) -> Embedding:
    """The features as they are."""
    return lambda T: T


def unit_rows(X: np.ndarray, y: np.ndarray, seed: int) -> Embedding:
    """Rows of unit length: the cosine distance."""
    return lambda T: T / np.maximum(np.linalg.norm(T, axis=1, keepdims=True), 1e-12)


def scaled(X: np.ndarray, y: np.ndarray, seed: int) -> Embedding:
    """Unit variances."""
    from sklearn.preprocessing import StandardScaler

    return StandardScaler().fit(X).transform


def whitened(X: np.ndarray, y: np.ndarray, seed: int) -> Embedding:
    """The inverse root of the covariance, shrunk after Ledoit and Wolf."""
    from sklearn.covariance import ledoit_wolf

    project, Z = on_span(X)
    values, vectors = np.linalg.eigh(ledoit_wolf(Z)[0])
    root = vectors / np.sqrt(np.maximum(values, 1e-12 * values[-1]))
    return lambda T: project(T) @ root


def discriminant(X: np.ndarray, y: np.ndarray, seed: int) -> Embedding:
    """Linear discriminants, the covariance shrunk after Ledoit and Wolf."""
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    project, Z = on_span(X)
    fitted = LinearDiscriminantAnalysis(solver="eigen", shrinkage="auto").fit(Z, y)
    return lambda T: fitted.transform(project(T))


def nca(X: np.ndarray, y: np.ndarray, seed: int) -> Embedding:
    """scikit-learn's neighborhood components analysis, its defaults."""
    from sklearn.neighbors import NeighborhoodComponentsAnalysis

    project, Z = on_span(X)
    fitted = NeighborhoodComponentsAnalysis(random_state=seed).fit(Z, y)
    return lambda T: fitted.transform(project(T))


def probabilities(X: np.ndarray, y: np.ndarray, seed: int) -> Embedding:
    """Class probabilities of logistic regression on scaled features."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)).fit(X, y).predict_proba


def adapter(X: np.ndarray, y: np.ndarray, seed: int) -> Embedding:
    """A linear adapter near the identity on unit rows, trained with a contrastive loss."""
    L = train_adapter(unit_rows(X, y, seed)(X), y, seed)
    return lambda T: unit_rows(T @ L.T, y, seed)(T @ L.T)


def on_span(X: np.ndarray) -> tuple[Embedding, np.ndarray]:
    """Coordinates on the directions in which fewer points than features vary, and the points on them."""
    mean = X.mean(axis=0)
    if X.shape[0] > X.shape[1]:
        return lambda T: T - mean, X - mean
    _, values, Vt = np.linalg.svd(X - mean, full_matrices=False)
    basis = Vt[values > 1e-9 * values[0]].T
    return lambda T: (T - mean) @ basis, (X - mean) @ basis


RIVALS: dict[str, Callable[[np.ndarray, np.ndarray, int], Embedding]] = {
    "features": features,
    "cosine": unit_rows,
    "scaled": scaled,
    "whitened": whitened,
    "shrunk LDA": discriminant,
    "NCA (scikit-learn)": nca,
    "logistic probabilities": probabilities,
    "linear adapter": adapter,
}
"""All rivals; the first is what gains are counted from."""
