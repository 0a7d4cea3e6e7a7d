"""``gramian serve`` and its neighbors on the command line, in this process."""

import json

import numpy as np
import pytest

pytest.importorskip("typer")
pytest.importorskip("fastapi")
from gramian.cli import main  # noqa: E402
from gramian.service import Space, sources  # noqa: E402


@pytest.fixture
def served(monkeypatch):
    """What the server would have been given, in place of a server."""
    calls = []

    def serve(space, host="127.0.0.1", port=0, **named):
        views = space.snapshot.collections.values()
        shapes = {view.name: (len(view.ids), view.n_features) for view in views}
        metas = {view.name: [json.loads(meta or "{}") for meta in view.metas] for view in views}
        calls.append({"shapes": shapes, "metas": metas, "host": host, "port": port, **named})

    monkeypatch.setattr("gramian.service.http.serve", serve)
    return calls


def test_vectors_with_a_table_and_pictures(tmp_path, monkeypatch, served, capsys):
    monkeypatch.chdir(tmp_path)
    np.save("my vectors.npy", np.arange(12, dtype=np.float32).reshape(4, 3))
    (tmp_path / "table.csv").write_text("name,size\na,1\nb,2\nc,\nd,4\n")
    (tmp_path / "pics").mkdir()
    for name in ("1.png", "2.png", "3.png", "4.png", "notes.txt"):
        (tmp_path / "pics" / name).write_bytes(b"x")
    arguments = [
        "serve",
        "my vectors.npy",
        "--meta",
        "table.csv",
        "--images",
        "pics",
        "--port",
        "9",
        "--token",
        "viewer:x",
    ]
    assert main(arguments) == 0
    (call,) = served
    assert call["shapes"] == {"my-vectors": (4, 3)} and call["port"] == 9 and call["tokens"] == ["viewer:x"]
    assert call["metas"]["my-vectors"][:3] == [
        {"name": "a", "size": 1, "image": "1.png"},
        {"name": "b", "size": 2, "image": "2.png"},
        {"name": "c", "image": "3.png"},
    ]
    assert set(call["pictures"]) == {"1.png", "2.png", "3.png", "4.png"}
    assert "my-vectors: 4 items × 3 features" in capsys.readouterr().out
    assert (tmp_path / "my vectors.space" / "space.db").exists()
    assert main(arguments) == 0  # opened again, not filled again
    assert served[1]["shapes"] == {"my-vectors": (4, 3)}


def test_secrets_come_from_a_file_and_from_the_environment_too(tmp_path, monkeypatch, served, capsys):
    (tmp_path / "tokens").write_text("\nadmin:from-a-file\nviewer:also\n")
    monkeypatch.setenv("GRAMIAN_TOKEN", "teacher:from-outside")
    (tmp_path / "empty").write_text("\n")
    arguments = ["serve", "--space", str(tmp_path / "s"), "--token", "viewer:x"]
    assert main([*arguments, "--token-file", str(tmp_path / "tokens")]) == 0
    assert served[0]["tokens"] == ["viewer:x", "admin:from-a-file", "viewer:also", "teacher:from-outside"]
    assert main([*arguments, "--token-file", str(tmp_path / "empty")]) == 2
    assert "empty must hold a token, ROLE:SECRET, got nothing" in " ".join(capsys.readouterr().err.split())
    monkeypatch.setenv("GRAMIAN_TOKEN", "")  # of a variable that was not set
    assert main(arguments) == 2 and len(served) == 1


class Stopped(BaseException):
    """As a kill in the middle."""


def interrupted(monkeypatch, arguments, batches, size=4):
    """Fill a space with so many rows in a batch, and stop after so many batches."""
    add, count = Space.add, iter(range(100))
    monkeypatch.setattr(sources, "BATCH", size)

    def stops(*values, **named):
        if next(count) == batches:
            raise Stopped
        return add(*values, **named)

    with monkeypatch.context() as patch:
        patch.setattr(Space, "add", stops)
        with pytest.raises(Stopped):
            main(arguments)


@pytest.mark.parametrize("batches", [0, 1, 2])
def test_an_interrupted_fill_goes_on_where_it_ended(tmp_path, monkeypatch, served, capsys, batches):
    X = np.random.default_rng(0).standard_normal((11, 3)).astype(np.float32)
    np.save(tmp_path / "v.npy", X)
    (tmp_path / "t.csv").write_text("name\n" + "".join(f"n{i}\n" for i in range(11)))
    space = ["--space", str(tmp_path / "s")]
    arguments = ["serve", str(tmp_path / "v.npy"), "--meta", str(tmp_path / "t.csv"), *space]
    interrupted(monkeypatch, arguments, batches)
    assert main(["serve", *space]) == 0
    words = " ".join(capsys.readouterr().err.split())
    assert f"has {4 * batches} of 11 rows; start again with its file" in words
    assert main(arguments) == 0
    assert served[-1]["shapes"] == {"v": (11, 3)} and served[-1]["metas"]["v"] == [{"name": f"n{i}"} for i in range(11)]
    with Space(tmp_path / "s", learning=False) as opened:
        assert np.array_equal(opened.collection("v").points(range(11)), X.astype(float))
        assert not sources.unfinished(opened)


