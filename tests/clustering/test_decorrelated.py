"""Decorrelated k-means against (8.1) written out, dense algebra, and what must not matter."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

import gramian as gm
from gramian.clustering import match, redundancy
from gramian.clustering.decorrelated import merge_costs, relocated, split
from gramian.clustering.points import Points, parts
from gramian.clustering.starts import descend, first_labels, objective, refill, representatives


def printed(Z, labels, centers, k, lam):
    """(8.1) as printed, with loops; for T clusterings over all ordered pairs."""
    total, stacks = 0.0, [centers[part] for part in parts(k)]
    means = [
        np.array([Z[labels[:, t] == i].mean(axis=0) if (labels[:, t] == i).any() else 0 * Z[0] for i in range(k[t])])
        for t in range(len(k))
    ]
    for t, mu in enumerate(stacks):
        total += sum(((z - mu[i]) ** 2).sum() for z, i in zip(Z, labels[:, t]))
        total += lam * sum((b @ m) ** 2 for s in range(len(k)) if s != t for b in means[s] for m in mu)
    return total


@st.composite
def problems(draw):
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    k = tuple(draw(st.lists(st.integers(1, 4), min_size=1, max_size=3)))
    n, d = draw(st.integers(5, 20)), draw(st.integers(1, 6))
    Z = rng.normal(size=(n, d)) * 10.0 ** draw(st.integers(-2, 2))
    labels = np.column_stack([rng.integers(size, size=n) for size in k])
    return Z, labels, k, 10.0 ** draw(st.integers(-3, 4)) * n / (Z**2).sum()


@given(problems())
def test_objective_from_sums_is_the_printed_one(problem):
    Z, labels, k, lam = problem
    points = Points.of(Z, center=False)
    S, counts = points.sums(labels, k)
    _, centers = representatives(S, counts, k, lam)
    assert objective(points.norms.sum(), S, counts, centers, k, lam) == pytest.approx(
        printed(Z, labels, centers, k, lam), rel=1e-9, abs=1e-9 * (Z**2).sum()
    )


@given(problems())
def test_centers_are_the_exact_minimizer_for_their_labels(problem):
    Z, labels, k, lam = problem
    points = Points.of(Z, center=False)
    S, counts = points.sums(labels, k)
    _, centers = representatives(S, counts, k, lam)
    energy = points.norms.sum()

    def G(C):
        return objective(energy, S, counts, C.reshape(centers.shape), k, lam)

    best, rng = G(centers), np.random.default_rng(0)
    for scale in (1e-4, 1e-2, 1.0):
        step = rng.normal(size=centers.shape) * scale * np.abs(Z).max()
        gain = G(centers + step) - best
        assert gain >= -1e-10 * energy
        # (8.1) is quadratic in the centers: at the minimum both directions cost the same
        assert gain == pytest.approx(G(centers - step) - best, rel=1e-6, abs=1e-8 * energy)


def test_a_general_solver_finds_the_same_centers(rng):
    Z, k, lam = rng.normal(size=(15, 3)), (2, 3), 4.0
    labels = np.column_stack([np.arange(15) % size for size in k])
    S, counts = Points.of(Z, center=False).sums(labels, k)
    _, centers = representatives(S, counts, k, lam)
    found = minimize(lambda C: printed(Z, labels, C.reshape(5, 3), k, lam), S.ravel(), method="BFGS")
    assert np.allclose(found.x.reshape(5, 3), centers, atol=1e-5)


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("k", [(2, 3), (2, 2, 2), (4,)])
def test_the_path_ends_at_8_1_of_the_returned_labels(center, k, rng):
    X = rng.normal(size=(60, 5)) + 3
    fitted = gm.DecorrelatedKMeans(k, penalty=2.0, center=center, random_state=0).fit(X)
    Z = X - X.mean(axis=0) if center else X
    S, counts = Points.of(Z, center=False).sums(fitted.labels_, k)
    _, centers = representatives(S, counts, k, 2.0)
    assert fitted.objective_path_[-1] == pytest.approx(printed(Z, fitted.labels_, centers, k, 2.0))
    assert np.allclose(np.vstack(fitted.cluster_centers_), centers + (X.mean(axis=0) if center else 0))
    assert np.all(np.diff(fitted.objective_path_) <= 0)


def test_a_given_penalty_belongs_to_the_data_as_they_are(rng):
    X = rng.normal(size=(60, 5)) + 3
    assert np.all(gm.DecorrelatedKMeans(penalty=2.0, random_state=0).fit(X).mean_ == 0)
    assert np.allclose(gm.DecorrelatedKMeans(n_init=2, random_state=0).fit(X).mean_, X.mean(axis=0))
    with pytest.raises(ValueError, match="center must be 'auto' or True"):
        gm.DecorrelatedKMeans(center="yes").fit(X)


def test_the_best_iterate_is_kept_when_a_step_rises(rng):
    rises = 0
    for seed in range(40):
        rng = np.random.RandomState(seed)
        Z = rng.normal(size=(40, 3))
        points, k = Points.of(Z), (3, 3)
        lam, labels, values = 5.0 * 40**2 / points.norms.sum(), first_labels(points, k, rng, "random"), []
        run = descend(points, labels.copy(), k, lam)
        for _ in range(len(run.path)):
            S, counts = points.sums(labels, k)
            _, centers = representatives(S, counts, k, lam)
            values.append(objective(points.norms.sum(), S, counts, centers, k, lam))
            labels = refill(points, points.nearest(centers, k), k, centers)
        rises += bool(np.any(np.diff(values) > 1e-9))
        assert np.allclose(run.path, np.minimum.accumulate(values)) and run.objective == pytest.approx(min(values))
    assert rises > 0


@pytest.mark.parametrize("family", ["concatenated", "overlap", "sum"])
@pytest.mark.parametrize("k", [2, 5])
def test_both_labelings_are_found(family, k):
    data = gm.datasets.two_views(600, 30, n_clusters=k, family=family, random_state=k)
    found = gm.DecorrelatedKMeans((k, k), random_state=0).fit(data.X).labels_
    assert match(found, data.y).scores.min() > 0.9 and redundancy(found) < 0.1


def test_three_clusterings_are_found(rng):
    truth = rng.integers(2, size=(400, 3))
    X = np.hstack([truth * 8.0 @ np.linalg.qr(rng.normal(size=(3, 3)))[0], np.zeros((400, 2))])
    X += rng.normal(size=X.shape)
    found = gm.DecorrelatedKMeans((2, 2, 2), random_state=0).fit(X).labels_
    assert match(found, truth).scores.min() > 0.9


def test_units_place_and_rotation_do_not_matter():
    data = gm.datasets.two_views(300, 20, n_clusters=3, family="overlap", random_state=1)
    base = gm.DecorrelatedKMeans((3, 3), random_state=0).fit(data.X)
    Q = np.linalg.qr(np.random.default_rng(0).normal(size=(data.X.shape[1],) * 2))[0]
    for X in (data.X * 1e3, data.X * 1e-3 + 5, data.X @ Q, data.X[::-1]):
        again = gm.DecorrelatedKMeans((3, 3), random_state=0).fit(X).labels_
        again = again[::-1] if X is not data.X and X.base is data.X else again
        assert match(again, base.labels_, score="ari").scores.min() > 0.97


def neighbors(kind, metric, X, queries):
    """Ids of the 5 nearest in X, by one kind of index."""
    if kind in ("ExactIndex", "HashIndex"):
        options = {} if kind == "ExactIndex" else {"random_state": 0}
        return getattr(gm, kind)(metric, **options).add(X).query(queries, 5)[0]
    pytest.importorskip(kind)
    if kind == "faiss":
        return gm.to_faiss(metric, X).search(queries.astype("float32"), 5)[1]
    return gm.to_hnswlib(metric, X).knn_query(metric.transform(queries), 5)[0].astype(int)


def test_as_printed_it_is_algorithm_4_written_out(rng):
    """Means, centers by explicit inverses (8.2)–(8.5), the closest center, until no label moves; the best iterate."""
    data = gm.datasets.two_views(60, 4, n_clusters=2, family="concatenated", random_state=1)
    X, lam, n = data.X, 30.0, len(data.X)
    init = rng.integers(2, size=(n, 2))
    model = gm.DecorrelatedKMeans((2, 2), lam, init=init, variant="as_printed").fit(X)
    labels, values = init, []
    for _ in range(50):
        means = [np.array([X[labels[:, t] == i].mean(axis=0) for i in range(2)]) for t in range(2)]
        counts = [np.bincount(labels[:, t], minlength=2) for t in range(2)]
        centers = []
        for t in range(2):
            V = means[1 - t]
            shrunk = [np.linalg.solve(np.eye(8) + lam / c * V.T @ V, m) for m, c in zip(means[t], counts[t])]
            centers.append(np.array(shrunk))
        fit = sum(((X - centers[t][labels[:, t]]) ** 2).sum() for t in range(2))
        cross = sum(((means[1 - t] @ centers[t].T) ** 2).sum() for t in range(2))
        values.append((fit + lam * cross, labels))
        D = [((X[:, None] - C) ** 2).sum(axis=2) for C in centers]
        moved = np.column_stack([d.argmin(axis=1) for d in D])
        if np.array_equal(moved, labels):
            break
        labels = moved
    best = min(values, key=lambda pair: pair[0])
    assert model.objective_ == pytest.approx(best[0]) and np.array_equal(model.labels_, best[1])
    assert np.array_equal(model.mean_, np.zeros(8))
    with pytest.raises(ValueError, match="variant must be one of"):
        gm.DecorrelatedKMeans(variant="plain").fit(X)


def error(Z):
    return ((Z - Z.mean(axis=0)) ** 2).sum()


def test_merging_costs_what_the_error_rises(rng):
    Z, labels = rng.normal(size=(30, 3)), np.arange(30) % 3
    C, counts = np.array([Z[labels == i].mean(axis=0) for i in range(3)]), np.bincount(labels)
    rise = error(Z[labels < 2]) - error(Z[labels == 0]) - error(Z[labels == 1])
    assert merge_costs(C, counts)[0, 1] == pytest.approx(rise) and np.isinf(np.diag(merge_costs(C, counts))).all()


def test_splitting_gains_what_the_error_falls(rng):
    Z = np.vstack([rng.normal(size=(20, 3)), rng.normal(size=(20, 3)) + [9, 0, 0]])
    Z[::2, 1] += 50  # the spread that the other clustering explains
    off = np.array([[0.0, 1.0, 0.0]])
    gain, second = split(Points.of(Z, center=False), np.arange(40), off, np.random.RandomState(0))
    P = Z[:, [0, 2]]
    first = np.setdiff1d(np.arange(40), second)
    assert {tuple(first), tuple(second)} == {tuple(range(20)), tuple(range(20, 40))}
    assert gain == pytest.approx(error(P) - error(P[first]) - error(P[second]))


def test_a_cluster_in_the_wrong_place_moves(rng):
    truth = np.arange(60) % 3
    Z = rng.normal(size=(60, 4)) * 0.1 + 10 * np.eye(4)[truth]
    labels = np.where(truth == 2, 1, truth)[:, None]  # two blobs share a cluster, one blob has two
    labels[(truth == 0) & (np.arange(60) < 30)] = 2
    C = np.array([Z[labels[:, 0] == i].mean(axis=0) for i in range(3)])
    moved = relocated(Points.of(Z, center=False), labels, C, (3,), 0, np.random.RandomState(0))
    assert match(moved, truth).scores[0] == pytest.approx(1)
    right = np.array([Z[truth == i].mean(axis=0) for i in range(3)])
    stay = relocated(Points.of(Z, center=False), truth[:, None], right, (3,), 0, np.random.RandomState(0))
    assert stay is None
