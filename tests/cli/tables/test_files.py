"""Tables from files, and one sentence for each thing that can be wrong with one."""

from pathlib import Path

import numpy as np
import pytest

from gramian.cli import formats
from gramian.cli.tables import TableError, read

GOOD = "a,b,kind\n1,2,x\n3,4,y\n5,6.5,x\n"


@pytest.fixture
def make(tmp_path):
    def write(text, name="t.csv"):
        path = tmp_path / name
        path.write_text(text) if isinstance(text, str) else path.write_bytes(text)
        return path

    return write


def test_csv_with_labels(make):
    table = read(make(GOOD), "kind")
    assert table.names == ["a", "b"] and table.y.tolist() == ["x", "y", "x"]
    assert table.X.tolist() == [[1, 2], [3, 4], [5, 6.5]]


@pytest.mark.parametrize(
    "text",
    [
        GOOD.replace(",", ";"),
        GOOD.replace(",", "\t"),
        "\ufeff" + GOOD,
        GOOD.replace("\n", "\r\n"),
        GOOD.replace("1,", " 1 ,"),
    ],
    ids=["semicolon", "tab", "byte order mark", "dos", "spaces"],
)
def test_csv_as_it_comes(make, text):
    assert np.array_equal(read(make(text), "kind").X, read(make(GOOD, "g.csv"), "kind").X)


def test_csv_without_a_header_has_numbered_columns(make):
    path = make("1,2,0\n3,4,1\n")
    assert read(path, "2").names == ["0", "1"] and read(path, "-1").y.tolist() == [0, 1]


def test_long_files_are_read_in_parts(make):
    text = "a,b,k\n" + "".join(f"{i},{i % 7},{i % 3}\n" for i in range(9000))
    table = read(make(text), "k")
    assert table.X[:, 0].tolist() == list(range(9000)) and table.y.dtype.kind == "i" and len(table.y) == 9000
    late = make(text + "1,oops,2\n")
    with pytest.raises(TableError, match="column 'b' is not numeric, it holds 'oops'"):
        read(late, "k")
    assert read(late, "k", drop=["b"]).X.shape == (9001, 1)


def test_drop_and_order(make):
    path = make(GOOD)
    assert read(path, "kind", drop=["a"]).names == ["b"]
    assert read(path, only=["b", "a"]).X[0].tolist() == [2, 1]


def test_numpy_files(tmp_path):
    X = np.arange(6.0).reshape(3, 2)
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "y.npy", np.array([0, 1, 0]))
    np.savez(tmp_path / "xy.npz", X=X, y=np.array(["p", "q", "p"]))
    assert read(tmp_path / "x.npy", str(tmp_path / "y.npy")).y.tolist() == [0, 1, 0]
    assert read(tmp_path / "x.npy", "-1").X.shape == (3, 1)
    assert read(tmp_path / "xy.npz", "y").y.tolist() == ["p", "q", "p"]


def test_labels_from_a_text_file(make, tmp_path):
    make("x\ny\nx\n", "labels.txt")
    assert read(make("a\n1\n2\n3\n"), str(tmp_path / "labels.txt")).y.tolist() == ["x", "y", "x"]


@pytest.mark.parametrize("suffix", [".csv", ".npz", ".parquet"])
def test_what_is_written_reads_back(tmp_path, suffix, rng):
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    X, y = rng.normal(size=(4, 2)), np.array(["a", "b", "a", "b"])
    path = tmp_path / f"t{suffix}"
    formats.write(path, ["u", "v"], X, "y", y)
    table = read(path, "y")
    assert np.array_equal(table.X, X) and table.y.tolist() == y.tolist()


@pytest.mark.parametrize("label", ["X", "file", "allow_pickle"])
def test_labels_that_a_numpy_file_cannot_name(tmp_path, label):
    with pytest.raises(TableError, match=f"cannot hold labels under the name '{label}'; write CSV"):
        formats.write(tmp_path / "t.npz", ["u"], np.ones((2, 1)), label, np.array([0, 1]))


