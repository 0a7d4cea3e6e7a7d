"""Class probabilities p(x) as frozen values: linear models and trees are written down as arrays, others are held."""

import copy
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import softmax

from gramian import _validate, linalg
from gramian._arrays import Matrix
from gramian.persist import Stored

EQUAL = 1e-6
"""Probabilities that differ by less are those of the same model."""


class Probabilities(Stored, ABC):
    """p(x) over c classes; rows sum to 1."""

    classes: np.ndarray
    """Names of the classes, (c,)."""

    @property
    @abstractmethod
    def n_features(self) -> int:
        """Number of features of a point."""

    @abstractmethod
    def of(self, X: Matrix) -> np.ndarray:
        """p(x) of rows on the host, (n, c)."""

    def roots(self, X: Matrix) -> np.ndarray:
        """√p(x), (n, c): their squared distances are Hellinger's, their inner products Bhattacharyya's."""
        return np.sqrt(self.of(X))


@dataclass(frozen=True, eq=False)
class LinearProbabilities(Probabilities):
    """p(x) ∝ exp(Wx + b): what a logistic regression and a linear discriminant analysis say.

    Parameters
    ----------
    weights : array (c, d)
    intercept : array (c,)
    classes : array (c,)
    """

    weights: np.ndarray
    intercept: np.ndarray
    classes: np.ndarray

    def __post_init__(self) -> None:
        freeze(self, "weights", "intercept", "classes")
        lengths = {self.weights.shape[:1], self.intercept.shape, self.classes.shape}
        if self.weights.ndim != 2 or len(lengths) > 1:
            raise ValueError(
                "LinearProbabilities: weights must be (c, d), intercept and classes (c,), got "
                f"{self.weights.shape}, {self.intercept.shape} and {self.classes.shape}."
            )

    @property
    def n_features(self) -> int:
        """Number of columns of W."""
        return self.weights.shape[1]

    def of(self, X: Matrix) -> np.ndarray:
        """The softmax of Wx + b."""
        return softmax(linalg.dense(X @ self.weights.T) + self.intercept, axis=1)

    def scaled(self, center: np.ndarray, scale: Any) -> "LinearProbabilities":
        """The same model of points before (x − center) / scale."""
        weights = self.weights / scale
        return LinearProbabilities(weights, self.intercept - weights @ center, self.classes)


@dataclass(frozen=True, eq=False)
class ForestProbabilities(Probabilities):
    """The mean over trees of the class shares of the leaf that a point falls into.

    Nodes of all trees stand one after the other, each before its children. A point goes to the first child where its
    feature, (x − center) / scale in single precision, is at most the threshold; a leaf is its own child.

    Parameters
    ----------
    roots_at : array (t,)
        The first node of each tree.
    feature, threshold : array (m,)
        What is asked at each node.
    children : array (m, 2)
        Where to go from there.
    shares : CSR array (m, c)
        Class shares of the leaves.
    classes : array (c,)
    center, scale : array (d,)
        What single precision can tell apart lies around 0.
    """

    roots_at: np.ndarray
    feature: np.ndarray
    threshold: np.ndarray
    children: np.ndarray
    shares: Any
    classes: np.ndarray
    center: np.ndarray
    scale: np.ndarray

    def __post_init__(self) -> None:
        freeze(self, "roots_at", "feature", "threshold", "children", "classes", "center", "scale")
        m, nodes = len(self.feature), np.arange(len(self.feature))
        shapes = self.threshold.shape == (m,) and self.children.shape == (m, 2)
        inside = shapes and self.shares.shape == (m, len(self.classes)) and within(self.roots_at, m)
        if not inside or not within(self.feature, len(self.scale)) or not within(self.children, m):
            raise ValueError("ForestProbabilities: arrays of nodes must have one length and count nodes and features.")
        if (self.children < nodes[:, None]).any():  # then every walk ends
            raise ValueError("ForestProbabilities: children must stand behind their parents.")

    @property
    def n_features(self) -> int:
        """Number of features d."""
        return len(self.scale)

    def of(self, X: Matrix) -> np.ndarray:
        """Mean shares of the leaves."""
        points, t = ((linalg.dense(X) - self.center) / self.scale).astype(np.float32), len(self.roots_at)
        total = np.empty((len(points), len(self.classes)))
        for rows in linalg.blocks(len(points), 40 * t):
            leaves = self.leaves(points[rows])  # (b, t)
            ends = np.arange(0, leaves.size + 1, t)
            visits = sparse.csr_array(
                (np.full(leaves.size, 1 / t), leaves.ravel(), ends), (len(leaves), len(self.feature))
            )
            total[rows] = (visits @ self.shares).toarray()
        return total

    def scaled(self, center: np.ndarray, scale: np.ndarray) -> "ForestProbabilities":
        """The same model of points before (x − center) / scale."""
        return replace(self, center=center + scale * self.center, scale=scale * self.scale)

    def leaves(self, points: np.ndarray) -> np.ndarray:
        """The leaf of each tree that each point falls into, (n, t)."""
        at = np.broadcast_to(self.roots_at, (len(points), len(self.roots_at)))
        row = np.arange(len(points))[:, None]
        while True:
            right = points[row, self.feature[at]] > self.threshold[at]
            below = self.children[at, right.astype(np.intp)]
            if np.array_equal(below, at):
                return at
            at = below


