"""Runs of all benchmarks that can be stopped: what is done stays done, what changed is run again."""

import io
import sys
import types

import pytest
from benchmarks import harness, report, rounds, runner


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Three benchmarks in a folder of their own, which note that they ran; the second fails while a file is there."""
    folder = tmp_path / "bench" / "doc"
    folder.mkdir(parents=True)
    log, broken = tmp_path / "log", tmp_path / "broken"
    for name in ("a", "b", "c"):
        (folder / f"{name}.py").write_text(
            "from pathlib import Path\nTITLE = NOTES = ''\n\n"
            "def run(quick=False):\n"
            f"    if {name!r} == 'b' and Path({str(broken)!r}).exists():\n"
            "        raise RuntimeError('stopped')\n"
            f"    with Path({str(log)!r}).open('a') as stream:\n"
            f"        stream.write({name!r})\n"
            f"    return [{{'case': {name!r}, 'ours': 1.0}}]\n"
        )
    log.touch()
    broken.touch()
    monkeypatch.setattr(rounds, "ROOT", tmp_path)
    monkeypatch.setattr(runner, "ROOT", tmp_path)
    monkeypatch.setattr(harness, "PARTS", tmp_path / "parts")
    monkeypatch.syspath_prepend(str(tmp_path))
    found = types.SimpleNamespace(__name__="bench", __path__=[str(tmp_path / "bench")], __doc__="")
    return types.SimpleNamespace(module=found, log=log, broken=broken, folder=folder)


def go(package, monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["bench", *arguments])
    for name in [name for name in sys.modules if name == "bench" or name.startswith("bench.")]:
        del sys.modules[name]
    before = package.log.read_text()
    code = runner.main(package.module, lambda row: row, lambda results: {"page.md": f"{len(results)}"}, "page.md")
    return code, package.log.read_text().removeprefix(before)


def test_a_run_goes_on_where_it_was_stopped(package, monkeypatch):
    assert go(package, monkeypatch, "--resume") == (1, "ac")
    assert go(package, monkeypatch, "--resume") == (1, "")
    package.broken.unlink()
    assert go(package, monkeypatch, "--resume") == (0, "b")
    assert (package.folder.parents[1] / "page.md").read_text() == "3"
    assert go(package, monkeypatch, "--resume") == (0, "abc"), "the next round begins anew"


def test_without_the_word_and_by_name_everything_is_run(package, monkeypatch):
    package.broken.unlink()
    assert go(package, monkeypatch) == (0, "abc")
    package.broken.touch()
    go(package, monkeypatch, "--resume")
    assert go(package, monkeypatch, "--resume", "doc.a") == (0, "a")
    assert go(package, monkeypatch, "--resume", "--quick") == (1, "ac"), "a quick run is a round of its own"


def test_what_changed_is_run_again(package, monkeypatch):
    go(package, monkeypatch, "--resume")
    (package.folder / "shared.py").write_text("x = 1\n")
    assert go(package, monkeypatch, "--resume") == (1, "ac")


def test_parts_belong_to_the_library_where_the_package_says_so(package, monkeypatch):
    source = package.folder.parents[1] / "src" / "gramian.py"
    source.parent.mkdir()
    monkeypatch.setattr(harness, "edition", "")
    monkeypatch.setitem(sys.modules, "bench", package.module)
    editions = []
    for by_library, text in ((False, "x = 1"), (True, "x = 1"), (True, "x = 1"), (True, "x = 2")):
        package.module.BY_LIBRARY = by_library
        source.write_text(text)
        runner.execute("doc.a", "bench.doc.a", "bench", quick=True)
        editions.append(harness.edition)
    assert editions[0] == "" and editions[1] == editions[2] != editions[3] != ""


def test_an_interruption_is_one_sentence_and_keeps_what_ended(package, monkeypatch, capsys):
    path = package.folder / "b.py"
    path.write_text(path.read_text().replace("RuntimeError('stopped')", "KeyboardInterrupt"))
    assert go(package, monkeypatch, "--resume") == (130, "a")
    assert capsys.readouterr().err.endswith("stopped; with --resume the next run goes on from here\n")
    package.broken.unlink()
    assert go(package, monkeypatch, "--resume") == (0, "bc")


def test_words_can_be_taken_over_without_a_run(package, monkeypatch):
    package.broken.unlink()
    go(package, monkeypatch)
    path = package.folder / "a.py"
    path.write_text(path.read_text().replace("TITLE = NOTES = ''", "TITLE = 'New'\nNOTES = ' words '"))
    assert go(package, monkeypatch, "--notes", "doc.a") == (0, "")
    after = report.Report.read(package.folder.parent / "results" / "doc.a.csv")
    assert (after.title, after.notes, after.rows) == ("New", "words", [{"case": "a", "ours": "1"}])


def test_the_bar_estimates_by_what_was_recorded_and_then_by_the_pace(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(rounds.time, "monotonic", lambda: clock[0])
    stream = io.StringIO()
    bar = rounds.Bar({"a": 300.0, "b": 100.0, "c": None}, jobs=2, stream=stream)
    assert bar.remaining() == pytest.approx((300 + 100 + 200) / 2)
    clock[0] = 60.0
    bar.end("a")
    assert bar.remaining() == pytest.approx(60.0), "half of the work took a minute"
    assert stream.getvalue() == "[###############...............] 1 of 3 benchmarks, about 60 s left\n"
    bar.end("b")
    bar.end("c")
    assert stream.getvalue().endswith("] 3 of 3 benchmarks\n")


def test_times_are_said_as_people_say_them():
    assert [rounds.shown(seconds) for seconds in (4.4, 100.0, 7200.0)] == ["4 s", "2 min", "2.0 h"]


def test_recorded_seconds_are_those_of_the_last_run(tmp_path):
    assert runner._recorded(tmp_path, "doc.table") is None
    report.Report("doc.table", "", "", "", 12.5, [{"a": 1}]).save(tmp_path)
    assert runner._recorded(tmp_path, "doc.table") == 12.5
