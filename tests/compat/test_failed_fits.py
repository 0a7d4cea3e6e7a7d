"""A fit that fails leaves a learner as it was."""

import numpy as np
import pytest

from gramian.compat import metric_learn


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
