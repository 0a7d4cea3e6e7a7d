"""ITML: invariances, odd data, and clear errors."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_digits, load_iris
from sklearn.metrics import roc_auc_score

import gramian as gm
from gramian.constraints import Labels
from gramian.coordinates import Plain, Rest, Subspace
from gramian.learners.framework import Ground, bounded, drawn
from gramian.learners.task import Task
from gramian.metrics import Metric
from gramian.solvers import BregmanProjections, DualAscent, Problem, Relative, Rows
from tests.learners.problems import comparisons, violations


def problem(seed, n=16, d=3):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    return rng.normal(size=(n, d)) + y[:, None], y


def fit(X, pairs, **options):
    return gm.ITML(tol=1e-9, **options, anchor=0).fit(X, pairs).metric_


@given(st.integers(0, 20), st.floats(1e-4, 1e4))
def test_units_of_the_data_do_not_matter(seed, s):
    X, y = problem(seed)
    pairs = gm.Pairs.from_labels(y, 20, random_state=0)
    D, Ds = (fit(Y, pairs.with_bounds(Y)).sqdist(Y) for Y in (X, s * X))
    np.testing.assert_allclose(Ds / s**2, D, atol=1e-7 * D.max())


@given(st.integers(0, 20))
def test_rotation_and_row_order_do_not_matter(seed):
    X, y = problem(seed)
    rng = np.random.default_rng(seed + 1)
    pairs = gm.Pairs.from_labels(y, 20, random_state=0, X=X)
    D = fit(X, pairs).sqdist(X)
    Q, order = np.linalg.qr(rng.normal(size=(3, 3)))[0], rng.permutation(len(X))
    place = np.argsort(order)
    moved = gm.Pairs(place[pairs.left], place[pairs.right], pairs.similar, bounds=pairs.bounds)
    np.testing.assert_allclose(fit(X @ Q, pairs).sqdist(X @ Q), D, atol=1e-7 * D.max())
    np.testing.assert_allclose(fit(X[order], moved).sqdist(X), D, atol=1e-7 * D.max())


@pytest.mark.parametrize("learner", [gm.ITML, gm.Framework])
@pytest.mark.parametrize("rank", [None, 2])
@pytest.mark.parametrize("prior, power", [("identity", 2), ("covariance", 0)])
def test_default_bounds_follow_the_units(learner, rank, prior, power):
    """M stays with an identity prior; with the covariance prior the distances themselves stay, in a subspace too."""
    X, y = problem(0)
    options = {"prior": prior, "rank": rank, "tol": 1e-9, "random_state": 0, "anchor": 0}
    one, two = (learner(**options).fit(s * X, y).metric_.sqdist(s * X) for s in (1.0, 1000.0))
    np.testing.assert_allclose(two / 1000.0**power, one, atol=1e-4 * one.max())


@pytest.mark.parametrize("divergence", [gm.LogDet(), gm.LinearFrobenius(np.eye(3))], ids=["logdet", "linear"])
@pytest.mark.parametrize("alpha", [1.0, 9.0])
def test_default_bounds_of_the_framework_are_those_of_its_prior(divergence, alpha):
    X, y = problem(0)
    labels, here = Labels.from_array(y, "test"), Rest(Plain(X.shape[1]), X, X)
    task = Task(X, labels, here, np.random.RandomState(0))
    side = bounded(task, drawn(task, None), Ground.of(task, alpha))
    D = alpha * ((X[:, None] - X[None]) ** 2).sum(-1)[np.triu_indices(len(X), 1)]
    np.testing.assert_allclose([b[0] for b in side.bounds], np.percentile(D, (5, 95)))


@pytest.mark.parametrize("solver", ["dual", "bregman"])
def test_solvers_agree(solver):
    X, y = problem(3)
    pairs = gm.Pairs.from_labels(y, 20, random_state=0, X=X)
    metric = gm.ITML(solver=solver, tol=1e-9, max_iter=100000, anchor=0).fit(X, pairs).metric_
    np.testing.assert_allclose(metric.matrix, fit(X, pairs).matrix, atol=1e-4)


def odd_data():
    rng = np.random.default_rng(0)
    y = np.arange(20) % 2
    X = rng.normal(size=(20, 4))
    yield "constant feature", np.hstack([X, np.full((20, 1), 3.0)]), y
    yield "duplicate points", np.repeat(X[:5], 4, axis=0), np.repeat([0, 1, 0, 1, 0], 4)
    yield "contradictory duplicates", np.vstack([X[:10], X[:10]]), np.r_[np.zeros(10, int), np.ones(10, int)]
    yield "more features than points", rng.normal(size=(8, 40)), np.arange(8) % 2
    yield "huge scale", 1e8 * X, y
    yield "tiny scale", 1e-8 * X, y
    yield "far from the origin", X + 1e6, y
    yield "mixed scales", X * np.array([1e-6, 1, 1e3, 1e6]), y
    yield "float32", X.astype(np.float32), y
    yield "singleton classes", X, np.r_[np.zeros(18, int), 1, 2]
    yield "one class", X, np.zeros(20, int)
    yield "all different", X, np.arange(20)
    yield "one pair", X[:2], [0, 1]
    yield "one feature", X[:, :1], y


@pytest.mark.parametrize("name, X, y", list(odd_data()), ids=[name for name, _, _ in odd_data()])
@pytest.mark.filterwarnings("ignore:ITML. stopped")
def test_odd_data_gives_a_finite_real_metric(name, X, y):
    before = X.copy()
    fitted = gm.ITML(random_state=0, anchor=0).fit(X, y)
    M = fitted.metric_.matrix
    assert np.isfinite(M).all() and np.isrealobj(M)
    assert np.linalg.eigvalsh(M)[0] >= -1e-12 * np.abs(M).max()
    assert np.isfinite(fitted.metric_.sqdist(X)).all()
    np.testing.assert_array_equal(X, before)


def test_digits_with_dead_pixels():
    X, y = load_digits(return_X_y=True)
    M = gm.ITML(n_pairs=500, random_state=0, anchor=0).fit(X[:200], y[:200]).metric_.matrix
    assert np.isfinite(M).all()
    dead = np.ptp(X[:200], axis=0) == 0
    assert dead.any()
    np.testing.assert_allclose(M[dead][:, dead], np.eye(dead.sum()), atol=1e-9)


def test_high_dimensional_sparse_equals_dense():
    rng = np.random.default_rng(0)
    X = sparse.random_array((60, 400), density=0.05, random_state=rng, format="csr")
    y = np.arange(60) % 3
    a = gm.ITML(rank=10, random_state=0, anchor=0).fit(X, y)
    b = gm.ITML(rank=10, random_state=0, anchor=0).fit(X.toarray(), y)
    np.testing.assert_allclose(a.metric_.sqdist(X), b.metric_.sqdist(X.toarray()), atol=1e-7)
    assert a.metric_.basis.shape == (400, 10)
    D = a.metric_.sqdist(X)
    E = a.metric_.transform(X)
    np.testing.assert_allclose(((E[:, None] - E[None]) ** 2).sum(-1), D, atol=1e-9)
    W = a.metric_.matrix
    V = X.toarray()[3] - X.toarray()[7]
    assert pytest.approx(D[3, 7]) == V @ W @ V


@pytest.mark.parametrize("prior", ["identity", "covariance"])
def test_sparse_without_rank_is_the_dense_problem(prior):
    X, y = problem(0)
    a, b = (gm.ITML(prior=prior, random_state=0, anchor=0).fit(Y, y).metric_.matrix for Y in (X, sparse.csr_array(X)))
    np.testing.assert_array_equal(a, b)


def test_too_many_features_without_rank_are_refused():
    X = sparse.csr_array((np.ones(4), (np.arange(4), np.arange(4))), shape=(4, 20_000))
    with pytest.raises(ValueError, match="ITML: X must have at most 10000 features without rank, got 20000; give rank"):
        gm.ITML(anchor=0).fit(X, [0, 0, 1, 1])
    assert gm.ITML(rank=2, random_state=0, anchor=0).fit(X, [0, 0, 1, 1]).metric_.basis.shape[0] == 20_000


@pytest.mark.parametrize("subspace", ["svd", "landmarks"])
def test_subspaces(subspace):
    X, y = problem(0, n=30, d=8)
    fitted = gm.ITML(rank=3, subspace=subspace, random_state=0, anchor=0).fit(X, y)
    U = fitted.metric_.basis
    np.testing.assert_allclose(U.T @ U, np.eye(U.shape[1]), atol=1e-10)
    assert fitted.score(X, y) > 0.5


def test_verbose_and_callback(capsys):
    X, y = problem(0)
    seen = []
    gm.ITML(random_state=0, callback=lambda n, value, residual: seen.append((n, residual)), anchor=0).fit(X, y)
    assert [n for n, _ in seen] == list(range(1, len(seen) + 1))
    quiet = gm.ITML(random_state=0, anchor=0).fit(X, y)
    assert capsys.readouterr().out == ""
    loud = gm.ITML(random_state=0, verbose=True, anchor=0).fit(X, y)
    assert "ITML" in capsys.readouterr().out
    np.testing.assert_array_equal(loud.metric_.matrix, quiet.metric_.matrix)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"gamma": 0}, "gamma must be .*a number"),
        ({"gamma": "x"}, "gamma must be .*a number"),
        ({"bounds": (4.0, 1.0)}, r"0 < u < l \(squared distances\), got u=4.0, l=1.0"),
        ({"prior": np.zeros((3, 3))}, "prior must not be 0"),
        ({"prior": np.eye(2)}, r"shape \(3, 3\)"),
        ({"prior": "wishart"}, "prior must be one of"),
        ({"solver": "magic"}, "solver must be one of"),
        ({"rank": 0}, "rank"),
        ({"rank": 2, "subspace": np.eye(2)}, "subspace must have shape"),
        ({"max_iter": 0}, "max_iter"),
    ],
)
def test_bad_parameters_are_one_clear_sentence(options, message):
    X, y = problem(0)
    with pytest.raises(ValueError, match=message):
        gm.ITML(**options, anchor=0).fit(X, y)


def test_wrong_kind_of_constraints_is_named():
    X, y = problem(0)
    with pytest.raises(ValueError, match="labels or Pairs or Triplets or Quadruplets, got Chunklets; .*PLDA, RCA"):
        gm.ITML(anchor=0).fit(X, gm.Chunklets.from_labels(y))


def test_triplet_tuples_fit_the_framework():
    X, y = problem(0)
    t = gm.Triplets.from_labels(y, 30, random_state=0, margin=None)
    tuples = np.stack([X[t.anchor], X[t.near], X[t.far]], axis=1)
    fitted = gm.Framework(gm.Frobenius(), slack=1.0, anchor=0).fit(tuples)
    same = gm.Framework(gm.Frobenius(), slack=1.0, anchor=0).fit(X, t)
    np.testing.assert_allclose(fitted.metric_.matrix, same.metric_.matrix, atol=1e-8)


def test_bounds_of_given_pairs_must_be_in_order():
    X, _ = problem(0)
    with pytest.raises(ValueError, match=r"ITML: bounds must satisfy 0 < u < l .*, got u=4.0, l=1.0"):
        gm.ITML(anchor=0).fit(X, gm.Pairs([0, 1], [2, 3], [True, False], bounds=(4.0, 1.0)))
    own = (np.array([4.0, 1.0, 9.0]), np.array([9.0, 9.0, 1.0]))  # each pair has its own
    assert gm.ITML(anchor=0).fit(X, gm.Pairs([0, 1, 2], [2, 3, 4], [True, True, False], bounds=own)).converged_


@pytest.mark.parametrize("anchor", ["auto", 0.3, 0])
def test_the_weight_of_the_slack_is_chosen_on_what_is_held_out(anchor):
    X, y = load_iris(return_X_y=True)
    auto = gm.ITML(gamma="auto", anchor=anchor, random_state=0).fit(X, y)
    assert auto.gamma_ in gm.ITML.traits.choices["gamma"]
    with pytest.raises(ValueError, match="ITML: gamma must be"):
        gm.ITML(gamma="best").fit(X, y)
    fixed = gm.ITML(gamma=2.0, anchor=anchor, random_state=0).fit(X, y)
    assert fixed.gamma_ == 2.0


def test_multipliers_are_in_the_order_of_the_pairs(rng):
    """(3.24): M⁻¹ = M₀⁻¹ + Σ λ_i A_i over the pairs as they were given; one of identical points has λ = 0."""
    X, _ = problem(3)
    X[5] = X[2]
    left, right = np.array([0, 2, 4, 6, 1]), np.array([1, 5, 7, 8, 9])
    pairs = gm.Pairs(left, right, [True, True, False, True, False], bounds=(0.5, 4.0))
    itml = gm.ITML(anchor=0, tol=1e-10).fit(X, pairs)
    dual = itml.solution_.dual
    assert dual.shape == (5,) and dual[1] == 0
    V = X[left] - X[right]
    want = np.linalg.inv(np.eye(3) + (V.T * (dual * pairs.sign)) @ V)
    np.testing.assert_allclose(itml.metric_.matrix, want, atol=1e-6)


def test_the_threshold_of_many_pairs_takes_them_in_blocks(rng, monkeypatch):
    """As many points at once as fit into a block, and the same threshold."""
    from gramian import linalg
    from gramian.learners import tuples

    X, y = problem(4, n=40)
    pairs = gm.Pairs.from_labels(y, 300, random_state=0)
    whole = gm.ITML(anchor=0).fit(X, pairs).threshold_
    sizes, take = [], linalg.take
    monkeypatch.setattr(linalg, "blocks", lambda n, *_, **__: (slice(i, i + 64) for i in range(0, n, 64)))
    monkeypatch.setattr(tuples.linalg, "take", lambda X, rows: sizes.append(len(rows)) or take(X, rows))
    assert gm.ITML(anchor=0).fit(X, pairs).threshold_ == whole
    assert max(sizes) == 64


@pytest.mark.parametrize("bounds", [(0.5, 1.5), (1.0, 2.0)])
def test_bounds_on_sparse_points_are_blended_as_the_whole_distance_says(rng, bounds):
    """What tells classes lies mostly outside of three directions, where bounds can only do harm."""
    y = np.arange(240) % 6
    words = rng.random((6, 80)) ** 8  # (classes, words)
    X = sparse.csr_array(rng.poisson(4 * words[y]).astype(float))
    X = sparse.csr_array(sparse.diags_array(1 / np.maximum(np.sqrt(X.multiply(X).sum(axis=1)), 1e-9)) @ X)
    pairs = gm.Pairs.from_labels(y[:160], n_pairs=600, random_state=0)
    unseen = gm.Pairs.from_labels(y[160:], n_pairs=400, random_state=1)
    left, right = X[160 + unseen.left], X[160 + unseen.right]
    asked = gm.Pairs(pairs.left, pairs.right, pairs.similar, bounds=bounds)
    metric = gm.ITML(rank=3, random_state=0).fit(X[:160], asked).metric_
    plain = np.asarray((left - right).power(2).sum(axis=1)).ravel()
    assert (
        roc_auc_score(unseen.similar, -metric.pair_sqdist(left, right)) > roc_auc_score(unseen.similar, -plain) - 0.02
    )


def test_pairs_are_judged_by_the_distance_that_a_blend_has(rng):
    """Every weight of the path, outside of the coordinates too, against the metric of that weight."""
    from gramian.learners.path import WithRest

    X, pairs = rng.normal(size=(60, 12)), gm.Pairs(*rng.integers(60, size=(2, 80)), np.arange(80) % 2 == 0)
    space = Subspace(np.linalg.qr(rng.normal(size=(12, 4)))[0])
    task = Task(X, pairs, Rest(Plain(12), X, X), np.random.RandomState(0), gm.ITML.traits.exact).within(
        space, space.z(X)
    )
    learner = gm.ITML(bounds=(1.0, 30.0))
    part = learner.frame(task).part(learner, task)
    path = WithRest(part.path, task.rest).paired(task.Z, pairs.left, pairs.right, np.array([0.0, 0.3, 1.0]))
    for row, weight in zip(path, (0.0, 0.3, 1.0)):
        blend = part.blended(weight)
        metric = Metric.of(space, blend.factor, blend.alpha)
        np.testing.assert_allclose(row, metric.pair_sqdist(X[pairs.left], X[pairs.right]), atol=1e-9)
    plain = ((X[pairs.left] - X[pairs.right]) ** 2).sum(axis=1)
    np.testing.assert_allclose(path[-1], plain, atol=1e-9)


def test_itml_tends_to_the_hard_framework_as_gamma_grows(iris):
    X, _ = iris
    pairs = gm.Pairs([0, 5, 20], [30, 40, 10], [True, False, True], bounds=(4.0, 9.0))
    hard = gm.Framework(gm.LogDet(), anchor=0).fit(X, pairs).metric_.matrix
    soft = gm.ITML(gamma=1e7, tol=1e-9, anchor=0).fit(X, pairs).metric_.matrix
    np.testing.assert_allclose(soft, hard, atol=1e-5)


@pytest.mark.parametrize("solver", [DualAscent(), BregmanProjections(max_iter=20000)], ids=["dual", "bregman"])
def test_itml_is_logdet_with_relative_slack(iris, pairs, solver):
    X, _ = iris
    V = X[pairs.left] - X[pairs.right]
    prob = Problem(Rows(V, pairs.sign[:, None]), pairs.bound, np.eye(4), gm.LogDet(), Relative(1.0))
    fitted = gm.ITML(tol=1e-9, anchor=0).fit(X, pairs)
    np.testing.assert_allclose(fitted.metric_.matrix, solver.solve(prob).M, atol=1e-4)
    assert fitted.objective_ == pytest.approx(prob.objective(fitted.metric_.matrix), rel=1e-9)


@pytest.mark.parametrize("gamma", [0.1, 2.0])
def test_itml_on_comparisons_is_its_conic_program(rng, gamma):
    X, side = comparisons(rng)
    M = cp.Variable((3, 3), PSD=True)
    excess = cp.multiply(side.weight, violations(M, X, side)) / np.mean(side.weight * side.margin)
    objective = cp.trace(M) - cp.log_det(M) - 3 + gamma / 2 * cp.sum(cp.square(cp.pos(excess)))
    best = cp.Problem(cp.Minimize(objective)).solve()
    found = gm.ITML(gamma, anchor=0).fit(X, side)
    assert found.objective_ == pytest.approx(best, rel=1e-4)
    np.testing.assert_allclose(found.metric_.matrix, M.value, atol=1e-3)
