"""Exported indexes answer with the learned distance, and work without this package."""

import sys

import numpy as np
import pytest

import gramian as gm
from tests.export.problems import BY_ANGLE, CURVED, in_kernel, linear, neighbors, on_angles, points, subspace


@pytest.fixture
def problem(rng):
    X = rng.normal(size=(800, 10)) + 5
    metric = gm.Mahalanobis(rng.normal(size=(6, 10)))
    return metric, X, gm.ExactIndex(metric).add(X).query(X[:40] + 0.1, k=5)


@pytest.mark.parametrize("kind", ["flat", "hnsw", "ivf", "lsh", "PCA6,Flat"])
def test_faiss_searches_raw_queries_under_the_metric(problem, kind, tmp_path):
    import faiss

    metric, X, (ids, sqdist) = problem
    index = gm.to_faiss(metric, X, kind=kind, **({"n_probe": 28} if kind == "ivf" else {}))
    found_sq, found = index.search((X[:40] + 0.1).astype(np.float32), 5)
    assert np.mean(found == ids) > 0.97
    np.testing.assert_allclose(found_sq[found == ids], sqdist[found == ids], rtol=1e-3)
    faiss.write_index(index, str(tmp_path / "index.faiss"))
    again = faiss.read_index(str(tmp_path / "index.faiss"))
    assert isinstance(again, faiss.IndexPreTransform)
    assert np.array_equal(again.search((X[:40] + 0.1).astype(np.float32), 5)[1], found)


@pytest.mark.parametrize("kind", ["flat", "hnsw", "ivf"])
def test_a_faiss_file_finds_our_neighbors_with_the_settings_it_holds(problem, kind, tmp_path):
    import faiss

    metric, X, (ids, _) = problem
    path = gm.export.to_faiss(metric, X, kind=kind, path=tmp_path / "a.faiss")
    found = faiss.read_index(str(path)).search((X[:40] + 0.1).astype(np.float32), 5)[1]
    assert np.mean([len(set(a) & set(b)) / 5 for a, b in zip(found, ids)]) > 0.99


def test_faiss_keeps_ids_and_kernel_coordinates(problem):
    metric, X, (ids, _) = problem
    index = gm.to_faiss(metric, X, ids=7 * np.arange(800) + 3)
    assert np.array_equal(index.search((X[:40] + 0.1).astype(np.float32), 5)[1], 7 * ids + 3)
    features = gm.KernelFeatures(gm.Gaussian(5.0), rank=8).fit(X)
    kernel = gm.KernelMetric(features, np.eye(8))
    true = gm.ExactIndex(kernel).add(X).query(X[:20], k=3)[0]
    found = gm.to_faiss(kernel, X).search(kernel.transform(X[:20]).astype(np.float32), 3)[1]
    assert np.mean(found == true) > 0.95


@pytest.mark.parametrize("alpha", [0.0, 0.7])
def test_faiss_takes_raw_queries_of_a_subspace_metric(alpha):
    X, Q = points(300), points(20, seed=3)
    found = gm.to_faiss(subspace(alpha), X).search(Q.astype(np.float32), 5)[1]
    assert np.array_equal(found, neighbors(subspace(alpha), X, Q, 5))


@pytest.mark.parametrize("name", BY_ANGLE)
def test_faiss_takes_raw_queries_of_a_metric_by_the_angle(name, tmp_path):
    """The division by the length is inside, behind the linear map: the file alone finds our neighbors."""
    import faiss

    metric, X, Q = BY_ANGLE[name](), points(300), points(100, seed=3)
    path = gm.export.to_faiss(metric, X, path=tmp_path / "a.faiss")
    index = faiss.read_index(str(path))
    ids = index.search(Q.astype(np.float32), 10)[1]
    assert np.array_equal(np.sort(ids), np.sort(neighbors(metric, X, Q, 10)))
    assert gm.export.check(metric, "faiss", path, X).same and str(path.name) in (tmp_path / "README.md").read_text()


def test_faiss_takes_a_stream(problem):
    metric, X, (ids, _) = problem
    index = gm.to_faiss(metric, iter([(np.arange(500), X[:500]), (np.arange(500, 800), X[500:])]))
    assert np.array_equal(index.search((X[:40] + 0.1).astype(np.float32), 5)[1], ids)


