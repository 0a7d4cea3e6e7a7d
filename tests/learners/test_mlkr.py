"""MLKR against plain loops and finite differences."""

import numpy as np
import pytest
from scipy.optimize import check_grad
from sklearn.datasets import load_diabetes, make_friedman1

import gramian as gm
from gramian.learners.held_out import number_folds, path_scores
from gramian.learners.mlkr import mlkr_loss
from gramian.learners.path import Path
from gramian.learners.task import Targets


@pytest.fixture(scope="module")
def diabetes():
    X, y = load_diabetes(return_X_y=True)
    return X[:120], y[:120]


def left_out_errors(Z, y):
    """Errors of kernel regression, point by point."""
    errors = []
    for i in range(len(Z)):
        others = np.delete(np.arange(len(Z)), i)
        p = np.exp(-((Z[others] - Z[i]) ** 2).sum(axis=1))
        errors.append(p @ y[others] / p.sum() - y[i])
    return np.array(errors)


def test_the_loss_is_that_of_leaving_points_out(rng):
    X, y, L = rng.normal(size=(30, 4)), rng.normal(size=30), rng.normal(size=(2, 4))
    value, _ = mlkr_loss(L, X, y[:, None])
    assert value == pytest.approx((left_out_errors(X @ L.T, y) ** 2).sum())


@pytest.mark.parametrize("shape", [(2, 7), (4, 4)])
def test_the_gradient_is_that_of_finite_differences(rng, shape):
    X, T, L = rng.normal(size=(20, shape[1])), rng.normal(size=(20, 3)), 0.5 * rng.normal(size=shape)

    def part(place):
        return lambda x: np.ravel(mlkr_loss(x.reshape(shape), X, T)[place])

    assert check_grad(lambda x: part(0)(x)[0], part(1), L.ravel()) < 1e-5


def test_objective_and_score_are_the_errors_on_the_points(diabetes):
    X, y = diabetes
    mlkr = gm.MLKR(n_components=2, max_iter=20).fit(X, y)
    errors = left_out_errors(mlkr.transform(X), y)
    assert mlkr.objective_ == pytest.approx((errors**2).sum(), rel=1e-6)
    assert mlkr.score(X, y) == pytest.approx(1 - (errors**2).sum() / ((y - y.mean()) ** 2).sum(), rel=1e-6)


def test_the_callback_hears_the_objective_in_the_units_of_the_targets(diabetes):
    X, y = diabetes
    heard = []
    mlkr = gm.MLKR(n_components=2, max_iter=20, tol=1e-6, callback=lambda *state: heard.append(state)).fit(X, y)
    assert heard[-1][1] == pytest.approx(mlkr.objective_, rel=1e-6) and heard[-1][0] == mlkr.n_iter_


def test_units_of_points_and_targets_do_not_matter(diabetes):
    X, y = diabetes
    first = gm.MLKR(anchor=0, max_iter=15, tol=0).fit(X, y)
    again = gm.MLKR(anchor=0, max_iter=15, tol=0).fit(1e4 * X + 3, 7 * y - 100)
    np.testing.assert_allclose(first.transform(X - X[0]), again.transform(1e4 * (X - X[0])), rtol=1e-3, atol=1e-4)
    assert again.objective_ == pytest.approx(49 * first.objective_, rel=1e-4)


def test_words_are_targets_as_indicators(rng):
    X = rng.normal(size=(40, 3))
    y = (X[:, 0] > 0).astype(int)
    words, numbers = (gm.MLKR(anchor=0).fit(X, given) for given in (np.array(["no", "yes"])[y], y))
    np.testing.assert_allclose(words.metric_.sqdist(X), numbers.metric_.sqdist(X), rtol=1e-3, atol=1e-3)


def test_targets_that_do_not_differ_are_refused(rng):
    with pytest.raises(ValueError, match="MLKR: needs finite targets that differ"):
        gm.MLKR().fit(rng.normal(size=(5, 2)), np.ones(5))


def test_irrelevant_features_lose_their_weight(rng):
    X = rng.normal(size=(150, 4)) * [1, 1, 10, 10]
    mlkr = gm.MLKR(anchor=0).fit(X, np.sin(X[:, 0]) + X[:, 1])
    weights = np.sqrt(np.diag(mlkr.metric_.matrix))
    assert weights[:2].min() > 20 * weights[2:].max()


