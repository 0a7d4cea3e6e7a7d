"""MLKR against plain loops and finite differences."""

import numpy as np
import pytest
from scipy.optimize import check_grad
from sklearn.datasets import load_diabetes

import gramian as gm
from gramian.learners.mlkr import mlkr_loss


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
    first = gm.MLKR(max_iter=15, tol=0).fit(X, y)
    again = gm.MLKR(max_iter=15, tol=0).fit(1e4 * X + 3, 7 * y - 100)
    np.testing.assert_allclose(first.transform(X - X[0]), again.transform(1e4 * (X - X[0])), rtol=1e-3, atol=1e-4)
    assert again.objective_ == pytest.approx(49 * first.objective_, rel=1e-4)


def test_words_are_targets_as_indicators(rng):
    X = rng.normal(size=(40, 3))
    y = (X[:, 0] > 0).astype(int)
    words, numbers = gm.MLKR().fit(X, np.array(["no", "yes"])[y]), gm.MLKR().fit(X, y)
    np.testing.assert_allclose(words.metric_.sqdist(X), numbers.metric_.sqdist(X), rtol=1e-3, atol=1e-3)


def test_targets_that_do_not_differ_are_refused(rng):
    with pytest.raises(ValueError, match="MLKR: needs finite targets that differ"):
        gm.MLKR().fit(rng.normal(size=(5, 2)), np.ones(5))


def test_irrelevant_features_lose_their_weight(rng):
    X = rng.normal(size=(150, 4)) * [1, 1, 10, 10]
    mlkr = gm.MLKR().fit(X, np.sin(X[:, 0]) + X[:, 1])
    weights = np.sqrt(np.diag(mlkr.metric_.matrix))
    assert weights[:2].min() > 20 * weights[2:].max()
