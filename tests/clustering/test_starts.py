"""Starts: the best of several tries, and what a single start finds."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

import gramian as gm
from gramian.clustering import decorrelated, match
from gramian.clustering.base import Run, lowest
from gramian.clustering.points import Points, parts
from gramian.clustering.starts import (
    KINDS,
    attempt,
    best_kmeans,
    first_labels,
    kmeans,
    objective,
    projected,
    promising,
    refill,
    representatives,
    shrink,
)


def run(value):
    return Run(np.zeros((1, 1)), np.zeros((1, 1)), value, np.array([value]), 0.0, 0.0)


def test_rounding_does_not_choose_between_runs():
    runs = [run(2.0), run(2.0 - 1e-13), run(1.0), run(1.0 + 1e-13)]
    assert lowest(runs) is runs[2] and lowest(runs[:2]) is runs[0]


def test_a_start_is_no_worse_than_the_first_labels_it_tried():
    data, k = gm.datasets.two_views(300, 10, n_clusters=3, family="sum", random_state=0), (3, 3)
    points = Points.of(data.X)
    lam, energy = 0.5 * 300**2 / points.norms.sum(), points.norms.sum()

    def value(labels):
        S, counts = points.sums(labels, k)
        return objective(energy, S, counts, representatives(S, counts, k, lam)[1], k, lam)

    for seed in range(5):
        found = value(promising(points, k, lam, np.random.RandomState(seed)))
        rng = np.random.RandomState(seed)
        for rest in KINDS:  # the same draws in the same order
            labels = first_labels(points, k, rng, rest)
            assert found <= value(refill(points, labels.copy(), k)) + 1e-9 * energy
            assert found <= attempt(points, labels, k, lam, 15).objective + 1e-9 * energy


@pytest.mark.parametrize("start", [promising, projected])
def test_starts_on_some_points_label_all(start):
    data = gm.datasets.two_views(3000, 10, n_clusters=2, family="sum", random_state=0)
    points = Points.of(data.X)
    labels = start(points, (2, 2), 3000**2 / points.norms.sum(), np.random.RandomState(0))
    assert labels.shape == (3000, 2) and match(labels, data.y).scores.min() > 0.9


def test_one_start_mostly_finds_both_labelings():
    data = gm.datasets.two_views(1000, 20, n_clusters=5, family="sum", random_state=0)
    fits = [gm.DecorrelatedKMeans((5, 5), n_init=1, random_state=seed).fit(data.X) for seed in range(6)]
    assert np.median([match(fitted.labels_, data.y).scores.min() for fitted in fits]) > 0.95


def test_a_projected_start_is_k_means_off_the_others_means():
    data, k = gm.datasets.two_views(200, 10, n_clusters=(2, 3), family="sum", random_state=0), (2, 3)
    points = Points.of(data.X)
    labels = projected(points, k, 1.0, np.random.RandomState(0))
    means = [np.array([points.X[labels[:, t] == i].mean(axis=0) for i in range(k[t])]) for t in range(2)]
    for t in range(2):
        Q = np.linalg.svd(means[1 - t], full_matrices=False)
        V = Q[2][Q[1] > 1e-10 * Q[1].max()]
        Z, C = points.X - points.X @ V.T @ V, means[t] - means[t] @ V.T @ V
        assert np.mean(((Z[:, None] - C) ** 2).sum(axis=2).argmin(axis=1) == labels[:, t]) > 0.98


def test_a_fit_has_starts_of_both_kinds(monkeypatch):
    seen = []
    for name in ("promising", "projected"):
        kind = getattr(decorrelated, name)
        monkeypatch.setattr(decorrelated, name, lambda *args, name=name, kind=kind: (seen.append(name), kind(*args))[1])
    X = gm.datasets.two_views(60, 5, n_clusters=2, family="sum", random_state=0).X
    gm.DecorrelatedKMeans((2, 2), n_init=4, random_state=0).fit(X)
    assert seen == ["promising", "projected"] * 2
    seen.clear()
    gm.DecorrelatedKMeans((3,), n_init=2, random_state=0).fit(X)
    assert seen == ["promising"] * 2


@pytest.mark.parametrize("k", [(1,), (3, 1), (2, 4, 3)])
def test_nearest_centers_are_the_closest_of_each_clustering(k, rng):
    Z, C = rng.normal(size=(40, 3)), rng.normal(size=(sum(k), 3))
    found = Points.of(Z, center=False).nearest(C, k)
    D = ((Z[:, None] - C) ** 2).sum(axis=2)
    assert np.array_equal(found, np.column_stack([D[:, part].argmin(axis=1) for part in parts(k)]))


def test_best_kmeans_is_scikit_learns(rng):
    from sklearn.cluster import KMeans

    Z = rng.normal(size=(90, 3)) + 8 * np.eye(3)[np.arange(90) % 3]
    labels, means = best_kmeans(Points.of(Z, center=False), 3, np.random.RandomState(0), 5)
    theirs = KMeans(3, n_init=5, random_state=0).fit(Z)
    ours = ((Z - means[labels]) ** 2).sum()
    assert ours == pytest.approx(theirs.inertia_)


@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(1, 6), st.floats(-6, 12))
def test_shrinking_is_the_inverse_of_8_2(seed, m, d, decade):
    rng = np.random.default_rng(seed)
    A, B, xi = rng.normal(size=(4, d)), rng.normal(size=(m, d)), 10.0**decade * rng.uniform(0.1, 1, 4)
    inverse = np.array([np.linalg.solve(np.eye(d) + x * B.T @ B, a) for a, x in zip(A, xi)])
    if decade < 6:
        assert np.allclose(shrink(A, B, xi), inverse, atol=1e-8)
    out = shrink(A, B, xi)
    assert np.isfinite(out).all() and (np.linalg.norm(out, axis=1) <= np.linalg.norm(A, axis=1) * (1 + 1e-12)).all()


def test_projected_kmeans_never_forms_the_projection(rng):
    Z = rng.normal(size=(80, 5))
    off = np.linalg.qr(rng.normal(size=(5, 2)))[0].T
    labels, _ = kmeans(Points.of(Z, center=False), 3, np.random.RandomState(0), off)
    PZ = Z - Z @ off.T @ off
    plain, _ = kmeans(Points.of(PZ, center=False), 3, np.random.RandomState(0))
    assert np.array_equal(labels, plain)


def test_empty_clusters_take_the_worst_points(rng):
    Z = np.vstack([rng.normal(size=(9, 2)) * 0.01, [[50.0, 0.0]]])
    labels = refill(Points.of(Z, center=False), np.zeros((10, 1), int), (3,), np.zeros((3, 2)))
    assert np.bincount(labels[:, 0]).tolist() == [8, 1, 1] and labels[9, 0] == 1
    fitted = gm.DecorrelatedKMeans((4, 3), random_state=0).fit(np.repeat(np.eye(3), 4, axis=0))
    assert [len(np.unique(c)) for c in fitted.labels_.T] == [4, 3]


def test_a_start_cut_short_says_so(rng):
    X = rng.normal(size=(300, 4))
    with pytest.warns(ConvergenceWarning, match=r"DecorrelatedKMeans: stopped after 1 iterations with residual"):
        gm.DecorrelatedKMeans((5, 5), n_init=1, max_iter=1, random_state=0).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert gm.DecorrelatedKMeans((5, 5), n_init=1, random_state=0).fit(X).converged_


def neighbors(kind, metric, X, queries):
    """Ids of the 5 nearest in X, by one kind of index."""
    if kind in ("ExactIndex", "HashIndex"):
        options = {} if kind == "ExactIndex" else {"random_state": 0}
        return getattr(gm, kind)(metric, **options).add(X).query(queries, 5)[0]
    pytest.importorskip(kind)
    if kind == "faiss":
        return gm.to_faiss(metric, X).search(queries.astype("float32"), 5)[1]
    return gm.to_hnswlib(metric, X).knn_query(metric.transform(queries), 5)[0].astype(int)
