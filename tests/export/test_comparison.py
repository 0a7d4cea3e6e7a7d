"""The check says the same, the recall, or what is wrong; it does not say yes to everything."""

import numpy as np
import pytest

import gramian as gm
from gramian.export.check import Answer, Nearest
from tests.export.problems import in_kernel, linear, neighbors, place, points, write

TARGETS = ["faiss", "usearch", "duckdb", "parquet", "qdrant", "elasticsearch", "weaviate"]


@pytest.mark.parametrize("target", TARGETS)
def test_a_fresh_export_is_the_same_and_a_stale_one_is_named(target, tmp_path):
    X = points(150)
    path = write(target, place(target, tmp_path), linear(), X)
    report = gm.export.check(linear(), target, path, X)
    assert report.same and report.recall == 1.0 and report.queries == 100
    assert str(report) == f"{target}: 100 queries × 10 neighbors: the same neighbors as ours"
    with pytest.raises(ValueError, match="check: .*(stale|not what was exported).*export again"):
        gm.export.check(linear(seed=7), target, path, X)
    with pytest.raises(ValueError, match=f"check: {target} must hold 140 rows, it holds 150; .*stale"):
        gm.export.check(linear(), target, path, X[:140])


@pytest.mark.parametrize("target", TARGETS)
def test_a_wrong_width_is_named(target, tmp_path):
    path = write(target, place(target, tmp_path), linear(4), points(150))
    with pytest.raises(ValueError, match=f"check: vectors of {target} must have width 5, they have 4"):
        gm.export.check(linear(), target, path, points(150))


def test_a_wrong_type_is_named(tmp_path):
    import duckdb
    import pyarrow as pa
    import pyarrow.parquet as pq
    from usearch.index import Index

    X = points(50)
    Z = linear().transform(X)
    lists = pa.FixedSizeListArray.from_arrays(pa.array(Z.ravel()), 5)
    pq.write_table(pa.table({"id": np.arange(50), "learned": lists}), tmp_path / "a.parquet")
    with pytest.raises(ValueError, match="check: vectors of parquet must be float32, they are float64"):
        gm.export.check(linear(), "parquet", tmp_path / "a.parquet", X)
    with duckdb.connect(str(tmp_path / "a.duckdb")) as connection:
        connection.execute(f"create table items as select * from '{tmp_path / 'a.parquet'}'")
        connection.execute("alter table items alter learned type double[5]")
    with pytest.raises(ValueError, match="check: vectors of duckdb must be float32, they are float64"):
        gm.export.check(linear(), "duckdb", tmp_path / "a.duckdb", X)
    half = Index(ndim=5, metric="l2sq", dtype="f16")
    half.add(np.arange(50), Z.astype(np.float32))
    half.save(str(tmp_path / "a.usearch"))
    with pytest.raises(ValueError, match="check: vectors of usearch must be float32, they are float16"):
        gm.export.check(linear(), "usearch", tmp_path / "a.usearch", X)


def test_a_missing_table_is_named(tmp_path):
    path = gm.export.to_duckdb(linear(), points(50), tmp_path / "a.duckdb")
    with pytest.raises(ValueError, match="check: table 'others' has no column 'learned'; export to it first"):
        gm.export.check(linear(), "duckdb", path, points(50), table="others")
    with pytest.raises(ValueError, match="check: target must be one of 'onnx'"):
        gm.export.check(linear(), "oracle", path, points(50))
    with pytest.raises(ValueError, match="check: X must be given"):
        gm.export.check(linear(), "duckdb", path)


def test_one_vector_that_was_changed_is_noticed(tmp_path):
    import duckdb

    path = gm.export.to_duckdb(linear(), points(150), tmp_path / "a.duckdb")
    with duckdb.connect(str(path)) as connection:
        connection.execute("update items set learned = [0, 0, 0, 0, 0]::float[5] where id = 3")
    with pytest.raises(ValueError, match="the vector of id 3 in duckdb must be that of this metric"):
        gm.export.check(linear(), "duckdb", path, points(150))


def test_points_far_from_the_origin_are_explained(tmp_path):
    X = points(300) * 1e-3 + 1e4
    path = gm.export.to_parquet(linear(), X, tmp_path / "a.parquet")
    with pytest.raises(ValueError, match="recall is .*far from the origin.*subtract their mean first"):
        gm.export.check(linear(), "parquet", path, X)
    inside = gm.to_faiss(linear(), X.astype(np.float64) - X.mean(axis=0), path=tmp_path / "a.faiss")
    assert gm.export.check(linear(), "faiss", inside, X - X.mean(axis=0)).same


def test_a_graph_is_reported_with_its_recall(tmp_path):
    X = points(3000)
    path = gm.export.to_faiss(linear(), X, kind="hnsw", path=tmp_path / "a.faiss", n_links=2, ef_construction=2)
    report = gm.export.check(linear(), "faiss", path, X)
    assert not report.exact and 0 < report.recall <= 1
    assert report.same or "recall 0." in str(report)


def test_a_kernel_metric_is_checked_too(tmp_path):
    metric, X = in_kernel(gm.Gaussian(2.0)), points(200)
    for target in ("faiss", "parquet"):
        path = write(target, place(target, tmp_path), metric, X)
        assert gm.export.check(metric, target, path, X).same


def test_many_points_in_one_place_are_no_error(tmp_path):
    """An engine may name any of the points that are equally near."""
    metric, X = gm.Mahalanobis(np.eye(1, 8)), np.round(points(500))
    for target in ("faiss", "duckdb", "qdrant", "usearch"):
        path = write(target, place(target, tmp_path), metric, X[:150] if target == "qdrant" else X)
        assert gm.export.check(metric, target, path, X[:150] if target == "qdrant" else X).same


def test_answers_are_worth_what_their_distances_say():
    Q, Z = points(6, seed=1), points(40)
    true = neighbors(gm.Mahalanobis.euclidean(8), Z, Q, 4)
    numbers = np.random.default_rng(0).permutation(40)
    answer = Answer(Q, numbers[true])
    for start in range(0, 40, 7):
        answer.add(numbers[start : start + 7], Z[start : start + 7])
    assert answer.recall() == 1.0
    wrong = true.copy()
    wrong[0, 0] = np.setdiff1d(np.arange(40), neighbors(gm.Mahalanobis.euclidean(8), Z, Q, 39)[0])[0]  # the farthest
    wrong[1, 0] = 1000
    answer = Answer(Q, wrong)
    answer.add(np.arange(40), Z)
    assert answer.recall() == pytest.approx(22 / 24)


def test_few_points_are_enough(tmp_path):
    X = points(4)
    for target in ("faiss", "usearch", "duckdb"):
        path = write(target, place(target, tmp_path), linear(), X)
        report = gm.export.check(linear(), target, path, X)
        assert report.same and report.k == 4


def test_neighbors_in_blocks_are_those_of_the_exact_index(rng):
    X, Q = points(500), points(20, seed=3)
    X[100] = X[7]
    near = Nearest(Q, 5)
    for start in range(0, 500, 37):
        near.add(np.arange(start, min(start + 37, 500)), X[start : start + 37])
    ids, sqdist = gm.ExactIndex(gm.Mahalanobis.euclidean(8)).add(X).query(Q, 5)
    assert np.array_equal(near.ids, ids)
    np.testing.assert_allclose(near.sqdist, sqdist, rtol=1e-9)