def nearest_mean(Z, y, Z_new, k=10):
    """Predictions by hand: the mean of the nearest."""
    near = np.argsort(((Z_new[:, None] - Z[None]) ** 2).sum(axis=2), axis=1)[:, :k]
    return y[near].mean(axis=1)


def test_numbers_that_mean_nothing_do_no_harm(rng):
    X, X_new = rng.normal(size=(80, 120)), rng.normal(size=(40, 120))
    mlkr = gm.MLKR(random_state=0).fit(X, rng.normal(size=80))
    assert mlkr.anchor_ >= 0.9
    D, plain = mlkr.metric_.sqdist(X_new, X), gm.linalg.sqdist(X_new, X)
    assert np.corrcoef(D.ravel(), plain.ravel())[0, 1] > 0.95


@pytest.mark.parametrize("n", [60, 200])
def test_few_points_are_predicted_no_worse_than_by_the_features(n):
    X, y = make_friedman1(n + 500, 100, noise=1.0, random_state=0)
    A, a, B, b = X[:n], y[:n], X[n:], y[n:]
    fits = [gm.MLKR(random_state=seed).fit(A, a).transform for seed in range(3)]  # one draw of folds says little
    *learned, plain = (((nearest_mean(f(A), a, f(B)) - b) ** 2).mean() for f in (*fits, np.asarray))
    assert np.mean(learned) < plain * 1.01


def test_the_weight_is_judged_by_what_is_predicted_of_points_that_were_held_out(rng):
    X, y = rng.normal(size=(45, 3)), rng.normal(size=45)
    targets = Targets(y[:, None])
    y = targets.standard[:, 0]
    path, weights = Path(np.eye(3)[:, :2], np.diag([3.0, 0.1])), np.array([0.0, 0.4, 1.0])
    seen = []
    for fold in number_folds(targets, np.random.RandomState(0)):
        ((kind, scores),) = path_scores(fold, X, path, weights)
        held = np.setdiff1d(np.arange(45), fold.rows)
        seen += list(held)
        for weight, score in zip(weights, scores.T):
            root = np.diag(np.sqrt((1 - weight) * np.array([9.0, 0.01, 1.0]) + weight))
            guess = nearest_mean(X[fold.rows] @ root, y[fold.rows], X[held] @ root, k=3)
            np.testing.assert_allclose(score, -((guess - y[held]) ** 2))
    assert kind == "numbers" and sorted(seen) == list(range(45))


@pytest.mark.parametrize("anchor", [0.3, 1.0, "auto"])
def test_a_blend_is_in_the_unit_of_kernel_regression(rng, anchor):
    X = rng.normal(size=(90, 3)) * [1, 5, 5]
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=90)
    mlkr = gm.MLKR(anchor=anchor, random_state=0).fit(X, y)
    Z = mlkr.transform(X)
    errors = [(left_out_errors(c * Z, y) ** 2).sum() for c in (0.7, 1.0, 1.4)]
    assert errors[1] <= 1.01 * min(errors)
    assert mlkr.objective_ == pytest.approx(errors[1], rel=1e-6)
    assert mlkr.score(X, y) == pytest.approx(1 - errors[1] / ((y - y.mean()) ** 2).sum(), rel=1e-6)
    if anchor == 1.0:
        M = mlkr.metric_.matrix
        np.testing.assert_allclose(M, M[0, 0] * np.eye(3), atol=1e-9 * M[0, 0])


def test_copies_have_a_unit_too():
    X = np.repeat(np.arange(12.0)[:, None], 3, axis=0)
    mlkr = gm.MLKR(random_state=0).fit(X, X[:, 0] ** 2)
    assert np.isfinite(mlkr.metric_.matrix).all() and mlkr.score(X, X[:, 0] ** 2) > 0.9


@pytest.mark.parametrize("settings", [{}, {"kernel": gm.Gaussian(2.0)}], ids=["beside features", "kernel"])
def test_numbers_pass_through_a_kernel(rng, settings):
    X = rng.normal(size=(90, 3))
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=90)
    found = gm.Kernelized(gm.MLKR(random_state=0), rank=20, **settings).fit(X[:60], y[:60])
    Z = found.transform(X)
    error = ((nearest_mean(Z[:60], y[:60], Z[60:], k=5) - y[60:]) ** 2).mean()
    assert error < 1.02 * ((nearest_mean(X[:60], y[:60], X[60:], k=5) - y[60:]) ** 2).mean()
