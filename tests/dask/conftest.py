"""One cluster of two processes for all tests of this folder."""

import numpy as np
import pytest


@pytest.fixture(scope="session")
def client():
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 2, "threads_per_worker": 1, "memory_limit": "1GB", "dashboard_address": ":0"}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        yield client


@pytest.fixture(scope="session")
def points():
    """Points of four classes in five features of different size."""
    rng = np.random.default_rng(3)
    y = rng.integers(4, size=240)
    X = (rng.normal(size=(240, 5)) + 2 * rng.normal(size=(4, 5))[y]) * np.array([1.0, 3.0, 0.5, 1.0, 2.0]) + 7
    return X, y
