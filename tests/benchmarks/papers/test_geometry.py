"""Facts of Li, Yang and Wang (2007) and of Jain (2009), chapter 6, on the data they used."""

import numpy as np
import pytest

import gramian as gm
from gramian.manifold import GaussianGraph, NeighborGraph, SpectralFamily, n_connected_components
from gramian.manifold.transductive import vote

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*connected components", "ignore::sklearn.exceptions.ConvergenceWarning"
)


def test_labels_help_on_ionosphere_as_in_table_1(data_folder):
    """TDL, Table 1: 89.37 ± 5.32 against 85.01 ± 4.02 of Laplacian eigenmaps."""
    data = np.load(data_folder / "ionosphere.npz")
    X, y = data["X"].astype(float), data["y"].astype(int)
    span = np.ptp(X, axis=0)
    X = (X - X.min(axis=0)) / np.where(span > 0, span, 1)
    A = GaussianGraph(np.sqrt(0.125))(X)  # exp(−d² / 0.25)
    plain = gm.LaplacianEigenmaps(10, graph=A).fit_transform(X)
    scores = []
    for seed in range(15):
        known = np.random.default_rng(seed).permutation(len(y))[:35]
        labels = np.full(len(y), -1)
        labels[known] = y[known]
        tdl = gm.TDL(10, lam=1024.0, n_neighbors=20, graph=A).fit(X, labels).embedding_
        scores.append([100 * np.mean(vote(F[known], y[known], F, 1) == y) for F in (tdl, plain)])
    ours, theirs = np.mean(scores, axis=0)
    assert ours > theirs + 1 and abs(ours - 89.37) < 5.32 and abs(theirs - 85.01) < 4.02


def test_ten_links_align_rotating_objects(data_folder):
    """Figure 6.8: ten must-links double the recall of the diffusion kernel, unless both kernels are let shrink."""
    data = np.load(data_folder / "coil20_32x32.npz")
    X, y = data["X"].astype(float) / 255, data["y"]
    angle = np.tile(np.arange(72) * 5, 3)
    right = np.abs((angle[:, None] - angle + 180) % 360 - 180) <= 5
    np.fill_diagonal(right, False)

    def recall(D):
        order = np.argsort(D + np.diag(np.full(len(D), np.inf)), axis=1)[:, :8]
        return np.take_along_axis(right, order, 1).mean()

    rows = np.concatenate([np.flatnonzero(y == o) for o in (0, 2, 9)])
    Z = X[rows]
    assert n_connected_components(NeighborGraph(2)(Z)) == 3
    rng = np.random.default_rng(0)
    same = rng.permutation(72)[:10]
    ends = np.array([rng.permutation(3)[:2] for _ in same])
    links = gm.Pairs(ends[:, 0] * 72 + same, ends[:, 1] * 72 + same, np.ones(10, bool), bounds=(1e-5, 1.0))
    prior, shrinking = (SpectralFamily(n_eigenvectors=14, n_neighbors=2, keep_volume=keep) for keep in (None, False))
    start = recall(gm.GeometryAwareKernel(prior).fit(Z, np.full(216, -1)).metric_.sqdist(Z))
    held = gm.GeometryAwareKernel(prior, gamma=100.0, max_iter=5).fit(Z, links)
    free = gm.GeometryAwareKernel(shrinking, gamma=100.0, max_iter=60).fit(Z, links)
    assert start == pytest.approx(0.25, abs=0.02)  # two of eight: the neighbors on one's own circle
    assert recall(held.metric_.sqdist(Z)) > 1.6 * start
    assert recall(free.metric_.sqdist(Z)) < 1.1 * start
