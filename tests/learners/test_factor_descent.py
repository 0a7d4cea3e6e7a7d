"""What all descents over a factor share: units, starts, early ends, degenerate data."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

import gramian as gm
from tests.learners.problems import classes_apart

LEARNERS = {
    "nca": gm.NCA(tol=1e-5, max_iter=500, anchor=0),
    "lmnn": gm.LMNN(tol=1e-5, max_iter=5000, anchor=0),
    "mcml": gm.MCML(tol=1e-7, max_iter=5000, anchor=0),
    "dne": gm.DNE(n_neighbors=3, anchor=0),
}


@pytest.mark.parametrize("name", ["nca", "lmnn", "mcml"])
@pytest.mark.parametrize("unit", [1e-6, 1e5])
def test_units_change_nothing(rng, name, unit):
    X, y = classes_apart(rng, n=45)
    a, b = clone(LEARNERS[name]).fit(X, y), clone(LEARNERS[name]).fit(unit * X, y)
    assert b.objective_ == pytest.approx(a.objective_, rel=1e-4)
    assert b.n_iter_ <= 2 * a.n_iter_ + 20
    np.testing.assert_allclose(b.metric_.sqdist(unit * X), a.metric_.sqdist(X), atol=0.05 * a.metric_.sqdist(X).max())


@settings(max_examples=10)
@given(st.integers(0, 2**16), st.sampled_from(["lmnn", "mcml", "dne"]))
def test_rotation_shift_and_order_change_nothing(seed, name):
    rng = np.random.default_rng(seed)
    X, y = classes_apart(rng, n=30)
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
    X, y = classes_apart(rng, n=20)
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


def test_more_features_than_points(rng):
    X, y = rng.standard_normal((20, 60)), np.arange(20) % 2
    for learner in (gm.LMNN(tol=1e-2, anchor=0), gm.MCML(reg=0.1, anchor=0), gm.NCA(anchor=0), gm.DNE(anchor=0)):
        assert np.isfinite(learner.fit(X, y).transform(X)).all()


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
