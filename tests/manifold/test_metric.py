"""The metric of an embedding, and its files."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from tests.manifold.problems import hide, moons

import gramian as gm

pytestmark = pytest.mark.filterwarnings("ignore:.*connected components", "ignore:.*held-out labels")


def test_metric_is_the_distance_in_the_embedding_and_is_stored(tmp_path):
    X, truth = moons()
    for penalty in ("normalized", gm.Gaussian(0.3)):
        model = gm.TDL(3, n_neighbors=8, penalty=penalty).fit(X, hide(truth, [0, 10, 60, 119]))
        expected = cdist(model.embedding_, model.embedding_, "sqeuclidean")
        np.testing.assert_allclose(model.metric_.sqdist(X), expected, atol=1e-7)
        model.metric_.save(tmp_path / "metric")
        new = moons(seed=3)[0]
        np.testing.assert_allclose(gm.load(tmp_path / "metric").sqdist(new), model.metric_.sqdist(new))
