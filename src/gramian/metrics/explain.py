"""Why two points are near or far: shares of features, of classes, or of the points of a basis, that add up to d²."""

from collections.abc import Callable
from typing import Any

import numpy as np

from gramian import _validate, linalg
from gramian._arrays import to_numpy

STEPS = 16
"""Parts of the way from one point to the other."""


def of_features(metric: Any, x: Any, y: Any) -> np.ndarray:
    """Shares of the features in the squared distance of x and y (1, d), (d,): v_j (Wv)_j, or followed on the way."""
    X, Y = metric.check(x, "x"), metric.check(y, "y")
    coordinates, alpha = metric.coordinates, metric.alpha
    Z = coordinates.difference(X, Y)
    inside = coordinates.back(np.asarray(Z @ (metric.core - alpha * np.eye(len(metric.core)))))
    if inside is not None:
        V = linalg.dense(X).astype(np.float64) - linalg.dense(Y)
        return (V * (inside + alpha * V))[0]
    if metric.n_features is None:
        owner = type(metric).__name__
        remedy = 'give by="basis" for those of the points of the basis'
        raise TypeError(f"{owner}: points that are no vectors have no shares of features; {remedy}.")
    start, end = (linalg.dense(to_numpy(point))[0] for point in (y, x))
    return along_the_way(lambda P: metric.sqdist(P, start[None])[:, 0], start, end)


def of_basis(metric: Any, x: Any, y: Any) -> np.ndarray:
    """Shares of the m points of the basis in the squared distance of x and y, and last that of the rest, (m + 1,)."""
    X, Y = metric.check(x, "x"), metric.check(y, "y")
    coordinates = metric.coordinates
    inside = coordinates.on_basis(X, Y, metric.core)
    if inside is None:
        owner = type(metric).__name__
        raise TypeError(f"{owner}: by='basis' needs a metric of a kernel; others have shares of features alone.")
    rest = coordinates.pair_rest(X, Y, coordinates.difference(X, Y)) if metric.alpha > 0 else np.zeros(1)
    return np.append(inside, metric.alpha * rest)


def of_classes(metric: Any, x: Any, y: Any) -> np.ndarray:
    """Shares of the c class probabilities in the squared distance of x and y, and last that of the rest, (c + 1,)."""
    X, Y = metric.check(x, "x"), metric.check(y, "y")
    if metric.coordinates.classes is None:
        owner = type(metric).__name__
        raise TypeError(f"{owner}: by='classes' needs a metric of class probabilities, such as Posteriors learn.")
    Z, c = metric.coordinates.difference(X, Y), len(metric.coordinates.classes)
    shares = linalg.dense(Z * (Z @ metric.core))[0, -c:]  # z_j (Mz)_j
    return np.append(shares, float(metric.pair_sqdist_of(X, Y)[0]) - shares.sum())


def along_the_way(function: Callable[[np.ndarray], np.ndarray], start: Any, end: Any, steps: int = STEPS) -> np.ndarray:
    """What each feature adds to f(end) − f(start), (d,), on the straight way between two points.

    In each part of the way the features take their new values one after the other, once in their order and once in
    the opposite one, and a feature gets the mean of its two changes. All changes add up to f(end) − f(start) whatever
    f is. With more parts they tend to the integral of v_j ∂f/∂x_j along the way (Aumann and Shapley 1974; integrated
    gradients of Sundararajan et al. 2017), and of f(x) = (x − y)ᵀM(x − y) they are v_j (Mv)_j for any number of them.

    Parameters
    ----------
    function : callable
        f: points (m, d) → values (m,).
    start, end : array (d,)
    steps : int
        Parts of the way.
    """
    start, end = np.asarray(start, dtype=np.float64), np.asarray(end, dtype=np.float64)
    shares = np.zeros(len(start))
    moving = np.flatnonzero(start != end)
    for t in range(steps):
        point = start + (end - start) * (t / steps)
        next_point = end if t + 1 == steps else start + (end - start) * ((t + 1) / steps)
        for order in (moving, moving[::-1]):
            shares[order] += np.diff(one_by_one(function, point, next_point, order)) / 2
    return shares


def one_by_one(function: Callable[..., Any], here: np.ndarray, there: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Values of f while the features of ``order`` move, (m + 1,); a block of points at a time."""
    values = np.empty(len(order) + 1)
    for rows in linalg.blocks(len(values), 24 * len(here)):
        moved = np.arange(rows.start, rows.stop)[:, None] > np.arange(len(order))
        points = np.repeat(here[None], rows.stop - rows.start, axis=0)
        points[:, order] = np.where(moved, there[order], here[order])
        values[rows] = function(points)
    return values


def by_name(found: np.ndarray, names: Any, owner: str, by: str) -> dict[str, float]:
    """Shares under the names of their features, or points of a basis and the rest, the largest first."""
    count = len(found) - (by != "features")
    if not isinstance(names, list | tuple | np.ndarray) or len(names) != count:
        wanted = f"{count} names of {'points of the basis' if by == 'basis' else by}"
        raise ValueError(f"{owner}: names must be {wanted}, got {_validate.shown(names)}.")
    named = [*map(str, names), "rest"]
    return {named[j]: float(found[j]) for j in np.argsort(-np.abs(found), kind="stable")}
