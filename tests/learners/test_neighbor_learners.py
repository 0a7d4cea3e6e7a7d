"""NCA, LMNN, MCML and DNE: exact references at small size, invariances, and degenerate data."""

import cvxpy as cp
import numpy as np
import pytest
from benchmarks.speed.lmnn_loss import lmnn_loss
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

import gramian as gm
from gramian import linalg
from gramian.constraints import Labels
from gramian.learners import neighbor_targets as targets
from gramian.learners.dne import neighbor_signs
from gramian.learners.mcml import mcml_loss
from gramian.learners.nca import nca_loss


def _problem(rng, n=24, d=3, classes=3):
    y = np.arange(n) % classes
    X = rng.standard_normal((n, d)) * np.linspace(1, 2, d)
    X[:, 0] += y
    return X, y


def _outer(X, i, j):
    """Rows vec(v vᵀ) of the differences v = x_i − x_j."""
    V = X[i] - X[j]
    return (V[:, :, None] * V[:, None, :]).reshape(len(V), -1)


@pytest.mark.parametrize("push, reg", [(1.0, 0.0), (0.4, 0.0), (1.0, 0.5)])
def test_lmnn_reaches_the_conic_optimum_and_certifies_it(rng, push, reg):
    X, y = _problem(rng)
    lmnn = gm.LMNN(n_neighbors=2, push=push, reg=reg, tol=1e-6, max_iter=5000, anchor=0).fit(X, y)
    near = targets.same_class(X, Labels.from_array(y, ""), 2)
    M = cp.Variable((3, 3), PSD=True)
    triplets = np.array([(i, j, l) for i in range(len(X)) for j in near[i] for l in np.flatnonzero(y != y[i])]).T
    pairs = np.repeat(np.arange(len(X)), 2), near.ravel()
    hinges = cp.pos(1 + (_outer(X, *triplets[:2]) - _outer(X, triplets[0], triplets[2])) @ cp.vec(M, order="C"))
    pull = cp.sum(_outer(X, *pairs) @ cp.vec(M, order="C"))
    best = cp.Problem(cp.Minimize(pull + push * cp.sum(hinges) + reg * cp.trace(M))).solve(solver=cp.CLARABEL)
    assert lmnn.objective_ == pytest.approx(best, rel=1e-5)
    assert lmnn.objective_ == pytest.approx(
        lmnn_loss(lmnn.components_, X, y, near, push)[0] + reg * np.trace(lmnn.metric_.matrix)
    )
    np.testing.assert_allclose(lmnn.metric_.matrix, M.value, atol=2e-3 * np.abs(M.value).max())
    assert -1e-9 * best <= lmnn.solution_.gap <= 1e-3 * best
    assert lmnn.objective_ - lmnn.solution_.gap <= best * (1 + 1e-6)


def test_mcml_reaches_the_conic_optimum(rng):
    X, y = _problem(rng, n=15)
    mcml = gm.MCML(tol=1e-8, anchor=0).fit(X, y)
    M, value = cp.Variable((3, 3), PSD=True), 0
    for i in range(len(X)):
        others = np.delete(np.arange(len(X)), i)
        d = _outer(X, np.full(len(others), i), others) @ cp.vec(M, order="C")
        same = y[others] == y[i]
        value += d @ (same / same.sum()) + cp.log_sum_exp(-d) - np.log(same.sum())
    best = cp.Problem(cp.Minimize(value)).solve(solver=cp.CLARABEL)
    assert mcml.objective_ == pytest.approx(best, rel=1e-6)
    np.testing.assert_allclose(mcml.metric_.matrix, M.value, atol=1e-3 * np.abs(M.value).max())


def test_mcml_satisfies_the_conditions_of_the_convex_problem(rng):
    """The gradient G = Σ (p0 − p) v vᵀ on M is positive semi-definite and orthogonal to M."""
    X, y = _problem(rng, n=40, d=4)
    mcml = gm.MCML(tol=1e-7, anchor=0).fit(X, y)
    D = mcml.metric_.sqdist(X)
    P = np.exp(-D) * (1 - np.eye(40))
    P /= P.sum(axis=1, keepdims=True)
    same = (y[:, None] == y) & ~np.eye(40, dtype=bool)
    G = linalg.scatter(X, same / same.sum(axis=1, keepdims=True) - P)
    np.testing.assert_allclose(2 * mcml.components_ @ G, mcml_loss(mcml.components_, X, y)[1], atol=1e-8)
    scale = np.linalg.norm(linalg.scatter(X, P))
    assert np.linalg.eigvalsh(G)[0] >= -1e-5 * scale
    assert abs((G * mcml.metric_.matrix).sum()) <= 1e-5 * len(X)


