"""Learners of triplets and quadruplets under their names in metric-learn."""

import numpy as np
import pytest

import gramian.compat.metric_learn as metric_learn


def test_weights_of_lsml_are_normalized(iris):
    X, y = iris
    index = np.column_stack(metric_learn.Constraints(y).positive_negative_pairs(40, same_length=True, random_state=0))
    weights = np.arange(1.0, len(index) + 1)
    fitted = metric_learn.LSML(preprocessor=X).fit(index, weights=weights)
    np.testing.assert_allclose(fitted.w_, weights / weights.sum())
    np.testing.assert_array_equal(weights, np.arange(1.0, len(index) + 1))
    assert fitted.score(index) > 0.8 and set(fitted.predict(index)) <= {-1, 1}


def test_triplets_of_scml(iris):
    X, y = iris
    triplets = metric_learn.Constraints(y).generate_knntriplets(X, 3, 4)
    fitted = metric_learn.SCML(n_basis=40, preprocessor=X, random_state=0).fit(triplets)
    assert fitted.score(triplets) > 0.9


@pytest.mark.parametrize("weights", [np.nan, np.full(24, -1.0), np.zeros((3, 2))])
def test_refused_weights_change_nothing(weights):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(24, 4))
    quadruplets = np.stack([X, X + 0.1, X + 1, X + 4], axis=1)
    learner = metric_learn.LSML(max_iter=5).fit(quadruplets)
    before = dict(vars(learner))
    with pytest.raises(Exception):  # noqa: B017  # whatever it is, in the words of the other package
        learner.fit(quadruplets, weights=weights)
    assert vars(learner).keys() == before.keys()
    assert all(vars(learner)[name] is value for name, value in before.items())
