"""The heavier engines, each asked for real: ``make exports`` installs them and runs these tests."""

import subprocess
import sys
import tempfile

import numpy as np
import pytest

import gramian as gm
from gramian.export.base import Map
from tests.export.problems import (
    BY_ANGLE,
    CURVED,
    FORMULAS,
    LINEAR,
    linear,
    neighbors,
    place,
    points,
    queries,
    sections,
    write,
)
from tests.export.test_tables import found

pytestmark = pytest.mark.engines
TABLES = ["lancedb", "milvus", "chroma", "pgvector"]
X, Q, x = points(300), queries(10), queries(1)[0]


@pytest.fixture(scope="module")
def postgres():
    """An embedded Postgres; where root runs the tests it has a user of its own, who may not look into tmp_path."""
    import pgserver

    with tempfile.TemporaryDirectory() as folder:
        server = pgserver.get_server(folder)
        yield server
        server.cleanup()


@pytest.mark.parametrize("target", TABLES)
def test_a_table_answers_with_our_neighbors(target, tmp_path):
    path = write(target, place(target, tmp_path), linear(), X)
    assert path == place(target, tmp_path) and (tmp_path / "README.md").exists()
    assert np.array_equal(found(target, path, linear(), Q), neighbors(linear(), X, Q))
    assert gm.export.check(linear(), target, path, X).same
    with pytest.raises(ValueError, match="is stale, export again|stale or"):
        gm.export.check(linear(seed=7), target, path, X)
    with pytest.raises(ValueError, match="must have width 4, they have 5"):
        gm.export.check(linear(4), target, path, X)
    with pytest.raises(ValueError, match="must hold 200 rows, it holds 300"):
        gm.export.check(linear(), target, path, X[:200])


@pytest.mark.parametrize("name", BY_ANGLE)
@pytest.mark.parametrize("target", TABLES)
def test_a_metric_by_the_angle_answers_with_our_neighbors(target, name, tmp_path):
    metric = BY_ANGLE[name]()
    path = write(target, place(target, tmp_path), metric, X)
    assert np.array_equal(found(target, path, metric, Q), neighbors(metric, X, Q))
    assert gm.export.check(metric, target, path, X).same


@pytest.mark.parametrize("target", TABLES)
def test_ids_may_be_numbers_or_words(target, tmp_path):
    ours = neighbors(linear(), X[:50], Q, 3)
    for ids in (np.arange(50) * 7 + 3, np.array([f"item {i}\t\\" for i in range(50)])):
        path = write(target, place(target, tmp_path, ids.dtype.kind), linear(), X[:50], ids=ids)
        assert np.array_equal(found(target, path, linear(), Q, 3), ids[ours])


@pytest.mark.parametrize("target", TABLES)
def test_an_export_is_replaced_by_the_next_one(target, tmp_path):
    path = write(target, place(target, tmp_path), linear(), X)
    write(target, path, linear(seed=7), X[:100], **({} if target == "chroma" else {"original": True}))
    assert gm.export.check(linear(seed=7), target, path, X[:100]).same


@pytest.mark.parametrize("target", ["lancedb", "milvus", "chroma"])
def test_the_query_of_a_readme_finds_our_neighbors(target, tmp_path, monkeypatch):
    linear().save(tmp_path / "metric.gram")
    path = write(target, place(target, tmp_path), linear(), X)
    monkeypatch.chdir(tmp_path)
    code = sections(tmp_path / "README.md")[path.name]
    assert len(code.strip().splitlines()) == 5
    space = {"x": x}
    exec(code, space)
    assert space["ids"] == neighbors(linear(), X, x[None])[0].tolist()


@pytest.mark.parametrize("name", ["Mahalanobis", "centered linear kernel", *BY_ANGLE])
@pytest.mark.parametrize("form", ["vector", "query"])
def test_a_script_and_its_readme_run_in_postgres(postgres, form, name, tmp_path):
    """Raw points are asked for: the map itself is in the database."""
    metric = FORMULAS[name]()
    table = {"vector": "Order", "query": "user"}[form]  # words of SQL, and large letters
    path = gm.export.to_pgvector(metric, X, tmp_path / "items.sql", form=form, table=table)
    psql(postgres, path)
    code = sections(tmp_path / "README.md")["items.sql"]
    assert len(code.strip().splitlines()) == 5
    space = {"x": x}
    exec(code.replace("postgresql://localhost/postgres", postgres.get_uri()), space)
    assert space["ids"] == neighbors(metric, X, x[None])[0].tolist()
    assert gm.export.check(metric, "pgvector", postgres.get_uri(), X, table=table, form=form).same


