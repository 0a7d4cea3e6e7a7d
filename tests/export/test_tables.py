"""Tables and bulk files hold E(x) under the right ids, and answer with our neighbors."""

import json

import numpy as np
import pytest

import gramian as gm
from tests.export.problems import (
    BY_ANGLE,
    CURVED,
    FORMULAS,
    linear,
    neighbors,
    opened,
    place,
    points,
    queries,
    stored,
    write,
)

TABLES = ["duckdb", "parquet", "qdrant", "elasticsearch", "opensearch", "weaviate"]
"""Targets whose packages every test run has."""


def found(target, path, metric, Q, k=10, form="vector"):
    reader = opened(target, path, metric, form=form)
    try:
        asked = metric.transform(Q)
        if form == "query":
            asked = np.column_stack(metric.view(Q).affine.query(Q))
        return reader.search(Q if reader.takes == "raw" else asked, k)
    finally:
        reader.close()


@pytest.mark.parametrize("target", TABLES)
def test_a_table_answers_with_our_neighbors(target, tmp_path):
    X, Q = points(200), queries(10)
    path = write(target, place(target, tmp_path), linear(), X)
    assert path == place(target, tmp_path) and path.exists() and (tmp_path / "README.md").exists()
    assert np.array_equal(found(target, path, linear(), Q), neighbors(linear(), X, Q))


@pytest.mark.parametrize("name", ["Mahalanobis", "centered linear kernel", *BY_ANGLE])
@pytest.mark.parametrize("target", [name for name in TABLES if gm.export.TARGETS[name].forms])
def test_the_query_form_answers_with_our_neighbors(target, name, tmp_path):
    X, Q, metric = points(100), queries(5), FORMULAS[name]()
    path = write(target, place(target, tmp_path), metric, X, form="query")
    assert np.array_equal(found(target, path, metric, Q, form="query"), neighbors(metric, X, Q))
    assert gm.export.check(metric, target, path, X, form="query").same


@pytest.mark.parametrize("name", BY_ANGLE)
@pytest.mark.parametrize("target", TABLES)
def test_a_metric_by_the_angle_answers_with_our_neighbors(target, name, tmp_path):
    X, Q, metric = points(200), queries(10), BY_ANGLE[name]()
    path = write(target, place(target, tmp_path), metric, X)
    assert np.array_equal(found(target, path, metric, Q), neighbors(metric, X, Q))
    assert gm.export.check(metric, target, path, X).same


@pytest.mark.parametrize("target", TABLES)
def test_ids_may_be_numbers_or_words(target, tmp_path):
    X, Q = points(50), queries(4)
    ours = neighbors(linear(), X, Q, 3)
    for ids in (np.arange(50) * 7 + 3, np.array([f"item '{i}'\t\\" for i in range(50)])):
        path = write(target, place(target, tmp_path, f"{ids.dtype.kind}"), linear(), X, ids=ids)
        assert np.array_equal(found(target, path, linear(), Q, 3), ids[ours])


