"""A fit that fails leaves a learner as it was."""

import inspect

import numpy as np
import pytest
from scipy import sparse

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


@pytest.mark.parametrize("name", ["ITML", "MMC_Supervised", "SDML_Supervised", "SCML", "LMNN", "RCA"])
def test_a_table_for_a_setting_is_refused_in_one_sentence(name):
    cls = getattr(metric_learn, name)
    settings = inspect.signature(cls).parameters.values()
    old = {given.name for given in settings if given.default == "deprecated"}
    for setting in {given.name for given in settings} - {"preprocessor", "random_state"} - old:
        with pytest.raises(ValueError, match=f"{name}: {setting} must be "):
            cls(**{setting: sparse.csr_array(np.eye(3))}).fit(np.zeros((4, 2)), [0, 0, 1, 1])


def test_every_fit_is_whole():
    learners = [value for value in vars(metric_learn).values() if inspect.isclass(value) and hasattr(value, "fit")]
    assert len(learners) > 15 and all(hasattr(cls.fit, "guarded") for cls in learners)
