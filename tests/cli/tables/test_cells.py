"""Cells as numbers, dates and words, against Python's own reading of them."""

from datetime import UTC, date, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gramian.cli import tables
from gramian.cli.tables import files
from gramian.cli.tables.cells import Column, column
from gramian.cli.tables.files import plain, separator

FINITE = st.floats(-1e6, 1e6, allow_nan=False).map(lambda value: round(value, 2))


def values(cells, **options):
    cells = np.array(cells)
    one = column("c", cells, **options)
    found, bad = one.numbers(cells)
    assert not bad.any()
    return one, found[:, 0]


@given(st.lists(FINITE, min_size=2, max_size=8))
def test_numbers_are_read_in_every_notation(numbers):
    expected = np.array(numbers) + 0.5 * (np.arange(len(numbers)) == 0)  # one of them has a decimal
    plain_cells = [f"{value:.2f}" for value in expected]
    assert np.allclose(values(plain_cells)[1], expected)
    english = [f"{value:,.2f}" for value in expected]
    assert np.allclose(values(english)[1], expected)
    swapped = str.maketrans(",.", ".,")
    one, found = values([cell.translate(swapped) for cell in english])
    assert np.allclose(found, expected) and one.kind == "number"


def test_an_ambiguous_comma_is_that_of_thousands_unless_the_table_has_decimal_commas():
    assert values(["1,234", "5,678"])[1].tolist() == [1234, 5678]
    assert values(["1,234", "5,678"], decimal_comma=True)[1].tolist() == [1.234, 5.678]
    assert values(["1,23", "5,678"])[1].tolist() == [1.23, 5.678]
    assert values(["1.234.567,5", "2"])[1].tolist() == [1234567.5, 2]


@given(st.lists(st.dates(date(1900, 1, 1), date(2100, 1, 1)), min_size=1, max_size=6))
def test_dates_are_days_since_1970(days):
    expected = [(day - date(1970, 1, 1)).days for day in days]
    for form in ("%Y-%m-%d", "%d.%m.%Y"):
        one, found = values([day.strftime(form) for day in days])
        assert one.kind == "date" and np.allclose(found, expected)


def test_days_and_months_are_told_apart_by_the_whole_column():
    american, european = ["03/04/2024", "03/25/2024"], ["03/04/2024", "25/03/2024"]
    assert np.diff(values(american)[1]).tolist() == [21.0]
    assert np.diff(values(european)[1]).tolist() == [-9.0]  # from the third of April back to the 25th of March
    assert np.diff(values(["2024-03-04 12:00:00", "2024-03-05"])[1]).tolist() == [0.5]


def test_words_become_columns_of_zero_and_one():
    cells = np.array(["red", "blue", "", "red", "green"])
    one = column("color", cells)
    found, bad = one.numbers(cells)
    assert one.names == ["color=blue", "color=green", "color=red"] and not bad.any()
    assert found[[0, 1, 3, 4]].tolist() == [[0, 0, 1], [1, 0, 0], [0, 0, 1], [0, 1, 0]] and np.isnan(found[2]).all()
    assert one.numbers(np.array(["purple"]))[0].tolist() == [[0, 0, 0]]
    two = column("flag", np.array(["yes", "no", "no"]))
    assert two.names == ["flag=yes"] and two.numbers(np.array(["yes", "no"]))[0].tolist() == [[1], [0]]


def test_a_few_cells_that_are_no_numbers_are_mistakes_and_not_words():
    cells = np.array(["1", "2", "oops", "4"])
    found, bad = column("c", cells).numbers(cells)
    assert bad.tolist() == [False, False, True, False] and found[[0, 1, 3], 0].tolist() == [1, 2, 4]


@pytest.mark.parametrize(
    "lines, mark",
    [
        (["a,b,c", "1,2,3"], ","),
        (["a;b;c", "1,5;2,5;3,5"], ";"),
        (["1,5;2,5;3,5", "1,5;2,5;3,5"], ";"),
        (["a\tb", "1,5\t2"], "\t"),
        (['"x; y",b', '"u",2'], ","),
        (["a"], ","),
    ],
)
def test_the_separator_is_found(lines, mark):
    assert separator(lines) == mark


def test_columns_of_frames_of_every_kind():
    pandas = pytest.importorskip("pandas")
    assert plain(pandas.Series([1, None, 3], dtype="Int64")).tolist()[::2] == [1, 3]
    assert plain(pandas.Series(["a", None])).tolist() == ["a", ""]
    assert plain(pandas.Series(["a", "b"], dtype="category")).tolist() == ["a", "b"]
    days = plain(pandas.Series(pandas.to_datetime(["2020-01-02", None])))
    assert column("day", days).kind == "date" and days[1] == ""


@given(st.lists(st.floats(allow_infinity=True), max_size=9))
def test_the_fill_is_the_median_of_what_is_known(values):
    known = [value for value in values if np.isfinite(value)]
    fill = column("a", np.array(values)).fill
    assert fill is None if not known else fill == pytest.approx(np.median(np.array(known) / 4) * 4)


