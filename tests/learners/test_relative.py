"""LSML and SCML, the learners of comparisons, against conic and linear programs."""

import cvxpy as cp
import numpy as np
import pytest
from scipy.optimize import check_grad, linprog
from sklearn.datasets import load_iris

import gramian as gm
from gramian.constraints import Labels
from gramian.constraints.comparisons import moved
from gramian.learners import neighbor_targets as targets
from gramian.learners.combinations import Combination, combine
from gramian.learners.lsml import Residuals, lsml
from gramian.learners.scml import local_bases


def quadruplets(rng, n=30, d=3, m=40):
    """Comparisons that the identity violates about half of the time."""
    X = rng.normal(size=(n, d)) * np.linspace(0.3, 2, d)
    i, j, k, l = rng.integers(n, size=(4, m))
    real = (i != j) & (k != l)
    return X, gm.Quadruplets(i[real], j[real], k[real], l[real])


def lsml_value(M, X, side, weight):
    a, b = (np.sqrt(gm.Mahalanobis.from_matrix(M).pair_sqdist(X[i], X[j])) for i, j in (side.near_ends, side.far_ends))
    return np.trace(M) - np.linalg.slogdet(M)[1] - len(M) + weight * np.mean(np.maximum(a - b, 0) ** 2)


def conic_lsml(X, side, weight):
    """The optimum by a conic solver: [√p − √q]₊² is the least p + t − 2√(pt) over t ≤ q."""
    d = X.shape[1]
    M, t = cp.Variable((d, d), PSD=True), cp.Variable(len(side), nonneg=True)
    near, far = (X[i] - X[j] for i, j in (side.near_ends, side.far_ends))
    p = [cp.sum(cp.multiply(np.outer(v, v), M)) for v in near]
    q = [cp.sum(cp.multiply(np.outer(v, v), M)) for v in far]
    residuals = [a + b - 2 * cp.geo_mean(cp.hstack([a, b])) for a, b in zip(p, t)]
    objective = cp.trace(M) - cp.log_det(M) - d + weight * sum(residuals) / len(side)
    cp.Problem(cp.Minimize(objective), [t <= cp.hstack(q)]).solve()
    return M.value


def test_lsml_reaches_the_conic_optimum(rng):
    X, side = quadruplets(rng)
    found = gm.LSML(weight=5.0, anchor=0, tol=1e-8).fit(X, side)
    M = conic_lsml(X, side, 5.0)
    assert found.objective_ == pytest.approx(lsml_value(found.metric_.matrix, X, side, 5.0), rel=1e-9)
    assert found.objective_ <= lsml_value(M, X, side, 5.0) + 1e-6
    np.testing.assert_allclose(found.metric_.matrix, M, atol=1e-3)


def test_lsml_satisfies_its_optimality_condition(rng):
    """M⁻¹ = M₀⁻¹ + the gradient of the residuals."""
    X, side = quadruplets(rng)
    M0 = np.diag([1.0, 2.0, 0.5])
    M = gm.LSML(weight=5.0, anchor=0, prior=M0, tol=1e-12).fit(X, side).metric_.matrix
    slope = np.zeros((3, 3))
    for i, j, k, l in zip(*side.near_ends, *side.far_ends):
        v, w = X[i] - X[j], X[k] - X[l]
        a, b = np.sqrt(v @ M @ v), np.sqrt(w @ M @ w)
        if a > b:
            slope += 5 / len(side) * ((1 - b / a) * np.outer(v, v) + (1 - a / b) * np.outer(w, w))
    np.testing.assert_allclose(np.linalg.inv(M), np.linalg.inv(M0) + slope, atol=1e-6)


def test_gradient_of_lsml_is_that_of_finite_differences(rng):
    X, side = quadruplets(rng)
    pairs = np.stack([X[i] - X[j] for i, j in (side.near_ends, side.far_ends)])
    problem = Residuals(pairs, rng.random(len(side)), np.diag([1.0, 3.0, 0.2]))
    F = np.eye(3) + 0.3 * rng.normal(size=(3, 3))
    value, slope = (lambda x, place=place: problem(x.reshape(3, 3))[place] for place in (0, 1))
    assert check_grad(value, lambda x: slope(x).ravel(), F.ravel()) < 1e-4