@pytest.mark.parametrize("name", [*FORMULAS, *CURVED])
def test_every_metric_with_coordinates_goes_into_a_table(name, tmp_path):
    metric = (FORMULAS | CURVED)[name]()
    X = points(60)
    path = gm.export.to_parquet(metric, X, tmp_path / "out.parquet")
    Z = stored(path)[1]
    direct = ((Z[:, None] - Z[None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(direct, metric.sqdist(X), atol=1e-5 * direct.max())


def test_words_under_a_kernel_go_into_a_table(tmp_path):
    kernel = gm.FunctionKernel(lambda a, b: float(len(set(a) & set(b))))
    words = ["abc", "bcd", "xyz", "ayz", "bxy"]
    metric = gm.KernelMetric(gm.KernelFeatures(kernel).fit(words), np.eye(5))
    path = gm.export.to_parquet(metric, words, tmp_path / "words.parquet", ids=words)
    ids, Z = stored(path)
    assert ids.tolist() == words
    direct = ((Z[:, None] - Z[None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(direct, metric.sqdist(words), atol=1e-5)


def test_parquet_and_duckdb_have_the_columns_id_and_learned(tmp_path):
    import duckdb
    import pyarrow.parquet as pq

    X = points(30)
    gm.export.to_parquet(linear(), X, tmp_path / "a.parquet")
    table = pq.read_table(tmp_path / "a.parquet")
    assert table.column_names == ["id", "learned"] and str(table.schema.field("id").type) == "int64"
    np.testing.assert_allclose(np.stack(table["learned"].to_numpy()), linear().transform(X), rtol=1e-5, atol=1e-6)
    gm.export.to_duckdb(linear(), X, tmp_path / "a.duckdb", original=True)
    with duckdb.connect(str(tmp_path / "a.duckdb")) as connection:
        assert connection.execute("show tables").fetchall() == [("items",)]
        described = connection.execute("describe items").fetchall()
    assert [row[:2] for row in described] == [("id", "BIGINT"), ("learned", "FLOAT[5]"), ("original", "FLOAT[8]")]


def test_a_table_of_ours_is_replaced_and_a_foreign_one_is_not(tmp_path):
    import duckdb

    path = tmp_path / "shop.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("create table prices (id bigint, price float); insert into prices values (1, 2.5)")
    gm.export.to_duckdb(linear(), points(10), path)
    gm.export.to_duckdb(linear(), points(20), path)
    with pytest.raises(ValueError, match="to_duckdb: table 'prices' is there with the column 'price', which no export"):
        gm.export.to_duckdb(linear(), points(10), path, table="prices")
    with duckdb.connect(str(path)) as connection:
        assert connection.execute("select * from prices").fetchall() == [(1, 2.5)]
        assert connection.execute("select count(*) from items").fetchone() == (20,)
    (tmp_path / "no.duckdb").write_bytes(b"not a database" * 50)
    with pytest.raises(ValueError, match="cannot be opened as a DuckDB file"):
        gm.export.to_duckdb(linear(), points(10), tmp_path / "no.duckdb")


def test_a_word_of_sql_may_name_a_table(tmp_path):
    path = gm.export.to_duckdb(linear(), points(50), tmp_path / "a.duckdb", table="Order")
    assert gm.export.check(linear(), "duckdb", path, points(50), table="Order").same


def test_a_stream_that_breaks_leaves_what_was_there(tmp_path):
    def broken():
        yield points(10)
        raise OSError("the line is dead")

    for target in ("parquet", "duckdb", "elasticsearch"):
        path = write(target, place(target, tmp_path), linear(), points(30))
        with pytest.raises(OSError, match="the line is dead"):
            write(target, path, linear(), broken())
        report = gm.export.check(linear(), target, path, points(30))
        assert report.same
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_blocks_of_a_stream_are_numbered_or_bring_their_ids(tmp_path):
    X = points(90)
    gm.export.to_parquet(linear(), iter([X[:40], X[40:]]), tmp_path / "a.parquet")
    assert stored(tmp_path / "a.parquet")[0].tolist() == list(range(90))
    named = iter([(np.arange(40) + 100, X[:40]), (np.arange(50) + 900, X[40:])])
    gm.export.to_parquet(linear(), named, tmp_path / "b.parquet")
    assert stored(tmp_path / "b.parquet")[0][[0, 40]].tolist() == [100, 900]


def test_rows_are_counted_while_they_are_written(tmp_path):
    seen = []
    X = np.lib.format.open_memmap(tmp_path / "X.npy", "w+", np.float32, (600_000, 8))
    gm.export.to_parquet(linear(), X, tmp_path / "a.parquet", callback=lambda done, total: seen.append((done, total)))
    assert len(seen) > 1 and seen[-1] == (600_000, 600_000) and seen == sorted(seen)


@pytest.mark.parametrize(
    "options, sentence",
    [
        ({"ids": [1, 2]}, r"ids must have one entry per point \(5\), got 2"),
        ({"ids": [1, 1, 2, 3, 4]}, "ids must be distinct"),
        ({"ids": np.zeros((5, 2))}, "ids must be integers or words in one row"),
        ({"form": "both"}, "form must be one of 'vector', 'query'"),
    ],
)
def test_options_that_cannot_be_used_are_named(options, sentence, tmp_path):
    with pytest.raises(ValueError, match=f"to_parquet: {sentence}"):
        gm.export.to_parquet(linear(), points(5), tmp_path / "a.parquet", **options)
    assert not list(tmp_path.iterdir())


def test_points_that_cannot_be_used_are_named(tmp_path):
    for X, sentence in [
        (points(5)[:, :3], "X must have 8 features, got 3"),
        (np.full((5, 8), np.nan), "contains NaN"),
        (np.zeros((0, 8)), "at least 1 point"),
        (iter([]), "at least 1 point"),
        (iter([points(5), points(5)[:, :3]]), "X must have 8 features, got 3"),
    ]:
        with pytest.raises(ValueError, match=f"to_parquet: .*{sentence}"):
            gm.export.to_parquet(linear(), X, tmp_path / "a.parquet")
    with pytest.raises(TypeError, match="to_parquet: form='query' needs a linear metric"):
        gm.export.to_parquet(CURVED["Gaussian"](), points(5), tmp_path / "a.parquet", form="query")
    with pytest.raises(TypeError, match="to_parquet: path must name a file"):
        gm.export.to_parquet(linear(), points(5))
    assert not list(tmp_path.iterdir())


def test_sparse_points_and_frames_are_points(tmp_path):
    import pandas
    from scipy import sparse

    X = points(20)
    for form in (sparse.csr_array(X), pandas.DataFrame(X), X.tolist(), X.astype(np.float32)):
        path = gm.export.to_parquet(linear(), form, tmp_path / "a.parquet")
        np.testing.assert_allclose(stored(path)[1], linear().transform(X), atol=1e-5)


def test_a_bulk_file_is_pairs_of_lines(tmp_path):
    X = points(3)
    gm.export.to_elasticsearch(linear(), X, tmp_path / "a.ndjson", table="shop", original=True)
    lines = [json.loads(line) for line in (tmp_path / "a.ndjson").read_text().splitlines()]
    assert [line["index"] for line in lines[::2]] == [{"_index": "shop", "_id": str(i)} for i in range(3)]
    assert [line["id"] for line in lines[1::2]] == [0, 1, 2]
    np.testing.assert_allclose([line["learned"] for line in lines[1::2]], linear().transform(X), rtol=1e-5)
    np.testing.assert_allclose([line["original"] for line in lines[1::2]], X, rtol=1e-6)
    fields = json.loads((tmp_path / "a.ndjson.index.json").read_text())["mappings"]["properties"]
    assert fields["learned"] == {"type": "dense_vector", "dims": 5, "index": True, "similarity": "l2_norm"}


def test_opensearch_and_weaviate_define_their_indexes(tmp_path):
    gm.export.to_opensearch(linear(), points(3), tmp_path / "o.ndjson")
    definition = json.loads((tmp_path / "o.ndjson.index.json").read_text())
    assert definition["settings"]["index"]["knn"] is True
    assert definition["mappings"]["properties"]["learned"]["dimension"] == 5
    gm.export.to_weaviate(linear(), points(3), tmp_path / "w.ndjson", table="shop")
    objects = [json.loads(line) for line in (tmp_path / "w.ndjson").read_text().splitlines()]
    assert [thing["id"] for thing in objects] == [f"00000000-0000-0000-0000-00000000000{i}" for i in range(3)]
    assert {thing["class"] for thing in objects} == {"Shop"} and set(objects[0]["vectors"]) == {"learned"}
    collection = json.loads((tmp_path / "w.ndjson.index.json").read_text())
    assert collection["vectorConfig"]["learned"]["vectorIndexConfig"] == {"distance": "l2-squared"}


def test_vectors_too_wide_for_an_engine_are_refused(tmp_path):
    wide = gm.Mahalanobis(np.eye(2, 5000).T @ np.eye(2, 3))
    with pytest.raises(ValueError, match="to_elasticsearch: a vector has at most 4096 dimensions there, got 5000"):
        gm.export.to_elasticsearch(wide, points(3, 3), tmp_path / "a.ndjson")


def test_qdrant_keeps_the_old_vector_beside_the_learned_one(tmp_path):
    from qdrant_client import QdrantClient, models

    X, Q = points(60), queries(5)
    gm.export.to_qdrant(linear(), X, tmp_path / "a")
    client = QdrantClient(path=str(tmp_path / "a"))
    vectors = client.get_collection("items").config.params.vectors
    assert {name: (v.size, v.distance) for name, v in vectors.items()} == {
        "learned": (5, models.Distance.EUCLID),
        "original": (8, models.Distance.EUCLID),
    }
    client.close()
    client = QdrantClient(":memory:")
    client.create_collection("shop", vectors_config={"text": models.VectorParams(size=8, distance="Cosine")})
    client.upload_collection("shop", vectors={"text": X}, ids=range(60))
    with pytest.raises(ValueError, match="table 'shop' is there with the column 'text', which no export made"):
        gm.export.to_qdrant(linear(), X, client, table="shop")
    assert gm.export.to_qdrant(linear(), None, client, table="shop") is client
    answers = [client.query_points("shop", query=q.tolist(), using="learned", limit=5) for q in linear().transform(Q)]
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)  # Qdrant stores vectors of the cosine at length one
    assert [[p.id for p in answer.points] for answer in answers] == neighbors(linear(), unit, Q, 5).tolist()


def test_qdrant_refuses_what_is_not_there(tmp_path):
    with pytest.raises(ValueError, match="to_qdrant: there is no collection 'items' to add to; give X"):
        gm.export.to_qdrant(linear(), None, tmp_path / "a")
    with pytest.raises(ValueError, match="ids must be integers from 0 on or words, got -1"):
        gm.export.to_qdrant(linear(), points(3), tmp_path / "b", ids=[-1, 0, 1])
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError, match="to_qdrant: path must be a folder"):
        gm.export.to_qdrant(linear(), points(3), tmp_path / "file")
