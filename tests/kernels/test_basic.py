"""Gaussian("median"): the width comes from the points that something is fitted on."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist

import gramian as gm


def test_the_scale_is_the_median_distance(rng):
    X = rng.normal(size=(40, 3))
    assert gm.Gaussian("median").bound(X).scale == pytest.approx(np.median(pdist(X)))
    M = gm.Mahalanobis.from_matrix(np.diag([1.0, 4.0, 9.0]))
    assert gm.Gaussian("median", M).bound(X).scale == pytest.approx(np.median(pdist(X * [1, 2, 3])))
    both = (0.5 * gm.Gaussian("median") + gm.Linear()).bound(X)
    assert both.parts[0].base.scale == pytest.approx(np.median(pdist(X)))


def test_learners_and_features_settle_it_and_files_keep_the_number(rng, tmp_path):
    X, y = rng.normal(size=(40, 3)), np.arange(40) % 2
    scale = np.median(pdist(X))
    features = gm.KernelFeatures(gm.Gaussian("median"), rank=10, random_state=0).fit(X)
    plain = gm.KernelFeatures(gm.Gaussian(scale), rank=10, random_state=0).fit(X)
    gram, expected = (Z @ Z.T for Z in (features.transform(X), plain.transform(X)))
    np.testing.assert_allclose(gram, expected, rtol=1e-5)
    metric = gm.Kernelized(gm.RCA(), gm.Gaussian("median"), rank=10).fit(X, y).metric_
    metric.save(tmp_path / "m.gram")
    assert gm.load(tmp_path / "m.gram").features.kernel_.scale == pytest.approx(scale)


def test_without_points_it_says_what_is_missing():
    with pytest.raises(ValueError, match=r"kernel.bound\(X\)"):
        gm.Gaussian("median")([[0.0]])
    with pytest.raises(ValueError, match="scale must be"):
        gm.Gaussian("mean")
