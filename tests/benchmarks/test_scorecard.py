"""The scorecard names every table and figure, and nothing on it is claimed that was not recorded."""

import ast
import re
from importlib import import_module

import pytest
from benchmarks import asked, harness, papers, report, runner, scorecard

CHAPTERS = {
    "Jain (2009), chapter 4": (8, 2),
    "Jain (2009), chapter 5": (5, 0),
    "Jain (2009), chapter 6": (8, 0),
    "Jain (2009), chapter 7": (0, 2),
    "Jain (2009), chapter 8": (5, 2),
}
OTHERS = {
    "Epstein and Betke": (5, 1),
    "Teixeira, Tomé and Lang (2008)": (4, 2),
    "Chatpatanasiri et al. (2010)": (5, 3),
    "Li, Yang and Wang (2007)": (1, 2),
}
"""Numbers of figures and tables in each document."""
ROWS = scorecard.rows()
RESULTS = {
    path.stem: report.Report.read(path)
    for path in sorted((harness.ROOT / "benchmarks" / "papers" / "results").glob("*.csv"))
}


def wanted():
    for document, counts in (CHAPTERS | OTHERS).items():
        chapter = document.rpartition("chapter ")[2] + "." if "chapter" in document else ""
        for word, count in zip(("Figure", "Table"), counts):
            yield from ((document, f"{word} {chapter}{number}") for number in range(1, count + 1))


def test_every_table_and_figure_has_one_row():
    assert sorted((row.document, row.item) for row in ROWS) == sorted(wanted())


def test_what_differs_says_why():
    for row in ROWS:
        assert row.state in scorecard.STATES and row.claim in scorecard.CLAIMS, row.item
        if row.state in ("differs", "not to be had"):
            assert row.because, row.item
        if row.state == "reproduced":
            assert row.claim and row.benchmarks, row.item


def test_links_lead_somewhere():
    found = runner.discover(papers)
    for row in ROWS:
        assert {*row.benchmarks, *row.also} <= set(found), row.item
        assert (harness.ROOT / "docs" / row.page).is_file(), row.item
        assert all((harness.ROOT / name).is_file() for name in row.tests), row.item


def test_every_benchmark_of_the_documents_belongs_to_a_row():
    named = {name for row in ROWS for name in (*row.benchmarks, *row.also)}
    assert set(runner.discover(papers)) == named


def test_every_benchmark_that_a_row_counts_on_was_run():
    assert {name for row in ROWS for name in row.benchmarks} <= set(RESULTS)


def test_rows_name_tables_that_were_recorded():
    for row in ROWS:
        lines = [line for name in row.benchmarks if name in RESULTS for line in RESULTS[name].rows]
        tables = {line.get("table", "") for line in lines}
        for start in row.tables:
            assert any(table.startswith(start) for table in tables), (row.item, start)
        assert set(row.methods) <= {line.get("method") for line in lines}, row.item


def test_what_is_called_reproduced_meets_the_printed_numbers():
    for row in ROWS:
        share = scorecard.met(row, RESULTS)
        if row.state == "reproduced" and scorecard.differences(row, RESULTS):
            assert share is not None and share >= scorecard.ENOUGH, (row.document, row.item, share)


@pytest.mark.parametrize("row", asked.asked(), ids=lambda row: row.item[:40])
def test_what_is_asked_for_is_where_it_is_said_to_be(row):
    assert row.state in asked.STATES
    assert row.because if row.state != "here" else row.where and row.tests
    for name in row.where:
        assert named(name) is not None
    for name in row.tests:
        path, test = name.split("::")
        tree = ast.parse((harness.ROOT / path).read_text(encoding="utf-8"))
        assert test in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, name


def named(name):
    """The object of a dotted name: as much of it as is a module, attributes after that."""
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        try:
            found = import_module(".".join(parts[:end]))
        except ModuleNotFoundError:
            continue
        for attribute in parts[end:]:
            found = getattr(found, attribute)
        return found
    return None


def test_benchmarks_that_answer_a_doubt_are_there():
    found = set(runner.discover(papers))
    for row in [*asked.asked(), *asked.doubts()]:
        assert set(row.benchmarks) <= found, row.item


def test_a_section_begins_with_what_does_not_hold():
    """Where no claim of the rows of a recorded benchmark holds whole, its first sentence is not one of praise."""
    for name in RESULTS:
        claims = {row.claim for row in ROWS if name in row.benchmarks}
        if claims and claims <= {"holds in part", "does not hold"}:
            first = re.split(r"(?<=[.:]) ", RESULTS[name].notes.replace("\n", " "))[0]
            assert re.search(r"\b(not|but|no|in part|nothing|less)\b", first), (name, first)


def test_the_page_is_that_of_the_table_and_the_results():
    page = (harness.ROOT / "docs" / "scorecard.md").read_text(encoding="utf-8")
    assert report.unmarked(page) == report.unmarked(scorecard.page(list(RESULTS.values()))), (
        "run python -m benchmarks.papers --page"
    )
