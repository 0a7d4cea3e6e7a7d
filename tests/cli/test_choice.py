"""Learners, kernels and settings by name."""

import numpy as np

import gramian as gm
from gramian import persist
from gramian.cli import choice


def test_settings_reach_the_learner_and_the_file(gramian, wine):
    code, _, err = gramian(
        "fit",
        wine,
        "-l",
        "kind",
        "--learner",
        "itml",
        "--set",
        "gamma=0.1",
        "--set",
        "prior=covariance",
        "-o",
        "m.gram",
    )
    about = persist.describe("m.gram")["about"]
    assert code == 0, err
    assert about["settings"]["gamma"] == 0.1 and about["settings"]["prior"] == "covariance" and about["rows"] == 178


def test_kernel(gramian, tmp_path):
    rings = gm.datasets.rings(n=80, random_state=0)
    np.savez("rings.npz", X=rings.X, y=rings.y)
    code, out, err = gramian("fit", "rings.npz", "--kernel", "gaussian:0.7", "--rank", 20, "-o", "k.gram")
    assert code == 0 and "ITML in Gaussian" in out, err
    assert isinstance(gm.load("k.gram"), gm.KernelMetric)
    assert "KernelMetric" in gramian("info", "k.gram")[1]


def test_a_gaussian_kernel_without_a_width_takes_the_median_distance(gramian, wine):
    code, out, err = gramian("fit", wine, "-l", "kind", "--learner", "rca", "--kernel", "gaussian", "-o", "k.gram")
    assert code == 0 and "RCA in a Gaussian kernel" in out, err
    data = gm.datasets.load("wine")
    same = gm.Kernelized(gm.RCA(), random_state=0).fit(data.X, data.y).metric_
    assert np.allclose(gm.load("k.gram").sqdist(data.X[:5]), same.sqdist(data.X[:5]))


def test_every_public_learner_can_be_named():
    from gramian.learners.base import Learner

    public = [getattr(gm, name) for name in gm._registry.HOME]
    expected = {c for c in public if isinstance(c, type) and issubclass(c, Learner)}
    assert set(choice.learners().values()) == expected


def test_learners_list_their_settings(gramian):
    out = gramian("learners")[1]
    assert "n_neighbors=3" in out and "class_weight=None" in out
