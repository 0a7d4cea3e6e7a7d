"""Threads: how many, and what they change, which is nothing."""

import threading

import numpy as np
import pytest

import gramian as gm
from gramian import _threads, neighbors


def test_threads_change_nothing(rng):
    X = rng.normal(size=(2000, 30))
    one, two = neighbors.nearest(X, 5), neighbors.nearest(X, 5, threads=3)
    assert np.array_equal(one[0], two[0])
    np.testing.assert_allclose(one[1], two[1], rtol=1e-13)


def test_the_limit_of_the_linear_algebra_is_taken_back(rng):
    from threadpoolctl import threadpool_info, threadpool_limits

    known = {part["filepath"] for part in _threads._libraries().info()}  # packages of other tests may bring their own

    def threads():
        return {part["num_threads"] for part in threadpool_info() if part["filepath"] in known}

    X = rng.normal(size=(500, 8))
    with threadpool_limits(2, user_api="blas"):
        before = threads()
        workers = [threading.Thread(target=neighbors.nearest, args=(X, 3)) for _ in range(6)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert threads() == before
        with _threads.one_blas_thread():
            assert threads() == {1}


def test_n_jobs_counts_threads():
    assert _threads.count(None, "x") == 1 and _threads.count(3, "x") == 3
    assert _threads.count(-1, "x") >= _threads.count(-2, "x") >= 1
    for bad in (0, 1.5, "all", True):
        with pytest.raises(ValueError, match="x: n_jobs must be"):
            _threads.count(bad, "x")


def test_learners_take_the_threads_of_the_joblib_configuration(rng, monkeypatch):
    import joblib

    X, y, asked = rng.normal(size=(60, 4)), np.arange(60) % 3, []
    each = _threads.each
    monkeypatch.setattr(
        _threads, "each", lambda function, pieces, threads: asked.append(threads) or each(function, pieces, threads)
    )
    alone = gm.LMNN(max_iter=5, anchor=0).fit(X, y).metric_.matrix
    assert asked and max(asked) <= 1  # 0 is small work, done without a limit on threads
    asked.clear()
    with joblib.parallel_config(n_jobs=2):
        assert _threads.count(None, "Test") == 2 and _threads.count(3, "Test") == 3
        np.testing.assert_allclose(gm.LMNN(max_iter=5, anchor=0).fit(X, y).metric_.matrix, alone)
    assert set(asked) - {0} == {2} and _threads.count(None, "Test") == 1