@dataclass(frozen=True, eq=False)
class KernelProbabilities(Probabilities):
    """p(x) ∝ exp(Σ_i k(x, x_i) a_i): labeled points vote for classes, the nearer under a metric the more.

    k(x, x_i) = 1 + exp(−|z(x) − z_i|² / 2σ²) in the coordinates z of the metric.

    Parameters
    ----------
    metric : Metric
        Gives the coordinates.
    anchors : array (m, q)
        z_i.
    coefficients : array (m, c)
        a_i.
    scale : float
        σ.
    classes : array (c,)
    """

    metric: Any
    anchors: np.ndarray
    coefficients: np.ndarray
    scale: float
    classes: np.ndarray

    def __post_init__(self) -> None:
        freeze(self, "anchors", "coefficients", "classes")
        if self.anchors.ndim != 2 or self.coefficients.shape != (len(self.anchors), len(self.classes)):
            raise ValueError(
                "KernelProbabilities: anchors must be (m, q) and coefficients (m, c), got "
                f"{self.anchors.shape} and {self.coefficients.shape}."
            )

    @property
    def n_features(self) -> int:
        """Number of features that the metric takes."""
        return self.metric.n_features

    def of(self, X: Any) -> np.ndarray:
        """The softmax of the votes."""
        Z = linalg.dense(self.metric.transform_of(X))  # (n, q)
        scores = np.empty((len(Z), len(self.classes)))
        for rows in linalg.blocks(len(Z), 16 * len(self.anchors)):
            K = 1 + np.exp(linalg.sqdist(Z[rows], self.anchors) / (-2 * self.scale**2))
            scores[rows] = K @ self.coefficients
        return softmax(scores, axis=1)


@dataclass(frozen=True, eq=False)
class HeldProbabilities(Probabilities):
    """``predict_proba`` of a classifier that no arrays write down: held in memory, refused by files."""

    classifier: Any

    def __post_init__(self) -> None:
        # A copy: a later refit of the caller's must not reach us.
        object.__setattr__(self, "classifier", copy.deepcopy(self.classifier))

    @property
    def classes(self) -> np.ndarray:  # type: ignore[override]  # a field elsewhere
        """Names of the classes."""
        return self.classifier.classes_

    @property
    def n_features(self) -> int:
        """Number of features it was fitted on."""
        return int(self.classifier.n_features_in_)

    def of(self, X: Matrix) -> np.ndarray:
        """What the classifier says."""
        return np.asarray(self.classifier.predict_proba(linalg.dense(X)), dtype=np.float64)

    def _state(self) -> dict[str, Any]:
        raise TypeError(
            f"save: cannot store the probabilities of {type(self.classifier).__name__}, which no arrays write down; "
            "take LogisticRegression, LinearDiscriminantAnalysis or a forest, or keep metric.transform(X)."
        )

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> Any:
        raise ValueError("no file holds the probabilities of a classifier in memory")