def test_dne_is_the_eigenproblem(rng):
    X, y = _problem(rng, n=40, d=5, classes=2)
    dne = gm.DNE(n_neighbors=3, anchor=0).fit(X, y)
    W = neighbor_signs(X, Labels.from_array(y, ""), 3).toarray()
    S = X.T @ (np.diag(W.sum(axis=1)) - W) @ X
    values = np.linalg.eigvalsh(S)
    negative = values[values < -1e-10 * np.abs(values).max()]
    assert dne.components_.shape == (len(negative), 5)
    assert dne.objective_ == pytest.approx(negative.sum())
    np.testing.assert_allclose(dne.components_ @ S @ dne.components_.T, np.diag(negative), atol=1e-8 * values[-1])
    cut = -negative[0] / 2
    assert gm.DNE(n_neighbors=3, reg=cut, anchor=0).fit(X, y).components_.shape[0] == (negative < -cut).sum()


def test_dne_signs_follow_the_definition(rng):
    X, y = _problem(rng, n=18, d=2)
    W = neighbor_signs(X, Labels.from_array(y, ""), 2).toarray()
    D = linalg.sqdist(X) + np.diag(np.full(18, np.inf))
    expected = np.zeros((18, 18))
    for i in range(18):
        for sign, mask in ((1, y == y[i]), (-1, y != y[i])):
            inside = np.where(mask, D[i], np.inf)
            for j in np.argsort(inside)[:2]:
                expected[i, j] = expected[j, i] = sign
    np.testing.assert_array_equal(W, expected)


def test_nca_is_at_a_stationary_point_and_beats_its_start():
    X, y = load_iris(return_X_y=True)
    nca = gm.NCA(anchor=0).fit(X, y)
    value, gradient = nca_loss(nca.components_, X, y)
    assert nca.converged_ and nca.objective_ == pytest.approx(value)
    assert value < nca_loss(np.eye(4), X, y)[0]


def test_truncated_and_stochastic_nca_come_close_to_the_exact_one():
    X, y = load_iris(return_X_y=True)
    best = gm.NCA(anchor=0).fit(X, y).objective_
    for nca in (gm.NCA(n_neighbors=40, anchor=0), gm.NCA(batch_size=30, tol=3e-4, random_state=0, anchor=0)):
        nca.fit(X, y)
        assert nca_loss(nca.components_, X, y)[0] <= 0.98 * best


LEARNERS = {
    "nca": gm.NCA(tol=1e-5, max_iter=500, anchor=0),
    "lmnn": gm.LMNN(tol=1e-5, max_iter=5000, anchor=0),
    "mcml": gm.MCML(tol=1e-7, max_iter=5000, anchor=0),
    "dne": gm.DNE(n_neighbors=3, anchor=0),
}


@pytest.mark.parametrize("name", ["nca", "lmnn", "mcml"])
@pytest.mark.parametrize("unit", [1e-6, 1e5])
def test_units_change_nothing(rng, name, unit):
    X, y = _problem(rng, n=45)
    a, b = clone(LEARNERS[name]).fit(X, y), clone(LEARNERS[name]).fit(unit * X, y)
    assert b.objective_ == pytest.approx(a.objective_, rel=1e-4)
    assert b.n_iter_ <= 2 * a.n_iter_ + 20
    np.testing.assert_allclose(b.metric_.sqdist(unit * X), a.metric_.sqdist(X), atol=0.05 * a.metric_.sqdist(X).max())


@settings(max_examples=10)
@given(st.integers(0, 2**16), st.sampled_from(["lmnn", "mcml", "dne"]))
def test_rotation_shift_and_order_change_nothing(seed, name):
    rng = np.random.default_rng(seed)
    X, y = _problem(rng, n=30)
    Q = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    order = rng.permutation(30)
    a = clone(LEARNERS[name]).fit(X, y)
    b = clone(LEARNERS[name]).fit((X @ Q.T + 5)[order], y[order])
    assert b.objective_ == pytest.approx(a.objective_, rel=1e-4, abs=1e-8)
    D = a.metric_.sqdist(X)[np.ix_(order, order)]
    np.testing.assert_allclose(b.metric_.sqdist((X @ Q.T)[order]), D, atol=0.02 * D.max())


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("init", ["identity", "pca", "lda", "random", "array"])
def test_every_start_works_at_low_rank(name, init):
    if name == "dne":
        pytest.skip("DNE has no start")
    X, y = load_iris(return_X_y=True)
    init = np.eye(2, 4) * 0.7 if init == "array" else init
    learner = type(LEARNERS[name])(n_components=2, init=init, random_state=0, max_iter=300).fit(X, y)
    assert learner.components_.shape == (2, 4)
    assert learner.transform(X).shape == (150, 2)


