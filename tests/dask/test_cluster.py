"""The same on a cluster of processes, whole and broken."""

import os
import signal
import time

import numpy as np
import pytest

import gramian as gm
from gramian.dask import ClusterError, constraints, engine, fit, transform

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")


def test_a_cluster_gives_the_local_fit(client, points, tmp_path):
    X, y = points
    np.save(tmp_path / "x.npy", X)
    pairs = gm.Pairs.from_labels(y, 100, random_state=0)
    cases = [(gm.RCA(anchor="auto", random_state=0), y), (gm.GMML(anchor=0), pairs), (gm.ITML(anchor=0), pairs)]
    for learner, side in [*cases, (gm.LFDA(anchor=0), y)]:
        local = type(learner)(**learner.get_params()).fit(X, side).metric_.matrix
        found = fit(client, learner, da.from_array(X, chunks=(70, 5)), side)
        np.testing.assert_allclose(found.metric_.matrix, local, rtol=0, atol=1e-8 * np.abs(local).max())
        assert type(found.metric_) is gm.Mahalanobis
    by_files = fit(client, gm.RCA(anchor=0), tmp_path / "x.npy", y, block_rows=50).metric_.matrix
    np.testing.assert_allclose(by_files, gm.RCA(anchor=0).fit(X, y).metric_.matrix, rtol=1e-8)


@pytest.mark.filterwarnings("ignore")
def test_learners_that_keep_values_on_the_workers(client, points):
    X, y = points
    blocks = da.from_array(X, chunks=(90, 5))
    local = gm.LMNN(anchor=0, max_iter=20).fit(X, y)
    found = fit(client, gm.LMNN(anchor=0, max_iter=20), blocks, y)
    np.testing.assert_array_equal(found.targets_, local.targets_)
    features = fit(client, gm.KernelFeatures(gm.Gaussian(5.0), rank=10), blocks)
    np.testing.assert_array_equal(features.basis_, gm.KernelFeatures(gm.Gaussian(5.0), rank=10).fit(X).basis_)
    assert fit(client, gm.DecorrelatedKMeans((2, 2), n_init=1, random_state=0), blocks).labels_.shape == (240, 2)


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
    found = fit(client, gm.RCA(anchor=0), deadly, y)
    assert (tmp_path / "killed").exists()
    np.testing.assert_allclose(found.metric_.matrix, gm.RCA(anchor=0).fit(X, y).metric_.matrix, rtol=1e-10)


def test_a_worker_killed_while_it_keeps_constraints_changes_nothing(client, points, monkeypatch):
    X, y = points
    pairs = gm.Pairs.from_labels(y, 100, random_state=0)
    monkeypatch.setattr(constraints, "MEMORY_BYTES", 0)
    monkeypatch.setattr(constraints, "PART_BYTES", 900)
    killed = []

    def kill(n_iter, value, residual):
        if not killed:
            killed.append(min(client.run(os.getpid).values()))
            os.kill(killed[0], signal.SIGKILL)

    found = fit(client, gm.ITML(anchor=0, callback=kill), da.from_array(X, chunks=(60, 5)), pairs).metric_.matrix
    assert killed
    np.testing.assert_allclose(found, gm.ITML(anchor=0).fit(X, pairs).metric_.matrix, rtol=1e-8)
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
    monkeypatch.setattr(engine, "PATIENCE_S", 1.0)
    options = {"n_workers": 0, "processes": False, "dashboard_address": ":0"}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as lonely:
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
