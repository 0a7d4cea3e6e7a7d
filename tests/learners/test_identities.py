"""Each learner is the instance of the framework that the thesis says it is (Jain 2009, §3.1.1)."""

import numpy as np
import pytest
from sklearn.datasets import load_wine

import gramian as gm


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