@pytest.mark.parametrize("steps", [1, 5, 8])
def test_the_gap_of_lsml_bounds_the_distance_from_the_optimum(rng, steps):
    X, side = quadruplets(rng)
    pairs = np.stack([X[i] - X[j] for i, j in (side.near_ends, side.far_ends)])
    problem = Residuals(pairs, np.full(len(side), 0.2), np.eye(3))
    best = lsml(problem, max_iter=1000, tol=1e-12).objective
    early = lsml(problem, max_iter=steps, tol=0.0)
    assert 0 <= early.objective - best <= early.gap + 1e-12


def test_lsml_by_default_does_not_depend_on_units(rng):
    X, side = quadruplets(rng)
    first = gm.LSML(prior="covariance", anchor=0, tol=1e-9).fit(X, side).metric_.matrix
    again = gm.LSML(prior="covariance", anchor=0, tol=1e-9).fit(100 * X, side).metric_.matrix
    np.testing.assert_allclose(1e4 * again, first, rtol=1e-4, atol=1e-6)


def test_weights_of_lsml_count_as_copies(rng):
    X, side = quadruplets(rng, m=20)
    rows = np.r_[np.arange(len(side)), np.arange(5), np.arange(5)]
    weight = np.where(np.arange(len(side)) < 5, 3.0, 1.0)
    heavy = gm.Quadruplets(*side.near_ends, *side.far_ends, weight=weight)
    a, b = (gm.LSML(weight=5.0, anchor=0, tol=1e-9).fit(X, s).metric_.matrix for s in (heavy, side[rows]))
    np.testing.assert_allclose(a, b, atol=1e-5)


@pytest.mark.parametrize(
    "learner", [gm.LSML(random_state=0), gm.SCML(random_state=0)], ids=lambda est: type(est).__name__
)
def test_triplets_are_quadruplets_that_share_an_end(rng, learner):
    X, y = load_iris(return_X_y=True)
    t = gm.Triplets.from_labels(y, 200, random_state=0)
    a = learner.fit(X, t).metric_.matrix
    b = learner.fit(X, gm.Quadruplets(t.anchor, t.near, t.anchor, t.far)).metric_.matrix
    np.testing.assert_allclose(a, b)


def program(rng, n=25, d=3):
    X = rng.normal(size=(n, d))
    labels = Labels.from_array(np.arange(n) % 3, "test")
    side = targets.neighbor_triplets(X, labels, 2, 3)
    return X, side, rng.normal(size=(12, d))


def linear_program(problem):
    """The optimum of min share·s + cost·w, s ≥ margin + Rw, s ≥ 0, w ≥ 0."""
    sqdist = (problem.differences @ problem.bases.T) ** 2
    R = sqdist[problem.near] - sqdist[problem.far]
    m, K = R.shape
    A = np.hstack([-np.eye(m), R])
    return linprog(np.r_[problem.share, problem.cost], A_ub=A, b_ub=-problem.margin, bounds=(0, None)).fun


@pytest.mark.parametrize("beta", [1e-4, 1e-2, 0.3])
def test_scml_solves_its_linear_program(rng, beta):
    X, side, bases = program(rng)
    problem = Combination.make(X, side, bases, beta)
    found, best = combine(problem, max_iter=2000, tol=1e-4), linear_program(problem)
    assert found.converged
    assert found.objective - found.gap <= best + 1e-9
    assert best - 1e-9 <= found.objective <= best * (1 + 1e-4) + 1e-9


def test_objective_of_scml_is_that_of_its_metric(rng):
    X, side, bases = program(rng)
    scml = gm.SCML(beta=0.05, anchor=0, bases=bases, tol=1e-4).fit(X, side)
    near, far = (scml.metric_.pair_sqdist(X[i], X[j]) for i, j in (side.near_ends, side.far_ends))
    pairs = np.unique(np.concatenate([np.stack(ends, 1) for ends in (side.near_ends, side.far_ends)]), axis=0)
    penalty = 0.05 * scml.metric_.pair_sqdist(X[pairs[:, 0]], X[pairs[:, 1]]).mean()
    assert scml.objective_ == pytest.approx(np.maximum(1 + near - far, 0).mean() + penalty, rel=1e-9)


