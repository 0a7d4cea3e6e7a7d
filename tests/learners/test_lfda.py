"""Local Fisher analysis: its scatters, its criterion, its neighbors."""

import numpy as np
import pytest
from sklearn.datasets import load_wine

import gramian as gm
from gramian.constraints import Labels
from gramian.learners.lfda import lfda, local_scatters


@pytest.fixture(scope="module")
def wine():
    return load_wine(return_X_y=True)


def laplacian_scatters(X, y, k):
    """S_w and S_b from all n × n weights, as Sugiyama (2007) writes them."""
    n, D = len(X), ((X[:, None] - X[None]) ** 2).sum(-1)
    within, between = np.zeros((n, n)), np.full((n, n), 1 / n)
    for c in np.unique(y):
        own = np.flatnonzero(y == c)
        block = D[np.ix_(own, own)]
        scale = np.sqrt(np.sort(block, axis=1)[:, min(k, len(own) - 1)])
        A = np.exp(-block / np.outer(scale, scale))
        within[np.ix_(own, own)] = A / len(own)
        between[np.ix_(own, own)] = A * (1 / n - 1 / len(own))
    return tuple(X.T @ (np.diag(W.sum(axis=1)) - W) @ X for W in (within, between))


@pytest.mark.parametrize("k", [1, 7, 1000])
def test_local_scatters_are_those_of_the_full_laplacians(wine, k):
    X, y = wine
    X = X / X.std(axis=0)
    found = local_scatters(X, X, Labels.from_array(y, "test"), k)
    for ours, theirs in zip(found, laplacian_scatters(X, y, k)):
        np.testing.assert_allclose(ours, theirs, atol=1e-8 * np.abs(theirs).max())


def test_with_equal_affinities_lfda_is_fishers_analysis(wine):
    X, y = wine
    X = X / X.std(axis=0)
    within, between = local_scatters(np.zeros_like(X), X, Labels.from_array(y, "test"), 7)
    means = np.stack([X[y == c].mean(axis=0) for c in range(3)])[y]
    np.testing.assert_allclose(within, (X - means).T @ (X - means), atol=1e-8)
    np.testing.assert_allclose(between, (means - X.mean(axis=0)).T @ (means - X.mean(axis=0)), atol=1e-8)


def test_lfda_maximizes_its_criterion(wine, rng):
    X, y = wine
    X = X / X.std(axis=0)
    within, between = laplacian_scatters(X, y, 7)

    def criterion(L):
        return np.trace(np.linalg.solve(L @ within @ L.T, L @ between @ L.T))

    fitted = gm.LFDA(n_components=2, reg=1e-12, anchor=0).fit(X, y)
    best = criterion(fitted.components_)
    assert fitted.objective_ == pytest.approx(best, rel=1e-6)
    for _ in range(20):
        assert criterion(fitted.components_ + 0.1 * rng.normal(size=(2, 13))) < best


def test_the_neighbors_of_lfda_are_those_of_the_paper_or_chosen_with_the_weight(wine):
    X, y = wine
    papers, seven = (gm.LFDA(n_neighbors=k, anchor=0).fit(X, y).metric_.matrix for k in ("auto", 7))
    np.testing.assert_array_equal(papers, seven)
    auto = gm.LFDA(random_state=0).fit(X, y)
    given = [gm.LFDA(n_neighbors=k, anchor=auto.anchor_).fit(X, y).metric_.matrix for k in (7, 30)]
    assert 0 < auto.anchor_ < 1 and sum(np.allclose(auto.metric_.matrix, M) for M in given) == 1


def test_embeddings_of_lfda_differ_by_their_lengths_only(wine):
    X, y = wine
    labels = Labels.from_array(y, "test")
    weighted, orthonormal, plain = (
        lfda(X, labels, 7, 2, name, 1e-6).factor for name in ("weighted", "orthonormalized", "plain")
    )
    np.testing.assert_allclose(orthonormal @ orthonormal.T, np.eye(2), atol=1e-12)
    lengths = np.linalg.norm(weighted, axis=1) / np.linalg.norm(plain, axis=1)
    np.testing.assert_allclose(weighted, lengths[:, None] * plain)
    np.testing.assert_allclose((lengths**2).sum(), lfda(X, labels, 7, 2, "plain", 1e-6).objective)
    angles = np.linalg.svd(orthonormal @ np.linalg.qr(plain.T)[0])[1]
    np.testing.assert_allclose(angles, 1, atol=1e-9)


def test_lfda_does_not_depend_on_the_order_or_the_scale_of_points(wine, rng):
    X, y = wine
    order = rng.permutation(len(X))
    first, again = gm.LFDA(anchor=0).fit(X, y), gm.LFDA(anchor=0).fit(1e3 * X[order], y[order])
    np.testing.assert_allclose(first.metric_.sqdist(X), again.metric_.sqdist(1e3 * X), rtol=1e-5, atol=1e-5)


def test_lfda_keeps_the_groups_of_a_class_apart(rng):
    """Two groups of one class on both sides of another: Fisher's direction is lost, the local one is not."""
    X = np.concatenate([rng.normal(size=(40, 2)) * [1, 0.2] + [0, level] for level in (-3, 0, 3)])
    y = np.repeat([0, 1, 0], 40)
    direction = gm.LFDA(n_components=1).fit(X, y).components_[0]
    assert abs(direction[1]) > 10 * abs(direction[0])