@pytest.mark.parametrize("name", LEARNERS)
def test_degenerate_data_is_defined(rng, name):
    X, y = _problem(rng, n=20)
    labels = np.array(["a", "b", "c"])[y]
    X = np.hstack([X, np.ones((20, 1)), X[:, :1]])
    X, labels = np.vstack([X, X[:5]]), np.append(labels, labels[:5])
    labels[-1] = "alone"
    frozen = X.copy()
    learner = clone(LEARNERS[name]).fit(X.astype(np.float32), labels)
    assert np.isfinite(learner.metric_.matrix).all()
    np.testing.assert_array_equal(X, frozen)
    with pytest.raises(ValueError, match="two classes"):
        clone(learner).fit(X, np.zeros(len(X)))
    if name != "dne":
        with pytest.raises(ValueError, match="two points"):
            clone(learner).fit(X, np.arange(len(X)))


def test_classes_smaller_than_the_neighborhood_use_what_they_have(rng):
    X = rng.standard_normal((9, 2))
    near = targets.same_class(X, Labels.from_array([0] * 5 + [1] * 3 + [2], ""), 3)
    assert (near[:5] != np.arange(5)[:, None]).all()
    assert (near[5:8, 2] == np.arange(5, 8)).all() and (near[5:8, :2] != np.arange(5, 8)[:, None]).all()
    assert (near[8] == 8).all()


def test_more_features_than_points(rng):
    X, y = rng.standard_normal((20, 60)), np.arange(20) % 2
    for learner in (gm.LMNN(tol=1e-2, anchor=0), gm.MCML(reg=0.1, anchor=0), gm.NCA(anchor=0), gm.DNE(anchor=0)):
        assert np.isfinite(learner.fit(X, y).transform(X)).all()


def test_reselected_targets_lower_the_pull(rng):
    X, y = load_iris(return_X_y=True)
    fixed, again = gm.LMNN(tol=1e-4, anchor=0).fit(X, y), gm.LMNN(reselect=2, tol=1e-4, anchor=0).fit(X, y)
    assert again.objective_ <= fixed.objective_ * (1 + 1e-6)
    assert not np.array_equal(fixed.targets_, again.targets_)


def test_stopping_early_warns_with_the_residual():
    X, y = load_iris(return_X_y=True)
    with pytest.warns(ConvergenceWarning, match="residual .* > tol"):
        assert not gm.LMNN(max_iter=2, anchor=0).fit(X, y).converged_


def test_callback_sees_falling_objectives():
    X, y = load_iris(return_X_y=True)
    seen = []
    gm.MCML(callback=lambda k, value, residual: seen.append((k, value, residual)), anchor=0).fit(X, y)
    assert [k for k, _, _ in seen] == list(range(1, len(seen) + 1))
    assert all(b <= a + 1e-9 for (_, a, _), (_, b, _) in zip(seen, seen[1:]))


@pytest.mark.parametrize(
    "bad", [{"n_neighbors": 0}, {"push": -1.0}, {"n_components": 9}, {"init": "nope"}, {"reg": -1}]
)
def test_bad_parameters_name_their_owner(bad):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=f"LMNN: {next(iter(bad))}"):
        gm.LMNN(**bad, anchor=0).fit(X, y)


@pytest.mark.parametrize(
    "learner", [gm.NCA(tol=1e-6, anchor=0), gm.MCML(tol=1e-6, reg=0.1, anchor=0)], ids=lambda est: type(est).__name__
)
def test_single_precision_is_a_way_and_not_an_end(learner, rng, monkeypatch):
    """Most of the way in float32, judged in float64: the same minimum, to a tolerance that float32 cannot reach."""
    y = np.repeat([0, 1, 2], 12)
    X = rng.standard_normal((36, 4)) + 0.8 * np.eye(3, 4)[y]
    double = clone(learner).fit(X, y)
    monkeypatch.setattr("gramian.learners.factor_descent.SINGLE", 0)
    single = clone(learner).fit(X, y)
    assert single.converged_ and single.solution_.residual <= 1e-6
    assert single.objective_ == pytest.approx(double.objective_, rel=1e-5 if isinstance(learner, gm.MCML) else 0.02)
