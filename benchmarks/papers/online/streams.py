"""What the online benchmarks share: constraints drawn from labels with the thesis's targets, and k-NN error."""

import numpy as np

import gramian as gm


def balanced_pairs(X, y, count, rng):
    """``count`` random pairs, half of one class, in random order; targets are the 5th and 95th percentile."""
    drawn = []
    for same in (True, False):
        left, right = rng.integers(0, len(X), (2, 20 * count))
        fit = (left != right) & ((y[left] == y[right]) == same)
        drawn.append(np.stack([left[fit], right[fit]])[:, : count // 2])
    left, right = rng.permutation(np.concatenate(drawn, axis=1), axis=1)
    return gm.Pairs(left, right, y[left] == y[right], bounds=percentiles(X, rng))


def percentiles(X, rng, low=5, high=95):
    """Percentiles of the squared distances of at most 1,000 points."""
    rows = rng.permutation(len(X))[:1000]
    D = gm.linalg.sqdist(X[rows])[np.triu_indices(len(rows), 1)]
    u, l = np.percentile(D[D > 0], [low, high])
    return u, l


def knn_error(metric, train, test, k):
    """Error of k nearest neighbors under a metric, the Euclidean one when None."""
    from sklearn.neighbors import KNeighborsClassifier

    (X, y), (Q, labels) = train, test
    embed = (lambda Z: Z) if metric is None else metric.transform
    return 1 - KNeighborsClassifier(k).fit(embed(X), y).score(embed(Q), labels)


def standardize(X, train):
    """Columns with zero mean and unit variance on the training rows."""
    scale = X[train].std(axis=0)
    scale[scale == 0] = 1
    return (X - X[train].mean(axis=0)) / scale


def principal(X, r):
    """Map to the first r principal components of X."""
    mean = X.mean(axis=0)
    _, vectors = np.linalg.eigh((X - mean).T @ (X - mean))
    return lambda Z: (Z - mean) @ vectors[:, ::-1][:, :r]
