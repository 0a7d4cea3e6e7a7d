"""The tool for other machines: what it reads from a run, what it keeps, and what it runs again."""

import importlib.util
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def machines():
    spec = importlib.util.spec_from_file_location("machines", ROOT / "tools" / "machines.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["machines"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["machines"]


@pytest.fixture
def green(machines):
    return machines.Outcome("haswell", "all", "7 passed, 1 skipped", [], 2.0, "2026-01-02", "code")


def test_counts_and_failures_are_read_from_what_pytest_prints(machines):
    lines = ["......F", "FAILED tests/test_a.py::test_b[c] - assert 1 == 2", "3 warnings", ""]
    text = "\n".join([*lines, "1 failed, 9 passed, 2 skipped, 3 warnings in 61.20s (0:01:01)"])
    assert machines.summary(text) == ("1 failed, 9 passed, 2 skipped", [lines[1]])
    assert machines.summary("ImportError") == ("nothing ran", [])


def test_a_row_is_green_where_tests_ran_and_none_failed(machines, green):
    assert green.green
    for counts in ("1 failed, 9 passed", "9 passed, 1 error", "nothing ran", "stopped after 90 minutes"):
        assert not replace(green, counts=counts).green
    assert not replace(green, failed=["ERROR tests/test_a.py"]).green


def test_what_is_green_on_this_code_is_not_run_again(machines, green):
    assert machines.is_done(green, "code")
    assert not machines.is_done(None, "code") and not machines.is_done(green, "other code")
    assert not machines.is_done(replace(green, counts="1 failed"), "code")


def test_the_last_outcome_of_a_row_is_kept(machines, green, tmp_path):
    ledger = machines.Ledger(tmp_path)
    assert ledger.read() == {}
    part = replace(green, tests="computing")
    for outcome in (green, part, replace(green, counts="8 passed")):
        ledger.add(outcome)
    assert ledger.read() == {("haswell", "all"): replace(green, counts="8 passed"), ("haswell", "computing"): part}
    assert [path.name for path in tmp_path.iterdir()] == ["outcomes.json"]


def test_the_table_has_every_row_and_says_which_did_not_run(machines, green):
    part, old = replace(green, tests="computing"), replace(green, row="zen", code="other code")
    lines = machines.table({("haswell", "computing"): part, ("haswell", "all"): green, ("zen", "all"): old}, "code")
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines.splitlines()]
    assert len(rows) == len(machines.ROWS) + 2 and len(set(map(len, rows))) == 1
    assert rows[2] == ["haswell", "1", "3.11", "newest", "all", "7 passed, 1 skipped", "2", "2026-01-02"]
    assert [row[7] for row in rows if row[0] == "zen"] == ["2026-01-02, code before"]
    assert all(row[4] == "none" and row[5].startswith("not run") for row in rows[2:] if not row[7])


def test_parts_that_compute_are_there(machines):
    assert all((ROOT / machines.path_of(part)).exists() for part in machines.COMPUTING)


def test_a_run_that_takes_too_long_is_ended_with_its_children(machines):
    script = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import time; time.sleep(600)'])"
    process = subprocess.Popen([sys.executable, "-c", script], start_new_session=True)
    start = time.monotonic()
    assert not machines.finish(process, 0.1)
    assert process.poll() is not None and time.monotonic() - start < 60
    assert machines.finish(subprocess.Popen([sys.executable, "-c", ""], start_new_session=True), 60)