def test_scml_does_not_depend_on_units():
    X, y = load_iris(return_X_y=True)
    first, again = gm.SCML(anchor=0, random_state=0).fit(X, y), gm.SCML(anchor=0, random_state=0).fit(1024 * X, y)
    np.testing.assert_allclose(first.metric_.sqdist(X), again.metric_.sqdist(1024 * X), rtol=1e-6, atol=1e-6)


def test_scml_is_sparse():
    X, y = load_iris(return_X_y=True)
    scml = gm.SCML(beta=0.3, anchor=0, n_bases=200, random_state=0).fit(X, y)
    assert len(scml.components_) <= 20


def test_one_cell_gives_fishers_directions(rng):
    """Eigenvectors of the far scatter against the near scatter."""
    X, y = load_iris(return_X_y=True)
    side = gm.Triplets.from_labels(y, 500, random_state=0)
    near, far = X[side.anchor] - X[side.near], X[side.anchor] - X[side.far]
    b = local_bases(X, side, 8, np.random.RandomState(0))[0]
    trial = rng.normal(size=(1000, 4))

    def ratio(v):
        return ((far @ v.T) ** 2).mean(axis=0) / ((near @ v.T) ** 2).mean(axis=0)

    assert ratio(b[None])[0] >= ratio(trial).max() * (1 - 1e-5)


def test_neighbor_triplets_join_the_nearest_of_both_kinds(rng):
    X, y = rng.normal(size=(12, 2)), np.array([0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 2])
    found = targets.neighbor_triplets(X, Labels.from_array(y, "test"), 2, 3)
    D = ((X[:, None] - X[None]) ** 2).sum(-1)
    expected = set()
    for i in range(12):
        order = [j for j in np.argsort(D[i]) if j != i]
        near, far = [j for j in order if y[j] == y[i]][:2], [j for j in order if y[j] != y[i]][:3]
        expected |= {(i, j, k) for j in near for k in far}
    assert set(zip(found.anchor.tolist(), found.near.tolist(), found.far.tolist())) == expected


def test_scml_leaves_a_column_alone_that_never_varied(rng):
    X, y = rng.normal(size=(120, 4)), np.arange(120) % 3
    X[:, 0] += 2 * y
    metric = gm.SCML(anchor=0, random_state=0).fit(np.insert(X, 2, 5.0, axis=1), y).metric_
    assert metric.matrix[2, 2] < 1e-6 * np.trace(metric.matrix)


def test_local_bases_of_few_points_are_in_their_leading_directions(rng):
    X = rng.normal(size=(40, 30)) * np.linspace(3, 1, 30)
    side = gm.Triplets.from_labels(np.arange(40) % 2, 100, random_state=0)
    bases = local_bases(X, side, 50, np.random.RandomState(0))
    values, vectors = np.linalg.eigh(np.cov(X.T))
    outside = vectors[:, :-8]  # five points for each of eight
    assert np.linalg.matrix_rank(bases) == 8
    np.testing.assert_allclose(bases @ outside, 0, atol=1e-8)


@pytest.mark.parametrize("anchor", [0, 0.3])
def test_scml_finds_the_same_from_tuples_as_from_their_indices(anchor):
    X, first = np.unique(load_iris().data, axis=0, return_index=True)
    y = load_iris().target[first]
    side = gm.Triplets.from_labels(y, 1000, random_state=0)
    index = np.stack([side.anchor, side.near, side.far], axis=1)
    seen = np.unique(index)  # tuples know of no other points
    elsewhere = moved(side, np.searchsorted(seen, np.arange(len(X))))
    scml = gm.SCML(anchor=anchor, random_state=0)
    from_indices = scml.fit(X[seen], elsewhere).metric_.matrix
    from_tuples = scml.fit(X[index]).metric_.matrix
    scale = np.trace(from_indices) / np.trace(from_tuples)
    np.testing.assert_allclose(scale * from_tuples, from_indices, atol=1e-6 * np.abs(from_indices).max())
