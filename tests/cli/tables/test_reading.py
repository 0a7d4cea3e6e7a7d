"""Files as they are: packed, in UTF-16, with decimal commas, gaps, words and dates."""

import gzip

import numpy as np
import pytest

from gramian.cli.tables import TableError, read

MESSY = (
    "id;age;color;joined;income;kind\n"
    '1;31,5;red;03.04.2020;"13.189,05";x\n'
    "2;;blue;25.12.2021;900;y\n"
    "3;40;;01.01.2022;1.000,50;x\n"
    "4;22,25;red;02.02.2022;12;\n"
)
CLEAN = "age,color,kind\n31.5,red,x\n22.25,blue,y\n40,red,x\n"


@pytest.fixture
def make(tmp_path):
    def write(data, name="t.csv"):
        path = tmp_path / name
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return path

    return write


@pytest.mark.parametrize(
    "data",
    [
        gzip.compress(CLEAN.encode()),
        CLEAN.encode("utf-16"),
        b"\xfe\xff" + CLEAN.encode("utf-16-be"),
        gzip.compress(CLEAN.encode("utf-16")),
        CLEAN.replace(",", ";").replace(".", ",").encode(),
        CLEAN.replace(",", "\t").replace(".", ",").encode("utf-8-sig"),
    ],
    ids=["gz", "utf-16", "utf-16 big endian", "gz of utf-16", "decimal comma", "tab, decimal comma"],
)
def test_a_file_reads_the_same_however_it_is_written(make, data):
    plain, other = read(make(CLEAN, "plain.csv"), "kind"), read(make(data, "other.csv"), "kind")
    assert other.names == plain.names == ["age", "color=red"]
    assert np.array_equal(other.X, plain.X) and other.y.tolist() == plain.y.tolist()


def test_all_problems_stand_in_one_message_with_row_and_column(make):
    with pytest.raises(TableError) as caught:
        read(make(MESSY), "kind", drop=["id"])
    message = str(caught.value)
    assert "3 problems" in message and message.count("t.csv") == 1
    assert "column 'age' has no finite number in row 2" in message
    assert "column 'color' has no word in row 3" in message
    assert "label column 'kind' is empty in row 4" in message and "--missing drop" in message


def test_gaps_are_dropped_filled_or_kept(make):
    path = make(MESSY)
    dropped = read(path, "kind", drop=["id"], missing="drop")
    assert dropped.names == ["age", "color=red", "joined", "income"] and dropped.dropped == 3
    assert dropped.X[:, [0, 1, 3]].tolist() == [[31.5, 1, 13189.05]] and dropped.y.tolist() == ["x"]
    filled = read(path, "kind", drop=["id"], missing="median")
    assert filled.X[:, 0].tolist() == [31.5, 31.5, 40] and filled.X[:, 1].tolist() == [1, 0, 0]
    assert filled.dropped == 1 and np.diff(filled.X[:, 2]).tolist() == [631, 7]
    kept = read(path, "kind", drop=["id"], missing="keep")
    assert np.isnan(kept.X).sum() == 2 and np.array_equal(np.nan_to_num(kept.X, nan=-1) == -1, np.isnan(kept.X))


def test_columns_are_dropped_by_one_list(make):
    path = make(MESSY)
    assert read(path, "kind", drop=["id,color, joined"], missing="median").names == ["age", "income"]
    odd = make('"a,b",c,kind\n1,2,x\n3,4,y\n', "odd.csv")
    assert read(odd, "kind", drop=["a,b"]).names == ["c"]
    with pytest.raises(TableError, match="no column 'nothing'"):
        read(path, "kind", drop=["id,nothing"])


def test_another_table_is_read_as_the_first_one_was(make):
    first = read(make(MESSY), "kind", drop=["id"], missing="median")
    new = make("color;joined;income;age;more\ngreen;01.01.2022;1,5;30;z\nblue;01.01.2022;2;;z\n", "new.csv")
    again = read(new, columns=first.columns, missing="median")
    assert again.names == first.names
    assert again.X[:, [0, 1, 3]].tolist() == [[30, 0, 1.5], [31.5, 0, 2]]  # the median is that of the first table


def test_an_index_that_pandas_wrote_has_a_name_and_is_doubted(make):
    rows = "".join(f"{i},{i % 7},{'xyz'[i // 10]}\n" for i in range(30))
    table = read(make(",a,kind\n" + rows), "kind")
    assert table.names == ["Unnamed: 0", "a"] and len(table.doubts) == 1
    assert "column 'Unnamed: 0' holds a different whole number in every row" in table.doubts[0]
    assert "--drop 'Unnamed: 0'" in table.doubts[0]


def test_names_and_texts_are_not_made_into_columns(make):
    rows = "".join(f"person {i},{i % 7},{'xyz'[i // 10]}\n" for i in range(30))
    with pytest.raises(TableError, match="column 'who' holds 30 different words, such as 'person 0', in 30 rows"):
        read(make("who,a,kind\n" + rows), "kind")


def test_uneven_lines_are_named_together(make):
    with pytest.raises(TableError, match="line 3 has 1 cells, line 5 has 3 cells, the header has 2"):
        read(make("a,k\n1,x\n2\n3,x\n4,x,y\n"), "k")
    many = "a,k\n" + "1\n" * 9
    with pytest.raises(TableError, match="line 6 has 1 cells and 4 lines more are as uneven"):
        read(make(many), "k")


def test_nothing_left_says_so(make):
    with pytest.raises(TableError, match="no row is complete; --missing median"):
        read(make("a,b,k\n1,,x\n,2,y\n"), "k", missing="drop")
    with pytest.raises(TableError, match="column 'b' is empty; leave it out with --drop b"):
        read(make("a,b,k\n1,,x\n2,,y\n"), "k", missing="median")