@pytest.mark.parametrize("metric", [linear(), CURVED["Gaussian"](), on_angles()], ids=["linear", "Gaussian", "angles"])
def test_usearch_searches_transformed_queries(metric, tmp_path):
    from usearch.index import Index

    X, Q, ids = points(500), points(30, seed=3), np.arange(500) + 10
    path = gm.export.to_usearch(metric, X, tmp_path / "a.usearch", ids=ids)
    index = Index.restore(str(path))
    index.expansion_search = 200
    found = index.search(metric.transform(Q).astype(np.float32), 5).keys
    true = neighbors(metric, X, Q, 5, ids)
    assert np.mean([len(set(a) & set(b)) / 5 for a, b in zip(found, true)]) > 0.99
    in_memory = gm.export.to_usearch(metric, X, ids=ids)
    exact = in_memory.search(metric.transform(Q).astype(np.float32), 5, exact=True).keys
    assert np.array_equal(np.sort(exact), np.sort(true))


@pytest.mark.engines
@pytest.mark.parametrize("streamed", [False, True])
def test_hnswlib_searches_transformed_queries(problem, streamed, tmp_path):
    import hnswlib

    metric, X, (ids, sqdist) = problem
    numbers = np.arange(800) + 10
    given = (iter([(numbers[:1], X[:1]), (numbers[1:], X[1:])]),) if streamed else (X,)
    options = {} if streamed else {"ids": numbers}
    path = gm.to_hnswlib(metric, *given, path=tmp_path / "a.hnsw", **options)
    index = hnswlib.Index(space="l2", dim=6)
    index.load_index(str(path))
    index.set_ef(100)
    found, values = index.knn_query(metric.transform(X[:40] + 0.1), 5)
    assert np.mean(found == ids + 10) > 0.97
    np.testing.assert_allclose(values[found == ids + 10], sqdist[found == ids + 10], rtol=1e-3)


@pytest.mark.engines
def test_hnswlib_gives_its_vectors_back(problem, tmp_path):
    metric, X, _ = problem
    path = gm.to_hnswlib(metric, X, path=tmp_path / "a.hnsw")
    blocks = list(gm.export.from_hnswlib(path, 6, block=300))
    assert [len(ids) for ids, _ in blocks] == [300, 300, 200]
    np.testing.assert_allclose(np.concatenate([Z for _, Z in blocks]), metric.transform(X), rtol=1e-4, atol=1e-4)
    with pytest.raises(TypeError, match="from_hnswlib: dim must be given"):
        list(gm.export.from_hnswlib(path))


def test_what_cannot_be_exported_is_named(problem, monkeypatch):
    metric, X, _ = problem
    with pytest.raises(TypeError, match="search it with HashIndex"):
        gm.to_faiss(in_kernel(gm.Gaussian(2.0), alpha=1.0), points(20))
    with pytest.raises(TypeError, match="unknown option 'links'"):
        gm.to_faiss(metric, X, links=3)
    with pytest.raises(ValueError, match="10 features"):
        gm.to_faiss(metric, X[:, :3])
    for ids, shown in (([-1, *range(799)], "-1"), (np.arange(800).astype(str), "'0'")):
        with pytest.raises(ValueError, match=f"to_faiss: ids must be integers from 0 on, got .*{shown}"):
            gm.to_faiss(metric, X, ids=ids)
    monkeypatch.setitem(sys.modules, "faiss", None)
    monkeypatch.setitem(sys.modules, "hnswlib", None)
    with pytest.raises(ImportError, match=r"gramian\[faiss\]"):
        gm.to_faiss(metric, X)
    with pytest.raises(ImportError, match=r"gramian\[hnswlib\]"):
        gm.to_hnswlib(metric, X)


def test_faiss_refuses_a_kind_it_does_not_know(problem):
    metric, X = problem[0], problem[1]
    with pytest.raises(ValueError, match="to_faiss: kind must be 'flat'.*got 'hnws'"):
        gm.to_faiss(metric, X, kind="hnws")