def probabilities(classifier: Any, X: Matrix) -> Probabilities:
    """A fitted classifier as a value: as arrays where these say the same of the points X, held otherwise."""
    if isinstance(classifier, Probabilities):
        return classifier
    if not hasattr(classifier, "predict_proba") or not hasattr(classifier, "classes_"):
        raise TypeError(
            f"probabilities: classifier must be a fitted one with predict_proba, got {_validate.shown(classifier)}."
        )
    X, model = linalg.dense(X), HeldProbabilities(classifier)
    written = written_down(classifier)
    agrees = written is not None and np.abs(written.of(X) - model.of(X)).max(initial=0.0) < EQUAL
    return written if written is not None and agrees else model


def written_down(classifier: Any) -> LinearProbabilities | ForestProbabilities | None:
    """A linear model or trees, also behind a StandardScaler; None of others."""
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import StandardScaler

    if not isinstance(classifier, Pipeline):
        return linear_model(classifier) or trees(classifier)
    *before, last = (step for _, step in classifier.steps)
    model = written_down(last)
    if model is None or len(before) != 1 or not isinstance(before[0], StandardScaler):
        return None
    scaler, d = before[0], model.n_features
    return model.scaled(
        scaler.mean_ if scaler.with_mean else np.zeros(d), scaler.scale_ if scaler.with_std else np.ones(d)
    )


def linear_model(classifier: Any) -> LinearProbabilities | None:
    """W and b of a linear classifier; None of others."""
    if not hasattr(classifier, "coef_") or not hasattr(classifier, "intercept_"):
        return None
    weights, intercept = np.atleast_2d(classifier.coef_), np.atleast_1d(classifier.intercept_)
    if len(weights) == 1:  # one number for two classes: the other's is 0
        weights, intercept = np.vstack([0 * weights, weights]), np.append(0.0, intercept)
    return LinearProbabilities(weights, intercept, classifier.classes_) if len(weights) == len(intercept) else None


def trees(classifier: Any) -> ForestProbabilities | None:
    """The nodes of a tree, or of a forest whose probabilities are the mean of its trees; None of others."""
    grown = [classifier] if hasattr(classifier, "tree_") else getattr(classifier, "estimators_", [])
    if not len(grown) or not all(hasattr(tree, "tree_") for tree in np.ravel(grown)) or np.ndim(grown) > 1:
        return None
    parts = [tree.tree_ for tree in grown]
    counts = [tree.node_count for tree in parts]
    starts = np.cumsum([0, *counts[:-1]])
    inner = np.concatenate([tree.children_left >= 0 for tree in parts])
    pairs = [np.stack([tree.children_left, tree.children_right], axis=1) + at for tree, at in zip(parts, starts)]
    children = np.where(inner[:, None], np.concatenate(pairs), np.arange(len(inner))[:, None])
    values = [tree.value[:, 0, :] * (tree.children_left < 0)[:, None] for tree in parts]
    shares = sparse.vstack([sparse.csr_array(V / np.maximum(V.sum(axis=1, keepdims=True), 1e-300)) for V in values])
    return ForestProbabilities(
        starts.astype(np.int32),
        np.where(inner, np.concatenate([tree.feature for tree in parts]), 0).astype(np.int32),
        rounded_down(np.where(inner, np.concatenate([tree.threshold for tree in parts]), 0.0)),
        children.astype(np.int32),
        sparse.csr_array(shares),
        classifier.classes_,
        np.zeros(classifier.n_features_in_),
        np.ones(classifier.n_features_in_),
    )


def rounded_down(values: np.ndarray) -> np.ndarray:
    """The largest numbers of single precision that are no larger: they split such numbers alike."""
    single = values.astype(np.float32)
    return np.where(single > values, np.nextafter(single, np.float32(-np.inf)), single)


def within(indices: np.ndarray, n: int) -> bool:
    """Whether whole numbers count from 0 to n − 1."""
    return indices.dtype.kind in "iu" and bool(indices.size == 0 or (indices.min() >= 0 and indices.max() < n))


def freeze(value: Any, *names: str) -> None:
    """Make array fields copies that cannot be written to; names of classes that are objects become words."""
    for name in names:
        array = np.array(getattr(value, name))
        array = array.astype(str) if array.dtype.hasobject else array
        array.flags.writeable = False
        object.__setattr__(value, name, array)
