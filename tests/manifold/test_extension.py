"""New points go where training points of their place are."""

import numpy as np
import pytest
from tests.manifold.problems import hide, moons

import gramian as gm

pytestmark = pytest.mark.filterwarnings("ignore:.*connected components", "ignore:.*held-out labels")


@pytest.mark.parametrize("penalty", ["laplacian", "normalized", gm.Gaussian(0.3)])
def test_new_points_are_labeled_like_training_points(penalty):
    X, truth = moons(300)
    y = hide(truth, np.arange(0, 300, 15))
    model = gm.TDL(3, lam=10.0, n_neighbors=8, penalty=penalty).fit(X, y)
    assert np.mean(model.predict() == truth) > 0.95
    new, labels = moons(300, seed=1)
    assert np.mean(model.predict(new) == labels) > np.mean(model.predict() == truth) - 0.03
    np.testing.assert_allclose(model.transform(X[:5]), model.embedding_[:5], atol=1e-8)