CODES = {
    "zip codes": ["01234", "98765", "10001"],
    "leading zeros": ["01", "1", "001"],
    "beyond 2**53": ["9007199254740993", "9007199254740992", "1"],
    "negative beyond 2**53": ["-9007199254740993", "-9007199254740992", "1"],
    "exponents": ["1E5", "100000", "2e3"],
    "underscores": ["1_0", "10", "11"],
    "words that Python reads": ["nan", "inf", "Infinity"],
    "infinity between numbers": ["1.5", "-inf", "2"],
}


@pytest.mark.parametrize("cells", CODES.values(), ids=CODES)
@pytest.mark.parametrize("beside", ["", "0.5,"])
def test_cells_that_only_look_like_numbers_stay_what_they_are(tmp_path, cells, beside):
    head = "a,code,b\n" if beside else "code,b\n"
    (tmp_path / "t.csv").write_text(head + "".join(f"{beside}{cell},x\n" for cell in cells))
    columns = files.read_columns(tmp_path / "t.csv")[0]
    assert columns["code"].tolist() == cells
    encoded = column("code", columns["code"])
    if encoded.kind == "number":  # most are numbers, and the others are said to be mistakes
        assert encoded.numbers(columns["code"])[1].any()
    else:
        assert set(encoded.words) == set(cells) - {"nan"}
    assert "a" not in columns or columns["a"].dtype == float


NUMBERS = ["0", "-0.5", "+1", "1e-05", "1.0E+3", "2.5e3", "1e+20", ".5", "7.", "0.001", "10000000000000000", " 3 "]
NUMBERS += ["nan", ""]


def test_numbers_are_numbers(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n" + "".join(f"{cell},x\n" for cell in NUMBERS))
    found = files.read_columns(tmp_path / "t.csv")[0]["a"]
    expected = [float(cell) if cell.strip() not in ("", "nan") else np.nan for cell in NUMBERS]
    np.testing.assert_array_equal(found, expected)


def test_a_column_is_text_throughout_also_where_only_its_end_is(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "CELLS", 4)
    monkeypatch.setattr(files, "ROWS", 1)
    (tmp_path / "t.csv").write_text("zip,a\n10001,1\n98765,2\n33333,3\n02134,4\n")
    columns = files.read_columns(tmp_path / "t.csv")[0]
    assert columns["zip"].tolist() == ["10001", "98765", "33333", "02134"] and columns["a"].tolist() == [1, 2, 3, 4]


def test_years_are_names_of_columns(tmp_path):
    (tmp_path / "t.csv").write_text("2019,2020,2021\n1,2,3\n4,5,6\n")
    columns = files.read_columns(tmp_path / "t.csv")[0]
    assert list(columns) == ["2019", "2020", "2021"] and columns["2020"].tolist() == [2, 5]
    for text, width in (("2019,2020\n2020,2021\n", 2), ("2019,2019\n1,2\n", 2), ("2019\n2020\n", 1), ("1,2\n3,4\n", 2)):
        (tmp_path / "t.csv").write_text(text)
        columns = files.read_columns(tmp_path / "t.csv")[0]
        assert list(columns) == ["0", "1"][:width] and len(columns["0"]) == 2


def test_long_whole_numbers_beside_a_gap_keep_their_digits(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {
            "id": pandas.array([9007199254740993, None, 1], dtype="Int64"),
            "n": pandas.array([1, None, 3], dtype="Int64"),
        }
    )
    assert files.plain(frame["id"]).tolist() == ["9007199254740993", "", "1"]
    np.testing.assert_array_equal(files.plain(frame["n"]), [1, np.nan, 3])


def test_numbers_as_words_keep_all_their_digits():
    """Of a column of words that holds only numbers in another file."""
    words = Column("code", "words", words=("01", "1234567", "1234568", "0.1234567"))
    values, _ = words.numbers(np.array([1234567.0, 1234568.0, 0.1234567, np.nan]))
    np.testing.assert_array_equal(values[:3], np.eye(4)[1:])
    assert np.isnan(values[3]).all()


def test_labels_with_leading_zeros_are_different_labels(tmp_path):
    (tmp_path / "t.csv").write_text("a,kind\n0,01\n1,1\n2,001\n")
    assert tables.read(tmp_path / "t.csv", "kind").y.tolist() == ["01", "1", "001"]


@pytest.mark.parametrize(
    "form", ["%d/%m/%Y %H:%M", "%m/%d/%Y %H:%M:%S", "%d.%m.%Y %H:%M", "%m/%d/%Y %I:%M %p", "%Y/%m/%d"]
)
def test_dates_with_a_time_are_days_and_their_parts(form):
    moments = [datetime(2026, 7, 13 + i, 6 * (i % 3), 30 * (i % 2), tzinfo=UTC) for i in range(9)]
    one, found = values([moment.strftime(form) for moment in moments])
    told = [datetime.strptime(moment.strftime(form), form).replace(tzinfo=UTC) for moment in moments]
    assert one.kind == "date" and np.allclose(found, [moment.timestamp() / 86_400 for moment in told])
