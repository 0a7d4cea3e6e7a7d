"""Small synthetic problems, each made to show one thing about distances; one has two labelings (Jain 2009, §8.3.2)."""

from typing import Any, Literal

import numpy as np

from gramian import _memory, _validate
from gramian._settings import Count, Index, Positive, Seed, Share, Size, checked
from gramian.datasets.loaders import Dataset


@checked
def nuisance(
    n: Count = 300,
    n_classes: Count = 3,
    *,
    informative: Count = 2,
    noise_features: Index = 8,
    noise_scale: Size = 5.0,
    random_state: Seed = None,
) -> Dataset:
    """Gaussian clusters in a few features, loud noise in the others: a metric that forgets the noise helps.

    Class c is N(μ_c, I) in the ``informative`` features, with means drawn on a sphere of radius 3; the others are
    N(0, noise_scale²) whatever the class. ``informative`` in the result is a mask over features.

    Parameters
    ----------
    n, n_classes : int
        Points, and classes of equal size.
    informative, noise_features : int
        Features that tell the classes apart, and those that do not.
    noise_scale : float
        Standard deviation of the noise.
    random_state : int or generator, optional

    Examples
    --------
    >>> import gramian as gm
    >>> data = gm.datasets.nuisance(random_state=0)
    >>> data.X.shape, int(data.informative.sum())
    ((300, 10), 2)
    """
    rng = started("nuisance", random_state, n, informative + noise_features, n_classes)
    y = np.arange(n) % n_classes
    means = spread_directions(n_classes, informative, rng) * 3  # (n_classes, informative)
    signal = means[y] + rng.normal(size=(n, informative))
    noise = noise_scale * rng.normal(size=(n, noise_features))
    mask = np.arange(informative + noise_features) < informative
    return _shuffled("nuisance", np.hstack([signal, noise]), y, rng, informative=mask)


@checked
def stretched(
    n: Count = 300, n_classes: Count = 3, *, d: Count = 2, condition: Positive = 100.0, random_state: Seed = None
) -> Dataset:
    """Parallel elongated clusters: neighbors along the long axis mislead until the metric whitens it.

    Class c is N(3c·e₁, diag(1/4, condition, …, condition)) turned by a random rotation, the example behind relevant
    component analysis. ``metric`` in the result is the inverse of the covariance within classes.

    Parameters
    ----------
    n, n_classes, d : int
        Points, classes of equal size, features.
    condition : float
        Variance along the long axes; it is 1/4 along the short one.
    random_state : int or generator, optional

    Examples
    --------
    >>> import gramian as gm
    >>> gm.datasets.stretched(d=3, random_state=0).metric.shape
    (3, 3)
    """
    rng = started("stretched", random_state, n, d)
    y = np.arange(n) % n_classes
    scale = np.full(d, np.sqrt(float(condition)))  # (d,), standard deviations
    scale[0] = 0.5
    X = rng.normal(size=(n, d)) * scale
    X[:, 0] += 3.0 * y
    Q, _ = np.linalg.qr(rng.normal(size=(d, d)))  # a random rotation
    return _shuffled("stretched", X @ Q.T, y, rng, metric=(Q / scale**2) @ Q.T)


@checked
def xor(n: Count = 200, noise: Size = 0.3, *, noise_features: Index = 0, random_state: Seed = None) -> Dataset:
    """Four clusters at the corners of a square, opposite corners of one class: no linear metric separates the means.

    The classes have the same mean and the same covariance, so every method that looks only at these fails; a kernel or
    a method of local neighborhoods does not.

    Parameters
    ----------
    n : int
    noise : float
        Standard deviation around the corners (±1, ±1).
    noise_features : int
        Further features, standard normal.
    random_state : int or generator, optional

    Examples
    --------
    >>> import gramian as gm
    >>> data = gm.datasets.xor(noise_features=1, random_state=0)
    >>> data.X.shape, sorted(set(data.y.tolist()))
    ((200, 3), [0, 1])
    """
    rng = started("xor", random_state, n, 2 + noise_features)
    corner = np.arange(n) % 4
    signs = np.column_stack([corner // 2, corner % 2]) * 2.0 - 1  # (n, 2) of ±1
    X = np.hstack([signs + noise * rng.normal(size=(n, 2)), rng.normal(size=(n, noise_features))])
    return _shuffled("xor", X, (signs.prod(axis=1) > 0).astype(int), rng)


@checked
def rings(n: Count = 300, n_classes: Count = 2, *, noise: Size = 0.1, random_state: Seed = None) -> Dataset:
    """Concentric circles of radius 1, 2, …: separable by a kernel, never by a linear map.

    Parameters
    ----------
    n, n_classes : int
        Points, and circles, one class each.
    noise : float
        Standard deviation of the radius.
    random_state : int or generator, optional

    Examples
    --------
    >>> import gramian as gm
    >>> gm.datasets.rings(n_classes=3, random_state=0).X.shape
    (300, 2)
    """
    rng = started("rings", random_state, n, 2)
    y = np.arange(n) % n_classes
    radius = 1 + y + noise * rng.normal(size=n)
    angle = rng.uniform(0, 2 * np.pi, n)  # (n,)
    return _shuffled("rings", radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)]), y, rng)


@checked
def moons(n: Count = 200, noise: Size = 0.1, *, random_state: Seed = None) -> Dataset:
    """Two half circles that reach into each other, for methods that follow the shape of the data.

    Parameters
    ----------
    n : int
    noise : float
        Standard deviation around the half circles, of radius 1.
    random_state : int or generator, optional

    Examples
    --------
    >>> import gramian as gm
    >>> gm.datasets.moons(random_state=0).X.shape
    (200, 2)
    """
    rng = started("moons", random_state, n, 2)
    y = np.arange(n) % 2
    angle = rng.uniform(0, np.pi, n)
    upper = np.column_stack([np.cos(angle), np.sin(angle)])
    lower = np.column_stack([1 - np.cos(angle), 0.5 - np.sin(angle)])
    X = np.where(y[:, None] == 0, upper, lower) + noise * rng.normal(size=(n, 2))
    return _shuffled("moons", X, y, rng)


def started(owner: str, random_state: Any, n: int, d: int, n_classes: int = 1) -> np.random.RandomState:
    """The generator, after a look at whether the points will fit into memory."""
    _memory.require(32 * n * d, owner, f"{n} × {d} points", "give a smaller n")
    _memory.require(400 * n_classes * (n_classes + d), owner, f"{n_classes} classes", "give a smaller n_classes")
    return _validate.random(random_state, owner)


def spread_directions(k: int, d: int, rng: np.random.RandomState) -> np.ndarray:
    """K unit vectors in d dimensions, as far from each other as the best of 50 draws."""
    draws = rng.normal(size=(50, k, d))
    draws /= np.linalg.norm(draws, axis=2, keepdims=True)
    gaps = ((draws[:, :, None] - draws[:, None]) ** 2).sum(axis=3) + 9 * np.eye(k)  # (50, k, k), ≤ 4 off the diagonal
    best: np.ndarray = draws[gaps.min(axis=(1, 2)).argmax()]
    return best


def _shuffled(name: str, X: np.ndarray, y: np.ndarray, rng: np.random.RandomState, **extras: Any) -> Dataset:
    order = rng.permutation(len(y))
    return Dataset(name=name, X=X[order], y=y[order], **extras)


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