@pytest.mark.parametrize(
    "text, label, message",
    [
        ("", "k", "the file is empty"),
        ("a,b\n", "a", "there is a header and no rows"),
        (GOOD, "kinds", "no column 'kinds' for --label; did you mean 'kind'"),
        (GOOD, "zzz", "no column 'zzz' for --label; it has a, b, kind"),
        (
            "a,b c\n1,2\n2,oops\n3,4\n",
            "a",
            "column 'b c' is not numeric, it holds 'oops' in row 2; correct it",
        ),
        ("a,b c\n1,2\n2,oops\n3,4\n", "a", "--drop 'b c'"),
        ("a,k\n1,x\nNaN,y\n", "k", "column 'a' has no finite number in row 2; fill in or drop them first"),
        ("a,k\n1,x\n,y\n?,y\n", "k", "column 'a' has no finite number in 2 rows, first in row 2"),
        ("a,k\n1.0e999,x\n1,y\n", "k", "column 'a' has no finite number in row 1"),
        ("a,k\n1,x\n2,\n", "k", "label column 'k' is empty in row 2; drop those rows first"),
        ("a,k\n1,x\n2\n", "k", "line 3 has 1 cells, the header has 2"),
        ("a,a\n1,2\n", "a", "two columns are named 'a'"),
        ("k\nx\ny\n", "k", "no columns are left to learn from"),
        (b"\xff\xfe\x00\x01", "k", "not a text file of comma-separated values"),
    ],
)
def test_one_sentence_for_each_mistake(make, text, label, message):
    with pytest.raises(TableError, match=message.replace("?", r"\?")) as caught:
        read(make(text), label)
    assert "\n" not in str(caught.value) and str(caught.value).count("t.csv") == 1


def test_mistakes_with_other_files(tmp_path, make):
    with pytest.raises(TableError, match="nowhere.csv: no such file"):
        read(Path("nowhere.csv"))
    np.save(tmp_path / "flat.npy", np.ones(3))
    with pytest.raises(TableError, match=r"needs an array of shape \(n, d\), got \(3,\)"):
        read(tmp_path / "flat.npy")
    np.savez(tmp_path / "z.npz", data=np.ones((3, 2)))
    with pytest.raises(TableError, match="needs an array named X, it has data"):
        read(tmp_path / "z.npz")
    np.save(tmp_path / "o.npy", np.array([object()]), allow_pickle=True)
    with pytest.raises(TableError, match="not a readable .npy file of plain arrays"):
        read(tmp_path / "o.npy")
    with pytest.raises(TableError, match="not a readable Parquet file|needs pandas"):
        read(make("no", "x.parquet"))
    np.save(tmp_path / "y.npy", np.zeros(7))
    with pytest.raises(TableError, match="there are 3 rows and 7 labels"):
        read(make("a\n1\n2\n3\n"), str(tmp_path / "y.npy"))


def test_parquet_columns_of_every_kind(tmp_path):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = pandas.DataFrame({"a": [1, 2, 3], "flag": [True, False, True], "kind": pandas.Categorical(["x", "y", "x"])})
    frame["maybe"] = pandas.array([1, None, 3], dtype="Int64")
    frame["day"] = pandas.to_datetime(["2020-01-01"] * 3)
    frame.to_parquet(tmp_path / "t.parquet")
    table = read(tmp_path / "t.parquet", "kind", drop=["maybe"])
    assert table.X.tolist() == [[1, 1, 18262], [2, 0, 18262], [3, 1, 18262]] and table.y.tolist() == ["x", "y", "x"]
    with pytest.raises(TableError, match="column 'maybe' has no finite number in row 2"):
        read(tmp_path / "t.parquet", "kind", drop=["day"])
    assert read(tmp_path / "t.parquet", "flag", drop=["maybe"]).names == ["a", "kind=y", "day"]
