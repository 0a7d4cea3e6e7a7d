"""Points with two true labelings, drawn as the sum of two independent mixtures (Jain 2009, §8.3.2)."""

from typing import Literal

import numpy as np

from gramian import _memory, _validate
from gramian._settings import Count, Seed, Share, Size, checked
from gramian.datasets.loaders import Dataset


@checked
def two_views(
    n: Count = 3000,
    d: Count = 30,
    *,
    n_clusters: Count | tuple[Count, Count] = 3,
    family: Literal["concatenated", "overlap", "sum"] = "concatenated",
    separation: Size = 2.0,
    correlation: Share = 0.0,
    noise: Size = 1.0,
    random_state: Seed = None,
) -> Dataset:
    """Two mixtures of Gaussians x and y, put together in one of three ways; y of the result is (n, 2).

    ``"concatenated"`` z = (x, y), 2d features; ``"overlap"`` z = (x₁, x₂ + y₁, y₂), halves of equal size, 3d/2
    features; ``"sum"`` z = x + y, d features. Cluster means are N(0, separation² I), points N(mean, noise² I).

    ``correlation`` c in [0, 1] ties the two views in *direction*: the means of y lie in the subspace that the means of
    x span with weight c, and in the open with weight √(1 − c²). The labelings stay independent. It needs views in the
    same space, ``family="sum"``.

    Parameters
    ----------
    n, d : int
        Points, and features of each view.
    n_clusters : int or (int, int)
    family : {"concatenated", "overlap", "sum"}
    separation, noise : float
        Standard deviations of the cluster means, and of the points around them.
    correlation : float
    random_state : int or generator, optional

    Examples
    --------
    >>> import gramian as gm
    >>> data = gm.datasets.two_views(100, 4, n_clusters=(2, 3), family="overlap", random_state=0)
    >>> data.X.shape, data.y.shape
    ((100, 6), (100, 2))
    """
    _memory.require(64 * n * d, "two_views", f"{n} points of two views of {d} features", "give a smaller n or d")
    c = correlation
    if c and family != "sum":
        raise ValueError("two_views: correlation needs both views in the same space; use family='sum'.")
    k = np.broadcast_to(n_clusters, 2).tolist()
    rng = _validate.random(random_state, "two_views")
    labels = np.column_stack([rng.randint(size, size=n) for size in k])
    means_x, means_y = (separation * rng.normal(size=(size, d)) for size in k)  # (k₁, d), (k₂, d)
    if c:
        inside = rng.normal(size=(k[1], k[0])) @ means_x / np.sqrt(k[0])  # in the span of the means of x
        means_y = c * inside + np.sqrt(1 - c**2) * means_y
    A, B = (means[y] + noise * rng.normal(size=(n, d)) for means, y in zip((means_x, means_y), labels.T))
    return Dataset(name="two_views", X=combine(A, B, family), y=labels, means=(means_x, means_y))


def combine(A: np.ndarray, B: np.ndarray, family: str) -> np.ndarray:
    """Two views side by side, with half of their features added, or added (§8.3.2)."""
    if family == "concatenated":
        return np.hstack([A, B])
    if family == "sum":
        total: np.ndarray = A + B
        return total
    half = A.shape[1] // 2
    rest = A.shape[1] - half  # features that are added
    return np.hstack([A[:, :half], A[:, half:] + B[:, :rest], B[:, rest:]])