def test_a_fill_goes_on_only_from_the_same_file(tmp_path, monkeypatch, served, capsys):
    X = np.random.default_rng(0).standard_normal((11, 3))
    arguments = ["serve", str(tmp_path / "v.npy"), "--space", str(tmp_path / "s")]
    np.save(tmp_path / "v.npy", X)
    interrupted(monkeypatch, arguments, 2)
    for other in (X[::-1], X[:7]):
        np.save(tmp_path / "v.npy", other)
        assert main(arguments) == 2
        assert "must hold the first rows of the file" in " ".join(capsys.readouterr().err.split())
    np.save(tmp_path / "v.npy", X)
    assert main(arguments) == 0 and served[-1]["shapes"] == {"v": (11, 3)}


def test_a_file_that_is_longer_than_its_collection_is_said(tmp_path, served, capsys):
    arguments = ["serve", str(tmp_path / "v.npy"), "--space", str(tmp_path / "s")]
    for rows in (4, 6):
        np.save(tmp_path / "v.npy", np.eye(6)[:rows])
        assert main(arguments) == 0
    assert served[-1]["shapes"] == {"v": (4, 6)}
    assert "is there already, with 4 items; of 6 rows nothing was added" in " ".join(capsys.readouterr().err.split())


def test_a_demonstration_that_was_interrupted_goes_on(tmp_path, monkeypatch, capsys):
    arguments = ["demo-data", "digits", "--space", str(tmp_path / "s")]
    interrupted(monkeypatch, arguments, 1, size=1000)
    assert main(arguments) == 0
    with Space(tmp_path / "s", learning=False) as opened:
        assert len(opened.collection("digits").ids) == 1797


def test_a_table_of_numbers_and_words(tmp_path, served):
    (tmp_path / "t.csv").write_text("x,y,kind\n1,2,a\n3,4,b\n")
    assert main(["serve", str(tmp_path / "t.csv"), "--space", str(tmp_path / "s"), "--name", "things"]) == 0
    assert served[0]["shapes"] == {"things": (2, 2)} and served[0]["metas"]["things"] == [{"kind": "a"}, {"kind": "b"}]


def test_texts_alone_are_compared_by_their_words(tmp_path, served):
    texts = ["red apple", "green apple", "fast car", "slow car", "red car"]
    (tmp_path / "t.csv").write_text("words\n" + "\n".join(texts) + "\n")
    assert main(["serve", "--meta", str(tmp_path / "t.csv"), "--texts", "words", "--space", str(tmp_path / "s")]) == 0
    assert [meta["text"] for meta in served[0]["metas"]["t"]] == texts
    with Space(tmp_path / "s") as space:
        assert space.query("t", id=2, k=2)["ids"] in ([3, 4], [4, 3])


def test_texts_of_the_file_itself_are_compared_or_shown(tmp_path, served):
    texts = ["red apple", "green apple", "fast car", "slow car", "red car"]
    (tmp_path / "t.csv").write_text("words,kind\n" + "".join(f"{text},k\n" for text in texts))
    assert main(["serve", str(tmp_path / "t.csv"), "--texts", "words", "--space", str(tmp_path / "s")]) == 0
    assert served[0]["metas"]["t"][0] == {"text": "red apple", "kind": "k"}
    with Space(tmp_path / "s") as space:
        assert space.query("t", id=2, k=2)["ids"] in ([3, 4], [4, 3])
    (tmp_path / "n.csv").write_text("words,x,y\n" + "".join(f"{t},{i},0\n" for i, t in enumerate(texts)))
    assert main(["serve", str(tmp_path / "n.csv"), "--texts", "words", "--space", str(tmp_path / "n")]) == 0
    assert served[1]["shapes"] == {"n": (5, 2)} and served[1]["metas"]["n"][1] == {"text": "green apple"}


def test_no_column_is_dropped_in_silence(tmp_path, served, capsys):
    (tmp_path / "n.csv").write_text("text,short,x,y\nlong a,a,0,1\nlong b,b,1,0\n")
    (tmp_path / "t.csv").write_text("short,kind\nA,k\nB,k\n")
    assert main(["serve", str(tmp_path / "n.csv"), "--texts", "short", "--space", str(tmp_path / "s")]) == 0
    assert "the column 'text' is now 'text of the file'" in " ".join(capsys.readouterr().err.split())
    assert served[0]["metas"]["n"][0] == {"text": "a", "text of the file": "long a"}
    command = ["serve", str(tmp_path / "n.csv"), "--meta", str(tmp_path / "t.csv"), "--space", str(tmp_path / "m")]
    assert main(command) == 0
    assert "both files have a column 'short'" in " ".join(capsys.readouterr().err.split())
    assert served[1]["metas"]["n"][1] == {"text": "long b", "short": "B", "short of the vectors": "b", "kind": "k"}


