"""Pairs and comparisons of a known optimum."""

import cvxpy as cp
import numpy as np

import gramian as gm


def classes_apart(rng, n=24, d=3, classes=3):
    y = np.arange(n) % classes
    X = rng.standard_normal((n, d)) * np.linspace(1, 2, d)
    X[:, 0] += y
    return X, y


def outer_products(X, i, j):
    """Rows vec(v vᵀ) of the differences v = x_i − x_j."""
    V = X[i] - X[j]
    return (V[:, :, None] * V[:, None, :]).reshape(len(V), -1)


def comparisons(rng, n=30, d=3, m=40, margin=1.0):
    """Comparisons that the identity violates about half of the time."""
    X = rng.normal(size=(n, d)) * np.linspace(0.3, 2, d)
    i, j, k, l = rng.integers(n, size=(4, m))
    real = (i != j) & (k != l)
    return X, gm.Quadruplets(i[real], j[real], k[real], l[real], margin=margin, weight=rng.uniform(0.5, 2, real.sum()))


def violations(M, X, side):
    """margin + d²(near pair) − d²(far pair) as cvxpy expressions."""
    near, far = (X[i] - X[j] for i, j in (side.near_ends, side.far_ends))
    terms = [np.outer(a, a) - np.outer(b, b) for a, b in zip(near, far)]
    return side.margin + cp.hstack([cp.sum(cp.multiply(A, M)) for A in terms])


def labeled_points(n=200, d=4, classes=4, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    return rng.normal(size=(n, d)) * np.arange(1, d + 1) + 2 * rng.normal(size=(classes, d))[y], y
