"""The two simple ways to a second clustering that chapter 8 of Jain 2009 compares with (§8.3)."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from gramian import _validate
from gramian.clustering.base import sizes
from gramian.clustering.points import Points, precise
from gramian.clustering.starts import best_kmeans, in_turn


def feature_removal(
    X: Any,
    n_clusters: Sequence[int] = (2, 2),
    *,
    fraction: float = 0.5,
    n_init: int = 10,
    random_state: Any = None,
) -> np.ndarray:
    """Labels (n, T): k-means, and k-means again without the features that tell most about the clusters before.

    Feature f is scored by Σ_j |μ_jf| over the entropy of the shares |μ_jf| / Σ_l |μ_lf| of the cluster means; the
    ``fraction`` of the features left with the largest scores is removed. The thesis has no absolute values, for data
    that are not negative, does not say how many features go, and stops at two clusterings.
    """
    X, k, rng = _door(X, n_clusters, "feature_removal", random_state)
    columns = []
    for size in k:
        points = Points.compact(X)
        labels, means = best_kmeans(points, size, rng, n_init)
        columns.append(labels)
        X = X[:, telling_less(X, points.lifted(means), fraction)]
    return np.column_stack(columns)


def telling_less(X: Any, means: np.ndarray, fraction: float) -> np.ndarray:
    """The features that are left when those with the largest scores go; one stays at least."""
    weight = np.abs(means + np.asarray(X.mean(axis=0)).ravel()) if _nonnegative(X) else np.abs(means)
    total = weight.sum(axis=0)
    share = weight / np.maximum(total, 1e-300)
    entropy = -(share * np.log(np.maximum(share, 1e-300))).sum(axis=0)
    order = np.argsort(-total / np.maximum(entropy, 1e-12), kind="stable")
    return np.sort(order[min(int(fraction * X.shape[1]), X.shape[1] - 1) :])


def orthogonal_projection(
    X: Any, n_clusters: Sequence[int] = (2, 2), *, n_init: int = 10, rounds: int = 10, random_state: Any = None
) -> np.ndarray:
    """Labels (n, T): k-means of the data projected off the means of the others, in turn until nothing moves.

    Steps (a)–(e) of §8.3 of Jain 2009, after the gene shaving of Hastie et al. (2000); at most ``rounds`` turns.
    """
    X, k, rng = _door(X, n_clusters, "orthogonal_projection", random_state)
    return in_turn(Points.compact(X), k, rng, range(len(k)), len(k) * rounds, n_init)


def _door(X: Any, n_clusters: Any, owner: str, random_state: Any) -> tuple[Any, tuple[int, ...], Any]:
    k = sizes(n_clusters, owner)
    return precise(_validate.points(X, owner, min_points=max(k))), k, _validate.random(random_state, owner)


def _nonnegative(X: Any) -> bool:
    return bool((X.data if sparse.issparse(X) else X).min(initial=0.0) >= 0)