def test_a_parquet_file_of_vectors_and_words(tmp_path, served):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    pandas.DataFrame({"x": [1.0, 2.0], "y": [0, 1], "kind": ["a", "b"]}).to_parquet(tmp_path / "t.parquet")
    assert main(["serve", str(tmp_path / "t.parquet"), "--space", str(tmp_path / "s")]) == 0
    assert served[0]["shapes"] == {"t": (2, 2)} and served[0]["metas"]["t"] == [{"kind": "a"}, {"kind": "b"}]


def test_pictures_alone_are_compared_by_color_and_shape(tmp_path, served):
    image = pytest.importorskip("PIL.Image")
    (tmp_path / "pics").mkdir()
    for number, color in enumerate(["red", "blue", "#f01010", "#1010f0"]):
        image.new("RGB", (20, 20), color).save(tmp_path / "pics" / f"{number}.png")
    space = tmp_path / "s"
    assert main(["serve", "--images", str(tmp_path / "pics"), "--space", str(space)]) == 0
    assert served[0]["shapes"] == {"pics": (4, 128)} and served[0]["metas"]["pics"][1] == {"image": "1.png"}
    with Space(space) as opened:
        assert [opened.query("pics", id=i, k=1)["ids"] for i in range(4)] == [[2], [3], [0], [1]]
    (tmp_path / "t.csv").write_text("image,name\n3.png,three\n1.png,one\n")
    table = ["--meta", str(tmp_path / "t.csv"), "--images", str(tmp_path / "pics")]
    assert main(["serve", *table, "--space", str(tmp_path / "u")]) == 0
    assert served[1]["shapes"] == {"t": (2, 128)} and served[1]["metas"]["t"][0] == {"image": "3.png", "name": "three"}
    assert main(["serve", "--images", str(tmp_path / "pics"), "--space", str(tmp_path / "u")]) == 0
    assert served[2]["shapes"] == {"t": (2, 128)} and set(served[2]["pictures"]) == {f"{i}.png" for i in range(4)}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["serve", "no.npy"], "no.npy: no such file"),
        (["serve", "--meta", "t.csv"], "t.csv: vectors are needed"),
        (["serve", "t.csv"], "t.csv: vectors are needed"),
        (["serve", "--images", "nowhere"], "nowhere: no such folder"),
        (["serve", "--images", "pics"], "1.png: not a picture that can be read"),
        (["serve", "--meta", "t.csv", "--texts", "nothing"], "no column 'nothing' for --texts"),
        (["serve", "v.npy", "--meta", "t.csv"], "--meta must have a row for each of the 3 vectors"),
        (["serve", "flat.npy"], "needs an array of shape (n, d)"),
        (["serve", "--port", "99999"], "gramian serve"),
        (["backup", "nowhere", "out.zip"], "no space at 'nowhere'"),
        (["restore", "t.csv", "new"], "is not a backup"),
        (["export", "nowhere"], "nowhere: no space there"),
        (["import", "new", "no.jsonl"], "no.jsonl: no such file"),
    ],
)
def test_what_cannot_be_served_is_one_sentence(tmp_path, monkeypatch, capsys, served, arguments, sentence):
    monkeypatch.chdir(tmp_path)
    np.save("v.npy", np.zeros((3, 2)))
    np.save("flat.npy", np.zeros(3))
    (tmp_path / "t.csv").write_text("words\na\nb\n")
    (tmp_path / "pics").mkdir()
    (tmp_path / "pics" / "1.png").write_bytes(b"x")
    assert main(arguments) == 2
    said = capsys.readouterr().err
    assert sentence in said and "Traceback" not in said and said.count("\n") == 1


def test_backup_restore_compact_and_events_from_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with Space("s", learning=False) as space:
        space.create("a", 2)
        space.add("a", [[0, 0], [1, 1]], [1, 2])
        assert main(["backup", "s", "copy.zip"]) == 0  # while it is open
    assert main(["restore", "copy.zip", "again"]) == 0
    assert main(["compact", "again"]) == 0
    assert main(["export", "again", "-o", "lines.jsonl"]) == 0
    assert main(["import", "third", "lines.jsonl"]) == 0
    assert "2 events" in capsys.readouterr().out
    with Space("third") as space:
        assert space.item("a", 2)["x"] == [1.0, 1.0]
    assert main(["export", "third"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [json.loads(line)["op"] for line in lines] == ["collection", "items"]


def test_verify_says_what_is_whole_and_what_is_not(tmp_path, capsys):
    folder = tmp_path / "s"
    with Space(folder, learning=False) as space:
        space.create("a", 4)
        space.add("a", np.random.default_rng(0).standard_normal((30, 4)))
        for i in range(10):
            space.feedback("a", i, i + 1, i % 2 == 0)
        space.learn("a")
        space.activate("a", 0)
    assert main(["verify", str(folder)]) == 0
    assert "14 events" in capsys.readouterr().out
    (metric,) = (folder / "metrics").iterdir()
    data = bytearray(metric.read_bytes())
    data[-300] ^= 1
    metric.write_bytes(data)
    assert main(["verify", str(folder)]) == 2
    assert "is not a readable gramian file" in " ".join(capsys.readouterr().err.split())
    assert main(["verify", str(tmp_path / "typo")]) == 2 and not (tmp_path / "typo").exists()
    assert "verify: no space at" in " ".join(capsys.readouterr().err.split())
