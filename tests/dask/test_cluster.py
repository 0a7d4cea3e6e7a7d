"""The same on a cluster of processes, whole and broken."""

import os
import signal
import time

import numpy as np
import pytest

import gramian as gm
from gramian.dask import ClusterError, cluster, fit, transform

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")


def test_a_cluster_gives_the_local_fit(client, points, tmp_path):
    X, y = points
    np.save(tmp_path / "x.npy", X)
    pairs = gm.Pairs.from_labels(y, 100, random_state=0)
    cases = [(gm.RCA(random_state=0), y, 1000), (gm.RCA(anchor=0.3), y, 50), (gm.LFDA(random_state=0), y, 1000)]
    for learner, side, sample in [*cases, (gm.GMML(anchor=0), pairs, 50), (gm.ITML(anchor=0.2), pairs, 50)]:
        local = type(learner)(**learner.get_params()).fit(X, side).metric_.matrix
        found = fit(client, learner, da.from_array(X, chunks=(70, 5)), side, sample=sample)
        np.testing.assert_allclose(found.metric_.matrix, local, rtol=0, atol=1e-8 * np.abs(local).max())
        assert type(found.metric_) is gm.Mahalanobis
    by_files = fit(client, gm.RCA(anchor=0), tmp_path / "x.npy", y, block_rows=50, sample=50).metric_.matrix
    np.testing.assert_allclose(by_files, gm.RCA(anchor=0).fit(X, y).metric_.matrix, rtol=1e-8)


def test_clusterings_name_all_rows(client, points):
    clusters = gm.DecorrelatedKMeans((2, 2), n_init=1, random_state=0)
    with pytest.warns(UserWarning, match="learns from 100 of the 240 rows"):
        fit(client, clusters, da.from_array(points[0], chunks=(90, 5)), sample=100)
    np.testing.assert_array_equal(clusters.labels_, clusters.predict(points[0]))


def test_transform_is_a_dask_array(client, points):
    X, y = points
    learner = gm.RCA(anchor=0).fit(X, y)
    Z = transform(client, learner, da.from_array(X, chunks=(100, 5)))
    assert Z.chunks == ((100, 100, 40), (5,))
    np.testing.assert_allclose(Z.compute(), learner.transform(X))


def fatal_once(block, path):
    """Kill the worker that reads a block, the first time."""
    if block.shape[0] and not os.path.exists(path):
        open(path, "w").close()
        os.kill(os.getpid(), signal.SIGKILL)
    return block


def fatal(block):
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_worker_killed_in_fit_changes_nothing(client, points, tmp_path):
    X, y = points
    blocks = da.from_array(X, chunks=(60, 5))
    deadly = blocks.map_blocks(fatal_once, str(tmp_path / "killed"), dtype=float, meta=np.zeros((0, 0)))
    found = fit(client, gm.RCA(anchor=0), deadly, y, sample=50)
    assert (tmp_path / "killed").exists()
    np.testing.assert_allclose(found.metric_.matrix, gm.RCA(anchor=0).fit(X, y).metric_.matrix, rtol=1e-10)
    client.wait_for_workers(2, timeout=60)


def test_a_block_that_kills_every_worker_is_one_clear_error(client, points):
    X, y = points
    scheduler = client.cluster.scheduler
    before, scheduler.allowed_failures = scheduler.allowed_failures, 0
    try:
        deadly = da.from_array(X, chunks=(240, 5)).map_blocks(fatal, dtype=float, meta=np.zeros((0, 0)))
        with pytest.raises(ClusterError, match=r"use blocks of at most \d+ MB .* rows of 64 features.*block_rows"):
            fit(client, gm.RCA(anchor=0), deadly, y)
    finally:
        scheduler.allowed_failures = before
    client.wait_for_workers(2, timeout=60)


def hungry(block):
    raise MemoryError("Unable to allocate 8.00 EiB")


def test_a_task_without_memory_is_a_sentence(client, points):
    X, y = points
    large = da.from_array(X, chunks=(240, 5)).map_blocks(hungry, dtype=float, meta=np.zeros((0, 0)))
    with pytest.raises(ClusterError, match="no memory for a task.*smaller blocks"):
        fit(client, gm.RCA(anchor=0), large, y)


def test_a_cluster_without_workers_is_an_error_within_seconds(points, monkeypatch):
    X, y = points
    monkeypatch.setattr(cluster, "PATIENCE_S", 1.0)
    options = {"n_workers": 0, "processes": False, "dashboard_address": ":0"}
    with distributed.LocalCluster(**options) as workers, distributed.Client(workers) as lonely:
        began = time.monotonic()
        with pytest.raises(ClusterError, match="no worker"):
            fit(lonely, gm.RCA(anchor=0), [X], y)
        assert time.monotonic() - began < 30


def test_errors_in_the_data_come_back_as_they_are(client, points):
    X, y = points
    X = X.copy()
    X[3, 2] = np.nan
    with pytest.raises(ValueError, match="NaN or infinity"):
        fit(client, gm.RCA(anchor=0), da.from_array(X, chunks=(100, 5)), y)
