"""Vectors of other tools arrive in our indexes, block by block and under their ids."""

import numpy as np
import pytest

import gramian as gm
from tests.export.problems import linear, neighbors, points, queries

X, Q = points(300).astype(np.float32), queries(8)


def check(blocks, ids=None):
    """Fill an index with several blocks; its answers are those of an index of all points."""
    index = gm.export.fill(gm.ExactIndex(linear()), blocks)
    assert len(index) == len(X)
    assert np.array_equal(index.query(Q, 5)[0], neighbors(linear(), X, Q, 5, ids))


@pytest.mark.parametrize("kind", ["Flat", "HNSW16", "IVF8,Flat", "IDMap,Flat", "IDMap,HNSW16"])
def test_faiss_gives_its_vectors_back(kind, tmp_path):
    import faiss

    index = faiss.index_factory(8, kind)
    index.train(X)
    ids = np.arange(300) * 3 + 5 if "IDMap" in kind else None
    index.add(X) if ids is None else index.add_with_ids(X, ids)
    faiss.write_index(index, str(tmp_path / "a.faiss"))
    check(gm.export.from_faiss(tmp_path / "a.faiss", block=64), ids)
    check(gm.export.from_faiss(index, block=64), ids)


def test_an_index_that_keeps_no_vectors_is_refused():
    import faiss

    flat = faiss.IndexFlatL2(8)
    index = faiss.IndexShards(8)
    index.add_shard(flat)
    index.add(X)
    with pytest.raises(ValueError, match="from_faiss: a IndexShards keeps no vectors to give back"):
        list(gm.export.from_faiss(index))


def test_our_faiss_export_gives_the_coordinates_back(tmp_path):
    path = gm.to_faiss(linear(), X, path=tmp_path / "a.faiss")
    index = gm.export.fill(gm.ExactIndex(gm.Mahalanobis.euclidean(5)), gm.export.from_faiss(path))
    Z = linear().transform(Q) - linear().transform(X.mean(axis=0, dtype=float)[None])
    assert np.array_equal(index.query(Z, 5)[0], neighbors(linear(), X, Q, 5))


def test_parquet_gives_columns_of_vectors_and_of_numbers(tmp_path):
    import pandas
    import pyarrow as pa
    import pyarrow.parquet as pq

    ids = np.arange(300) + 11
    lists = pa.FixedSizeListArray.from_arrays(pa.array(X.ravel()), 8)
    pq.write_table(pa.table({"id": ids, "v": lists}), tmp_path / "fixed.parquet")
    pq.write_table(pa.table({"key": ids, "v": X.tolist(), "w": X.tolist()}), tmp_path / "free.parquet")
    pandas.DataFrame(X, columns=list("abcdefgh")).to_parquet(tmp_path / "numbers.parquet")
    check(gm.export.from_parquet(tmp_path / "fixed.parquet", block=64), ids)
    check(gm.export.from_parquet(tmp_path / "free.parquet", "v", id="key", block=64), ids)
    check(gm.export.from_parquet(tmp_path / "numbers.parquet", block=64))
    with pytest.raises(ValueError, match="has several columns of vectors, v, w; name one"):
        list(gm.export.from_parquet(tmp_path / "free.parquet"))
    with pytest.raises(ValueError, match="has no column 'x'; it has key, v, w"):
        list(gm.export.from_parquet(tmp_path / "free.parquet", "x"))
    (tmp_path / "no.parquet").write_bytes(b"nothing")
    with pytest.raises(ValueError, match="is not a Parquet file"):
        list(gm.export.from_parquet(tmp_path / "no.parquet"))


def test_vectors_of_several_lengths_are_refused(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    for rows in ([[1.0, 2.0], [3.0]], [[1.0, 2.0], None]):
        pq.write_table(pa.table({"v": pa.array(rows)}), tmp_path / "a.parquet")
        with pytest.raises(ValueError, match="column 'v' must hold vectors of one length, without gaps"):
            list(gm.export.from_parquet(tmp_path / "a.parquet"))


def test_qdrant_gives_named_and_unnamed_vectors(tmp_path):
    from qdrant_client import QdrantClient, models

    space = models.VectorParams(size=8, distance=models.Distance.EUCLID)
    client = QdrantClient(path=str(tmp_path / "a"))
    client.create_collection("plain", vectors_config=space)
    client.upload_collection("plain", vectors=X, ids=range(300))
    client.create_collection("named", vectors_config={"a": space, "b": space})
    client.upload_collection("named", vectors={"a": X, "b": X + 1}, ids=range(300))
    check(gm.export.from_qdrant(client, "plain", block=64))
    client.close()
    check(gm.export.from_qdrant(tmp_path / "a", "named", vector="a", block=64))
    with pytest.raises(ValueError, match="collection 'named' has the vectors a, b; name one"):
        list(gm.export.from_qdrant(tmp_path / "a", "named"))
    with pytest.raises(ValueError, match="there is no collection 'none'"):
        list(gm.export.from_qdrant(tmp_path / "a", "none"))
    with pytest.raises(ValueError, match="has no vector 'c'; it has a, b"):
        list(gm.export.from_qdrant(tmp_path / "a", "named", vector="c"))


def test_words_are_numbered_and_kept():
    blocks = [(np.array(["x", "y"]), X[:2]), (np.array(["z"]), X[2:3])]
    index = gm.export.fill(gm.HashIndex(linear(), random_state=0), blocks)
    found = index.query(X[2:3], 1)[0][0, 0]
    assert index.ids.tolist() == [0, 1, 2] and index.names[found] == "z"


def test_a_space_of_the_service_takes_blocks(tmp_path):
    from gramian.service.space import Space

    numbers = [(np.arange(200) + 7, X[:200]), (np.arange(200, 300) + 7, X[200:])]
    with Space(tmp_path / "space", learning=False) as space:
        assert gm.export.fill(space, iter(numbers), collection="shop") is space
        gm.export.fill(space, [(np.array(["a", "b"]), X[:2])], collection="words")
        assert np.array_equal(np.sort(space.collection("shop").ids), np.arange(300) + 7)
        assert space.item("words", 1)["meta"] == {"name": "b"}


def test_one_database_flows_into_another(tmp_path):
    path = gm.export.to_parquet(linear(), X, tmp_path / "a.parquet", original=True)
    again = gm.export.to_duckdb(linear(), gm.export.from_parquet(path, "original", block=64), tmp_path / "b.duckdb")
    assert gm.export.check(linear(), "duckdb", again, X).same