def test_a_kernel_metric_goes_to_postgres_as_coordinates(postgres, tmp_path, monkeypatch):
    metric = CURVED["Gaussian"]()
    metric.save(tmp_path / "metric.gram")
    psql(postgres, gm.export.to_pgvector(metric, X, tmp_path / "k.sql", table="curved"))
    monkeypatch.chdir(tmp_path)
    space = {"x": x}
    code = sections(tmp_path / "README.md")["k.sql"]
    exec(code.replace("postgresql://localhost/postgres", postgres.get_uri()), space)
    assert space["ids"] == neighbors(metric, X, x[None])[0].tolist()
    with pytest.raises(TypeError, match="to_pgvector: a map that is not linear has no SQL form"):
        gm.export.to_pgvector(metric, None, tmp_path / "k.sql")


@pytest.mark.parametrize("name", FORMULAS)
def test_the_map_in_sql_is_the_one_of_the_column(postgres, name, tmp_path):
    import psycopg

    metric = FORMULAS[name]()
    psql(postgres, gm.export.to_pgvector(metric, X[:20], tmp_path / "m.sql", table="lines", original=True))
    with psycopg.connect(postgres.get_uri()) as connection:
        ask = "select max(learned <-> lines_learned(original)), max(vector_norm(learned)) from lines"
        off, size = connection.execute(ask).fetchone()
    assert off <= 1e-5 * size


def test_the_map_alone_fills_a_column_of_your_own(postgres, tmp_path):
    import psycopg

    with psycopg.connect(postgres.get_uri(), autocommit=True) as connection:
        connection.execute("create extension if not exists vector")
        connection.execute("create table own (id bigint primary key, embedding vector(8), price float)")
        with connection.cursor() as cursor, cursor.copy("copy own (id, embedding, price) from stdin") as stream:
            for i, row in enumerate(X):
                stream.write_row((i, str(row.tolist()), 1.0))
        psql(postgres, gm.export.to_pgvector(linear(), None, tmp_path / "map.sql", table="mapped"))
        connection.execute("alter table own add column learned vector(5)")
        connection.execute("update own set learned = mapped_learned(embedding)")
        stored = [row[0] for row in connection.execute("select learned::text from own order by id")]
        got = np.array([np.fromstring(text[1:-1], sep=",") for text in stored])
        np.testing.assert_allclose(got, linear().transform(X), rtol=1e-4, atol=1e-5)
        blocks = list(gm.export.from_pgvector(postgres.get_uri(), "own", block=128))
        assert [len(ids) for ids, _ in blocks] == [128, 128, 44]
        index = gm.export.fill(gm.ExactIndex(linear()), blocks)
        assert np.array_equal(index.query(Q, 5)[0], neighbors(linear(), X.astype(np.float32), Q, 5))
        with pytest.raises(subprocess.CalledProcessError):
            psql(postgres, gm.export.to_pgvector(linear(), X, tmp_path / "own.sql", table="own"))
        assert connection.execute("select count(*) from own where price = 1").fetchone() == (300,)


def test_a_connection_and_an_address_take_the_rows_directly(postgres):
    import psycopg

    with psycopg.connect(postgres.get_uri()) as connection:
        assert gm.export.to_pgvector(linear(), X, connection, table="direct") is connection
    assert gm.export.check(linear(), "pgvector", postgres.get_uri(), X, table="direct").same
    gm.export.to_pgvector(linear(seed=7), iter([X[:100], X[100:]]), postgres.get_uri(), table="direct")
    assert gm.export.check(linear(seed=7), "pgvector", postgres.get_uri(), X, table="direct").same
    with pytest.raises(ValueError, match="table 'nothing' has no column 'learned'"):
        gm.export.check(linear(), "pgvector", postgres.get_uri(), X, table="nothing")


def test_the_command_line_writes_to_an_address(postgres, tmp_path, monkeypatch, capsys):
    from gramian.cli import main

    monkeypatch.chdir(tmp_path)
    linear().save("m.gram")
    np.save("X.npy", X)
    arguments = ["--data", "X.npy", "-o", postgres.get_uri(), "--table", "typed", "--check"]
    assert main(["export", "m.gram", "--to", "pgvector", *arguments]) == 0
    assert "the same neighbors as ours" in capsys.readouterr().out


def psql(server, path):
    from pathlib import Path

    import pgserver

    program = Path(pgserver.__file__).parent / "pginstall" / "bin" / "psql"
    subprocess.run([program, server.get_uri(), "-q", "-f", path], check=True, capture_output=True)


