"""Each learner is the instance of the framework that the thesis says it is (Jain 2009, §3.1.1)."""

import cvxpy as cp
import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine

import gramian as gm
from gramian.learners.gmml import geodesic
from gramian.learners.mmc import diagonal_objective, full_objective
from gramian.solvers import BregmanProjections, DualAscent, Problem, Relative, Rows


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return X[::3], y[::3]


@pytest.fixture(scope="module")
def pairs(iris):
    X, y = iris
    return gm.Pairs.from_labels(y, 60, random_state=0, X=X)


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


def test_hard_constraints_that_cannot_hold_are_named(iris):
    X, y = iris
    pairs = gm.Pairs([0, 0], [1, 1], [True, False], bounds=(1.0, 2.0))
    with pytest.raises(ValueError, match="Framework: no positive semi-definite matrix satisfies the hard constraints"):
        gm.Framework(anchor=0).fit(X, pairs)
    assert gm.Framework(random_state=0, anchor=0).fit(X, y).converged_  # drawn from labels: soft by default


def test_rca_is_linear_logdet_with_one_chunklet_constraint(iris):
    """(3.4) with bound 1 has the optimum C⁻¹/d; (3.3) prints C⁻¹, the optimum for bound d."""
    X, y = iris
    rca = gm.RCA(anchor=0).fit(X, y).metric_.matrix
    chunklets = gm.Chunklets.from_labels(y)
    zero = gm.LinearLogDet(np.zeros((4, 4)))
    framework = gm.Framework(zero, anchor=0).fit(X, chunklets).metric_.matrix
    np.testing.assert_allclose(framework * 4, rca, rtol=1e-6)
    wide = gm.Chunklets(chunklets.ids, limit=4.0)
    np.testing.assert_allclose(gm.Framework(zero, anchor=0).fit(X, wide).metric_.matrix, rca, rtol=1e-6)
    V = np.vstack([X[y == c] - X[y == c].mean(0) for c in range(3)])
    np.testing.assert_allclose(rca, np.linalg.inv(V.T @ V / len(V)), rtol=1e-8)


def test_pola_is_frobenius_from_zero(iris, pairs):
    X, _ = iris
    b = 3.0
    ours = gm.POLA(threshold=b, slack=0.5, tol=1e-8, anchor=0).fit(X, pairs)
    bounded = gm.Pairs(pairs.left, pairs.right, pairs.similar, bounds=(b - 1, b + 1))
    other = gm.Framework(gm.Frobenius(), prior="zero", slack=0.5, anchor=0, tol=1e-8).fit(X, bounded)
    apart = np.linalg.norm(ours.metric_.matrix - other.metric_.matrix)
    gaps = [one.solution_.gap for one in (ours, other)]
    assert apart <= sum(
        np.sqrt(2 * np.maximum(gaps, 1e-16))
    )  # ½‖M − M*‖² is at most what the objective is above its least
    assert max(gaps) < 1e-6 * other.objective_ and apart < 1e-5


def test_pola_learns_metric_and_threshold_jointly(iris, pairs):
    X, _ = iris
    fitted = gm.POLA(slack=0.5, tol=1e-9, anchor=0).fit(X, pairs)
    M, b = cp.Variable((4, 4), PSD=True), cp.Variable(nonneg=True)
    V = X[pairs.left] - X[pairs.right]
    d2 = cp.hstack([cp.quad_form(v, M) for v in V])
    loss = cp.sum(cp.pos(1 - cp.multiply(pairs.sign, b - d2)))
    best = cp.Problem(cp.Minimize(cp.sum_squares(M) / 2 + b**2 / 2 + 0.5 * loss)).solve(solver="CLARABEL")
    assert fitted.objective_ == pytest.approx(best, rel=1e-6)
    assert fitted.threshold_ == pytest.approx(b.value, rel=1e-4)
    np.testing.assert_allclose(fitted.metric_.matrix, M.value, atol=1e-4)


@pytest.mark.parametrize("diagonal", [False, True])
def test_mmc_reaches_the_conic_optimum(iris, pairs, diagonal):
    X, _ = iris
    fitted = gm.MMC(diagonal=diagonal, tol=1e-7, anchor=0).fit(X, pairs)
    V = X[pairs.left] - X[pairs.right]
    near, far = V[pairs.similar], V[~pairs.similar]
    S = near.T @ near
    S += 1e-6 * np.trace(S) / 4 * np.eye(4)
    M = cp.diag(cp.Variable(4, nonneg=True)) if diagonal else cp.Variable((4, 4), PSD=True)
    goal = cp.sum(cp.hstack([cp.sqrt(cp.trace(np.outer(v, v) @ M)) for v in far]))
    best = cp.Problem(cp.Maximize(goal), [cp.trace(S @ M) <= 1]).solve(solver="CLARABEL")
    assert fitted.objective_ == pytest.approx(best, rel=1e-6)
    assert np.sum(S * fitted.metric_.matrix) == pytest.approx(1, rel=1e-8)
    assert 0 <= fitted.solution_.gap + 1e-9 <= 1e-6 * best + 2e-9


@pytest.mark.parametrize("objective, size", [(full_objective, 16), (diagonal_objective, 4)])
def test_mmc_gradients_by_finite_differences(objective, size, rng):
    W, x = np.abs(rng.normal(size=(9, 4))), rng.normal(size=size)
    value, grad = objective(x, W)
    h = 1e-6
    numeric = [(objective(x + h * e, W)[0] - objective(x - h * e, W)[0]) / (2 * h) for e in np.eye(x.size)]
    np.testing.assert_allclose(grad, numeric, atol=1e-6)


def test_gmml_minimizes_its_objective(rng):
    """At t = ½ the geodesic solves M S M = D, the stationarity of ⟨M, S⟩ + ⟨M⁻¹, D⟩."""
    A, B = rng.normal(size=(2, 5, 5))
    S, D = A @ A.T + np.eye(5), B @ B.T + np.eye(5)
    M = geodesic(S, D, 0.5)
    np.testing.assert_allclose(M @ S @ M, D, rtol=1e-8)
    np.testing.assert_allclose(geodesic(S, D, 0.0), np.linalg.inv(S), rtol=1e-8)
    np.testing.assert_allclose(geodesic(S, D, 1.0), D, rtol=1e-8)


def test_learned_metrics_help_where_they_should():
    """Wine has features of very different scale; a learned metric repairs 1-NN."""
    from sklearn.model_selection import cross_val_score
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import make_pipeline

    X, y = load_wine(return_X_y=True)
    plain = cross_val_score(KNeighborsClassifier(1), X, y, cv=3).mean()
    for learner in (gm.RCA(anchor=0), gm.MMC(random_state=0, anchor=0), gm.ITML(random_state=0, anchor=0)):
        learned = cross_val_score(make_pipeline(learner, KNeighborsClassifier(1)), X, y, cv=3).mean()
        assert learned > plain + 0.1


@pytest.mark.parametrize("scale", [1e-100, 1e100])
@pytest.mark.parametrize(
    "learner",
    [gm.GMML(random_state=0, anchor=0), gm.ITML(random_state=0, anchor=0), gm.Framework(random_state=0, anchor=0)],
)
def test_extreme_units_change_nothing(iris, learner, scale):
    X, y = iris
    plain = learner.fit(X, y).metric_.sqdist(X)
    scaled = learner.fit(scale * X, y).metric_.sqdist(scale * X)
    np.testing.assert_allclose(scaled / scaled.max(), plain / plain.max(), atol=1e-6)
