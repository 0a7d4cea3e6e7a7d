"""``gramian export`` from outside: every form of points, every complaint in one sentence."""

import json

import numpy as np
import pytest
from tests.export.problems import linear, neighbors, points, queries

import gramian as gm
from gramian.cli import main

X, Q = points(120), queries(5)


@pytest.fixture
def gramian(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    linear().save("m.gram")
    np.save("X.npy", X)

    def run(*arguments):
        code = main(["export", *map(str, arguments)])
        out, err = capsys.readouterr()
        return code, out, err

    return run


def stored(path):
    """Ids and vectors of a Parquet file."""
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    return table["id"].to_numpy(), np.stack(table["learned"].to_numpy())


def write_all(folder):
    """The same points in every form that the command reads, with the ids that each of them has."""
    import pandas

    names = list("abcdefgh")
    frame = pandas.DataFrame(X, columns=names)
    np.save(folder / "single.npy", X.astype(np.float32))
    np.savez(folder / "plain.npz", X=X, y=np.zeros(120))
    np.savez(folder / "named.npz", X=X, ids=np.arange(120) + 7)
    frame.to_csv(folder / "plain.csv", index=False)
    frame.to_csv(folder / "bare.csv", index=False, header=False)
    frame.assign(id=np.arange(120) * 2)[["id", *names]].to_csv(folder / "id.csv", index=False)
    frame.assign(key=[f"k{i}" for i in range(120)], kind="x").to_csv(folder / "key.csv", index=False)
    frame.to_parquet(folder / "columns.parquet")
    pandas.DataFrame({"id": [f"w{i}" for i in range(120)], "v": list(X)}).to_parquet(folder / "vectors.parquet")
    pandas.DataFrame({"v": list(X), "w": list(X + 1)}).to_parquet(folder / "two.parquet")


@pytest.mark.parametrize(
    "file, options, ids",
    [
        ("X.npy", [], range(120)),
        ("single.npy", [], range(120)),
        ("plain.npz", [], range(120)),
        ("named.npz", [], range(7, 127)),
        ("plain.csv", [], range(120)),
        ("bare.csv", [], range(120)),
        ("id.csv", [], range(0, 240, 2)),
        ("key.csv", ["--id", "key", "--label", "kind"], [f"k{i}" for i in range(120)]),
        ("key.csv", ["--drop", "key", "--drop", "kind"], range(120)),
        ("columns.parquet", [], range(120)),
        ("vectors.parquet", [], [f"w{i}" for i in range(120)]),
        ("two.parquet", ["--column", "v"], range(120)),
    ],
)
def test_points_come_in_every_form(gramian, tmp_path, file, options, ids):
    write_all(tmp_path)
    code, out, err = gramian("m.gram", "--to", "parquet", "--data", file, "-o", "out.parquet", "--check", *options)
    assert code == 0 and err == "", err
    assert "parquet: 120 rows; wrote out.parquet" in out and "the same neighbors as ours" in out
    found, Z = stored("out.parquet")
    assert found.tolist() == list(ids)
    np.testing.assert_allclose(Z, linear().transform(X), rtol=1e-4, atol=1e-5)
    assert (tmp_path / "README.md").exists()


def test_columns_are_found_by_the_names_of_the_fit(gramian, tmp_path):
    import pandas

    gm.save(linear(), "named.gram", about={"features": list("abcdefgh"), "label": "kind"})
    frame = pandas.DataFrame(X, columns=list("abcdefgh")).assign(kind="x", id=np.arange(120) + 5)
    frame[["kind", *"hgfedcba", "id"]].to_csv("mixed.csv", index=False)
    code, _, err = gramian("named.gram", "--to", "parquet", "--data", "mixed.csv", "-o", "out.parquet")
    assert code == 0, err
    found, Z = stored("out.parquet")
    assert found[0] == 5
    np.testing.assert_allclose(Z, linear().transform(X), rtol=1e-4, atol=1e-5)


def test_models_need_no_points(gramian, tmp_path):
    for target, name in (("onnx", "m.onnx"), ("npz", "m.npz"), ("sklearn", "m.pkl")):
        code, out, err = gramian("m.gram", "--to", target, "--check")
        assert code == 0 and f"{target}: the map; wrote {name}" in out and "the same neighbors" in out, err
        assert (tmp_path / name).exists()


def test_a_script_goes_to_standard_output(gramian, tmp_path):
    code, out, err = gramian("m.gram", "--to", "pgvector", "--data", "X.npy", "-o", "-", "--table", "wine")
    assert code == 0 and err == "pgvector: 120 rows; wrote -\n"
    lines = out.splitlines()
    start = lines.index('copy "wine" (id, learned) from stdin;')
    first = lines[start + 1].split("\t")
    assert first[0] == "0" and np.allclose(json.loads(first[1]), linear().transform(X[:1])[0], rtol=1e-5)
    assert lines[start + 121] == "\\." and lines[-1] == "commit;"
    assert not (tmp_path / "README.md").exists()
    code, out, _ = gramian("m.gram", "--to", "pgvector", "-o", "map.sql")
    assert code == 0 and out == "pgvector: the map; wrote map.sql\n"
    text = (tmp_path / "map.sql").read_text()
    assert 'function "items_learned"(x vector)' in text and 'create table "items" ' not in text


def test_options_reach_their_target(gramian, tmp_path):
    import duckdb
    import faiss

    code, _, err = gramian("m.gram", "--to", "faiss", "--data", "X.npy", "--kind", "hnsw", "--check")
    assert code == 0, err
    index = faiss.read_index("m.faiss")
    assert isinstance(faiss.downcast_index(index.index), faiss.IndexHNSWFlat)
    assert np.array_equal(index.search(Q.astype(np.float32), 5)[1], neighbors(linear(), X, Q, 5))
    arguments = ("--data", "X.npy", "-o", "a.duckdb", "--table", "wine", "--original", "--check")
    assert gramian("m.gram", "--to", "duckdb", *arguments)[0] == 0
    with duckdb.connect("a.duckdb") as connection:
        assert [row[0] for row in connection.execute("describe wine").fetchall()] == ["id", "learned", "original"]
    assert gramian("m.gram", "--to", "duckdb", "--data", "X.npy", "--form", "query", "--check")[0] == 0


def test_what_is_there_is_checked_and_nothing_is_written(gramian, tmp_path):
    gramian("m.gram", "--to", "duckdb", "--data", "X.npy", "-o", "a.duckdb")
    before = (tmp_path / "a.duckdb").read_bytes()
    again = ("--to", "duckdb", "--data", "X.npy", "-o", "a.duckdb", "--check-only")
    code, out, _ = gramian("m.gram", *again)
    assert code == 0 and out == "duckdb: 100 queries × 10 neighbors: the same neighbors as ours\n"
    linear(seed=7).save("other.gram")
    code, out, err = gramian("other.gram", *again)
    assert code == 2 and out == "" and "the collection is stale, export again" in err
    assert (tmp_path / "a.duckdb").read_bytes() == before


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (["--to", "oracle"], "no target 'oracle'; the targets are onnx, torch"),
        (["--to", "faiss"], "--to faiss stores points: give them with --data"),
        (["--to", "faiss", "--data", "none.npy"], "none.npy: no such file"),
        (["--to", "faiss", "--data", "X.npy", "-o", "no/a.faiss"], "to_faiss: no folder at 'no'"),
        (["--to", "onnx", "--form", "query"], "--form is not for onnx; it is for pgvector, qdrant, duckdb"),
        (["--to", "parquet", "--data", "X.npy", "--kind", "flat"], "--kind is not for parquet; it is for faiss"),
        (["--to", "parquet", "--data", "X.npy", "--form", "both"], "form must be one of 'vector', 'query'"),
        (["--to", "duckdb", "--data", "X.npy", "--table", "a b"], "table must be a name of letters, digits and _"),
        (["--to", "parquet", "--data", "narrow.npy"], "X must have 8 features, got 3"),
        (["--to", "parquet", "--data", "two.parquet"], "has several columns of vectors, v, w; name one"),
        (["--to", "parquet", "--data", "two.parquet", "--column", "x"], "has no column 'x'; it has v, w"),
        (["--to", "parquet", "--data", "bad.parquet"], "bad.parquet: not a readable Parquet file"),
        (["--to", "pgvector", "--data", "X.npy", "-o", "-", "--check"], "-o - is for a pgvector script"),
        (["--to", "duckdb", "--data", "X.npy", "-o", "-"], "-o - is for a pgvector script"),
    ],
)
def test_errors_are_one_sentence_and_exit_code_two(gramian, tmp_path, arguments, sentence):
    write_all(tmp_path)
    np.save("narrow.npy", X[:, :3])
    (tmp_path / "bad.parquet").write_bytes(b"nothing")
    code, _, err = gramian("m.gram", *arguments)
    assert code == 2 and sentence in err and err.startswith("gramian: "), err
    assert err.count("\n") == 1


def test_kernel_features_are_exported_too(gramian):
    gm.KernelFeatures(gm.Gaussian(2.0), rank=5).fit(X).save("z.gram")
    code, out, err = gramian("z.gram", "--to", "onnx", "--data", "X.npy", "--check")
    assert code == 0 and "the same neighbors" in out, err
    gm.Gaussian(2.0).save("kernel.gram")
    code, _, err = gramian("kernel.gram", "--to", "onnx")
    assert code == 2 and "must be a learned metric, fitted KernelFeatures, or a file of one" in err


def test_a_metric_without_coordinates_is_refused(gramian):
    features = gm.KernelFeatures(gm.Gaussian(2.0), rank=5).fit(X)
    gm.KernelMetric(features, np.eye(5), alpha=0.5).save("k.gram")
    code, _, err = gramian("k.gram", "--to", "onnx")
    assert code == 2 and "no finite coordinates outside of its basis (alpha > 0)" in err and err.count("\n") == 1
