"""Rivals of a few lines that look at class probabilities, or at what a classifier makes of the points.

All by their defaults, but for the penalty of the logistic model (C = 10), the trees of a forest (300) and the steps of
a network (500); coordinates that are compared beside the features have these scaled to a spread of 1.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

Embedding = Callable[[np.ndarray], np.ndarray]
WIDE = 64
"""Columns from which on features are taken by their direction, and below by the variance of each column."""


def prepared(X: np.ndarray) -> Embedding:
    """Features of spread 1: rows of length one, or columns of one variance."""
    if X.shape[1] >= WIDE:
        scale = np.sqrt(spread(unit(X)))
        return lambda T: unit(T) / scale
    center, deviation = X.mean(axis=0), X.std(axis=0)
    deviation[deviation == 0] = 1.0
    scale = np.sqrt(spread((X - center) / deviation))
    return lambda T: (T - center) / deviation / scale


def unit(T: np.ndarray) -> np.ndarray:
    """Rows divided by their length."""
    return T / np.maximum(np.linalg.norm(T, axis=1, keepdims=True), 1e-12)


def spread(Z: np.ndarray) -> float:
    """Mean squared distance to the mean."""
    return float(((Z - Z.mean(axis=0)) ** 2).sum(axis=1).mean())


def logistic(seed: int) -> Any:
    """Logistic regression."""
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=10, max_iter=300)


def forest(seed: int) -> Any:
    """Extremely randomized trees."""
    from sklearn.ensemble import ExtraTreesClassifier

    return ExtraTreesClassifier(300, random_state=seed)


def roots(make: Callable[[int], Any], beside: bool) -> Callable[[np.ndarray, np.ndarray, int], Embedding]:
    """√p of a classifier, alone or beside the features with weight 1."""

    def fit(X: np.ndarray, y: np.ndarray, seed: int) -> Embedding:
        z = prepared(X)
        model = make(seed).fit(z(X), y)
        alone = lambda T: np.sqrt(model.predict_proba(z(T)))  # noqa: E731
        return (lambda T: np.hstack([z(T), alone(T)])) if beside else alone

    return fit


def hidden(beside: bool) -> Callable[[np.ndarray, np.ndarray, int], Embedding]:
    """The hidden layer (100 units) of a network that learned the classes, alone or beside the features."""

    def fit(X: np.ndarray, y: np.ndarray, seed: int) -> Embedding:
        from sklearn.neural_network import MLPClassifier

        z = prepared(X)
        net = MLPClassifier(max_iter=500, random_state=seed).fit(z(X), y)
        layer = lambda T: np.maximum(z(T) @ net.coefs_[0] + net.intercepts_[0], 0)  # noqa: E731
        scale = np.sqrt(spread(layer(X)))
        return (lambda T: np.hstack([z(T), layer(T) / scale])) if beside else layer

    return fit


def kernel_machine(X: np.ndarray, y: np.ndarray, seed: int) -> Embedding:
    """What a support vector machine with a Gaussian kernel says of each class."""
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.svm import SVC

    z = prepared(X)
    machine = OneVsRestClassifier(SVC(C=10, gamma=1.0)).fit(z(X), y)  # points have a spread of 1
    return lambda T: machine.decision_function(z(T)).reshape(len(T), -1)


RIVALS: dict[str, Callable[[np.ndarray, np.ndarray, int], Embedding]] = {
    "logistic roots": roots(logistic, beside=False),
    "logistic roots beside": roots(logistic, beside=True),
    "forest roots": roots(forest, beside=False),
    "forest roots beside": roots(forest, beside=True),
    "hidden layer": hidden(beside=False),
    "hidden layer beside": hidden(beside=True),
    "kernel machine": kernel_machine,
}
