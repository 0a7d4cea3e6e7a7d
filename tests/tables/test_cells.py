"""Cells as numbers, dates and words, against Python's own reading of them."""

from datetime import date

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gramian.tables import files
from gramian.tables.cells import column
from gramian.tables.files import plain, separator

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
    assert plain(np.array(["2020-01-02", "NaT"], dtype="datetime64[D]")).tolist() == ["2020-01-02", ""]
    assert plain(np.array([1.5, None, "x"], dtype=object)).tolist() == ["1.5", "", "x"]


@pytest.mark.parametrize("first", [["1", "a", "2"], ["x", "1", "y"], ["1", "", "3"], ["1", "2", "3"]])
@pytest.mark.parametrize("second", [["4", "b", "5"], ["6", "7", "?"], ["v", "8", "w"], ["4", "5", "6"]])
def test_words_between_numbers_do_not_move_columns(first, second):
    found = files._columns([first, second])
    each = [files._numbers_or_text(np.array(cells)) for cells in zip(first, second)]
    assert len(found) == 3
    for one, alone in zip(found, each):
        assert one.dtype.kind == alone.dtype.kind
        np.testing.assert_array_equal(one, alone)


@given(st.lists(st.floats(allow_infinity=True), max_size=9))
def test_the_fill_is_the_median_of_what_is_known(values):
    known = [value for value in values if np.isfinite(value)]
    fill = column("a", np.array(values)).fill
    assert fill is None if not known else fill == pytest.approx(np.median(np.array(known) / 4) * 4)
