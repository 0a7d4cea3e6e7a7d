"""Exported indexes answer with the learned distance, and work without this package."""

import numpy as np
import pytest

import gramian as gm


@pytest.fixture
def problem(rng):
    X = rng.normal(size=(800, 10)) + 5
    metric = gm.Mahalanobis(rng.normal(size=(6, 10)))
    return metric, X, gm.ExactIndex(metric).add(X).query(X[:40] + 0.1, k=5)


@pytest.mark.parametrize("kind", ["flat", "hnsw", "ivf", "lsh", "PCA6,Flat"])
def test_faiss_searches_raw_queries_under_the_metric(problem, kind, tmp_path):
    faiss = pytest.importorskip("faiss")
    metric, X, (ids, sqdist) = problem
    index = gm.to_faiss(metric, X, kind, **({"n_probe": 28} if kind == "ivf" else {}))
    found_sq, found = index.search((X[:40] + 0.1).astype(np.float32), 5)
    assert np.mean(found == ids) > 0.97
    np.testing.assert_allclose(found_sq[found == ids], sqdist[found == ids], rtol=1e-3)
    faiss.write_index(index, str(tmp_path / "index.faiss"))
    again = faiss.read_index(str(tmp_path / "index.faiss"))
    assert isinstance(again, faiss.IndexPreTransform)
    assert np.array_equal(again.search((X[:40] + 0.1).astype(np.float32), 5)[1], found)


def test_faiss_keeps_ids_and_kernel_coordinates(problem):
    pytest.importorskip("faiss")
    metric, X, (ids, _) = problem
    index = gm.to_faiss(metric, X, ids=7 * np.arange(800) + 3)
    assert np.array_equal(index.search((X[:40] + 0.1).astype(np.float32), 5)[1], 7 * ids + 3)
    features = gm.KernelFeatures(gm.Gaussian(5.0), rank=8).fit(X)
    kernel = gm.KernelMetric(features, np.eye(8))
    true = gm.ExactIndex(kernel).add(X).query(X[:20], k=3)[0]
    found = gm.to_faiss(kernel, X).search(kernel.transform(X[:20]).astype(np.float32), 3)[1]
    assert np.mean(found == true) > 0.95


def test_hnswlib_searches_transformed_queries(problem):
    pytest.importorskip("hnswlib")
    metric, X, (ids, sqdist) = problem
    index = gm.to_hnswlib(metric, X, ids=np.arange(800) + 10)
    index.set_ef(100)
    found, values = index.knn_query(metric.transform(X[:40] + 0.1), 5)
    assert np.mean(found == ids + 10) > 0.97
    np.testing.assert_allclose(values[found == ids + 10], sqdist[found == ids + 10], rtol=1e-3)


def test_what_cannot_be_exported_is_named(problem, monkeypatch):
    pytest.importorskip("faiss")
    metric, X, _ = problem
    with pytest.raises(TypeError, match="KernelHashIndex"):
        gm.to_faiss(gm.SubspaceMahalanobis(np.eye(10)[:, :2], np.eye(2), 1.0), X)
    with pytest.raises(TypeError, match="unknown option 'links'"):
        gm.to_faiss(metric, X, links=3)
    with pytest.raises(ValueError, match="10 features"):
        gm.to_faiss(metric, X[:, :3])
    import sys

    monkeypatch.setitem(sys.modules, "faiss", None)
    monkeypatch.setitem(sys.modules, "hnswlib", None)
    with pytest.raises(ImportError, match=r"gramian\[faiss\]"):
        gm.to_faiss(metric, X)
    with pytest.raises(ImportError, match=r"gramian\[hnswlib\]"):
        gm.to_hnswlib(metric, X)


def test_faiss_refuses_a_kind_it_does_not_know(problem):
    pytest.importorskip("faiss")
    metric, X = problem[0], problem[1]
    with pytest.raises(ValueError, match="to_faiss: kind must be 'flat'.*got 'hnws'"):
        gm.to_faiss(metric, X, "hnws")