@pytest.mark.parametrize("target", ["lancedb", "milvus", "chroma"])
def test_a_foreign_collection_is_refused(target, tmp_path):
    if target == "chroma":
        import chromadb

        path = tmp_path / "db"
        chromadb.PersistentClient(str(path)).create_collection("shop", embedding_function=None)
    elif target == "lancedb":
        import lancedb

        lancedb.connect(str(tmp_path / "db")).create_table("shop", [{"id": 1, "price": 2.5}])
        path = tmp_path / "db"
    else:
        from pymilvus import MilvusClient

        client = MilvusClient(str(tmp_path / "a.db"))
        client.create_collection("shop", dimension=4)
        client.close()
        path = tmp_path / "a.db"
    with pytest.raises(ValueError, match="table 'shop' is there with the column .* which no export made"):
        write(target, path, linear(), X, table="shop")


def test_lancedb_gives_its_vectors_back(tmp_path):
    import lancedb

    database = lancedb.connect(str(tmp_path))
    rows = [{"id": i + 5, "vector": v} for i, v in enumerate(X.astype(np.float32))]
    database.create_table("shop", rows)
    for source in (tmp_path, database):
        index = gm.export.fill(gm.ExactIndex(linear()), gm.export.from_lancedb(source, "shop", block=64))
        ours = neighbors(linear(), X.astype(np.float32), Q, 5, np.arange(300) + 5)
        assert np.array_equal(index.query(Q, 5)[0], ours)


def test_milvus_asks_for_its_suffix(tmp_path):
    with pytest.raises(ValueError, match="to_milvus: path must end in .db, as Milvus Lite asks, got 'items'"):
        gm.export.to_milvus(linear(), X, tmp_path / "items")


@pytest.mark.parametrize("suffix", [".pt", ".safetensors"])
@pytest.mark.parametrize("name", FORMULAS)
def test_torch_gives_our_coordinates(name, suffix, tmp_path, monkeypatch):
    import torch

    metric = FORMULAS[name]()
    path = gm.export.to_torch(metric, tmp_path / f"m{suffix}")
    monkeypatch.chdir(tmp_path)
    space = {"x": x}
    exec(sections(tmp_path / "README.md")[path.name], space)
    expected = Map.of(metric, "test")(x[None])[0]
    got = space["z"].detach().numpy()
    assert np.abs(got - expected).max() <= 1e-5 * np.abs(expected).max()
    layer = gm.export.to_torch(metric)
    assert isinstance(layer, torch.nn.Linear) == (name in LINEAR)
    zero = layer(torch.zeros(1, 8)).detach().numpy()
    assert np.abs(zero - Map.of(metric, "test")(np.zeros((1, 8)))).max() <= 1e-5 * np.abs(expected).max()
    assert torch.equal(layer(torch.as_tensor(x, dtype=torch.float32)), space["z"])
    assert gm.export.check(metric, "torch", path).same


@pytest.mark.parametrize("name", FORMULAS)
def test_a_dense_module_loads_without_this_package(name, tmp_path):
    """Appended to a model of random words: the same encoder, and the learned distance as its Euclidean one."""
    metric = FORMULAS[name]()
    path = gm.export.to_sentence_transformers(metric, tmp_path / "learned")
    assert gm.export.check(metric, "sentence-transformers", path).same
    readme = sections(tmp_path / "README.md")["learned"]
    modules = next(line for line in readme.splitlines() if "model.extend(" in line).removeprefix("model.extend(")[:-1]
    code = f"""
import sys; sys.modules["gramian"] = None
import numpy as np, torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.models import BoW, Dense, Normalize
torch.manual_seed(0)
words = [f"w{{i}}" for i in range(8)]
plain = SentenceTransformer(modules=[BoW(words)], device="cpu")
learned = SentenceTransformer(modules=[BoW(words), *{modules}], device="cpu")
texts = ["w0 w1", "w3 w4 w4", "w7 w0", "w2"]
np.savez({str(tmp_path / "encoded.npz")!r}, plain=plain.encode(texts), learned=learned.encode(texts))
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    encoded = np.load(tmp_path / "encoded.npz")
    expected = Map.of(metric, "test")(encoded["plain"])
    assert np.abs(encoded["learned"] - expected).max() <= 1e-5 * np.abs(expected).max()


@pytest.mark.parametrize("target", ["torch", "sentence-transformers"])
def test_a_curved_metric_is_no_linear_layer(target, tmp_path):
    with pytest.raises(TypeError, match="is not linear; export it as onnx"):
        write(target, tmp_path / "m", CURVED["Gaussian"](), None)
