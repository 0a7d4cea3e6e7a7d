"""Points are validated once on every road, at the door."""

import numpy as np
import pytest

import gramian as gm
from gramian import _validate

X = np.random.default_rng(0).normal(size=(60, 6))
Y = np.random.default_rng(1).normal(size=(20, 6))
LABELS = np.arange(60) % 3


def fitted(learner):
    return learner.fit(X, LABELS)


def kernel_metric(alpha):
    features = gm.KernelFeatures(gm.Gaussian(2.0), rank=10).fit(X)
    return gm.KernelMetric(features, np.eye(10), alpha=alpha)


LINEAR, KERNEL = gm.Mahalanobis.euclidean(6), kernel_metric(1.0)
HASHED = gm.HashIndex(LINEAR, random_state=0).add(X)
EXACT = gm.ExactIndex(KERNEL).add(X)
LEGO = gm.LEGO(eta=0.1)

ROADS = {
    "ITML": (lambda: gm.ITML(random_state=0).fit(X, LABELS), 1),
    "ITML, rank": (lambda: gm.ITML(rank=3, random_state=0).fit(X, LABELS), 1),
    "RCA": (lambda: gm.RCA().fit(X, LABELS), 1),
    "Kernelized ITML": (lambda: gm.Kernelized(gm.ITML(), rank=20, random_state=0).fit(X, LABELS), 1),
    "Kernelized LMNN": (lambda: gm.Kernelized(gm.LMNN(reg="pull"), rank=20).fit(X, LABELS), 1),
    "KernelFeatures": (lambda: gm.KernelFeatures(gm.Gaussian(), rank=5).fit(X), 1),
    "linear distances": (lambda: LINEAR.sqdist(X, Y), 2),
    "kernel distances": (lambda: KERNEL.sqdist(X, Y), 2),
    "kernel distances of one set": (lambda: KERNEL.sqdist(X), 1),
    "kernel pairs": (lambda: KERNEL.pair_sqdist(X, X), 2),
    "kernel transform": (lambda: KERNEL.transform(X), 1),
    "hashed add": (lambda: gm.HashIndex(LINEAR, random_state=0).add(X), 1),
    "hashed query": (lambda: HASHED.query(Y, 3), 1),
    "TDL": (lambda: gm.TDL().fit(X, LABELS), 1),
    "one stream": (lambda: LEGO.partial_fit(X, LABELS), 1),
}
"""A road, and the number of sets of points that it is given."""


@pytest.mark.parametrize("road", ROADS)
def test_points_are_validated_once(road, monkeypatch):
    passes = []
    sound = _validate._sound
    monkeypatch.setattr(_validate, "_sound", lambda *args, **kwargs: passes.append(1) or sound(*args, **kwargs))
    run, sets = ROADS[road]
    run()
    assert len(passes) == sets
