"""The benchmark harness: discovery, CSV, pages, timing, memory and peers."""

import json
import platform
import subprocess
import sys
import time
import types

import numpy as np
import pytest
from benchmarks import effect, harness, papers, readme, report, runner, speed
from benchmarks.papers.__main__ import columns, page, pages


def _report(name="doc.table", **changes):
    rows = [
        {"table": "Table 1", "case": "iris", "method": "ITML", "ours": 0.95, "paper": 0.96, "note": "a | b"},
        {"table": "Table 2", "case": "wine", "method": "ITML", "ours": 0.5, "paper": None, "note": ""},
    ]
    fields = {"title": "A title", "notes": "Two\nlines: é", "command": "python -m x", "cpu_s": 12.3, "rows": rows}
    return report.Report(name, **(fields | changes))


def test_csv_round_trip_keeps_the_head_and_the_rows(tmp_path):
    before = _report(pictures=["a.png"])
    after = report.Report.read(before.save(tmp_path))
    assert (after.name, after.title, after.notes, after.command, after.cpu_s, after.pictures) == (
        ("doc.table", "A title", "Two\nlines: é", "python -m x", 12.3, ["a.png"])
    )
    assert [row["ours"] for row in after.rows] == ["0.95", "0.5"]
    assert after.rows[1]["paper"] == ""


def test_page_holds_ours_paper_and_the_difference(tmp_path):
    text = page("doc", [report.Report.read(_report(pictures=["a.png"]).save(tmp_path))])
    assert "| iris | ITML | 0.95 | 0.96 | -0.01 | a \\| b |" in text
    assert "| wine | ITML | 0.5 |  |  |  |" in text
    assert "**Table 2**" in text and "](a.png)" in text and "`python -m x`, 12 CPU seconds." in text


def test_pages_state_their_hours_and_link_to_their_sections():
    made = pages([_report(cpu_s=5400.0), _report("doc.other", title="Other: a (Fig. 1–2)", cpu_s=1800.0)])
    front, text = made["docs/results.md"], made["docs/results/doc.md"]
    assert "2 runs on record took 2.0 CPU hours" in front and "not in the sum: `disparate." in front
    assert "| [doc](results/doc.md) | 4 | 2 |  |  | 7200 |\n" in front and "doc <results/doc>" in front
    assert "| [A title](#a-title) | 2 | 1 | 5400 |\n" in text
    assert "(#other-a-fig-12)" in text and "## Other: a (Fig. 1–2)" in text


def test_provenance_says_when_with_what_and_on_what_but_not_where():
    run = _report(date="2026-01-02", version="0.1.0", machine=runner.machine())
    line = report.provenance(run)
    assert line.startswith("`python -m x`, 12 CPU seconds, 2026-01-02, gramian 0.1.0, ") and " cores of " in line
    assert platform.node() not in line


def test_running_one_changes_only_its_section(tmp_path):
    for name, title in (("a.one", "One"), ("b.two", "Two"), ("b.three", "Three")):
        _report(name, title=title).save(tmp_path)
    report.write_pages(tmp_path, pages, tmp_path)
    folder = tmp_path / "docs" / "results"
    other, before = (folder / "a.md").read_text(), (folder / "b.md").read_text().split("\n## ")
    _report("b.two", title="Two", cpu_s=99.0).save(tmp_path)
    report.write_pages(tmp_path, pages, tmp_path)
    after = (folder / "b.md").read_text().split("\n## ")
    assert other == (folder / "a.md").read_text()
    assert before[2] != after[2] and after[2].startswith("Two")
    assert before[1] == after[1] and after[1].startswith("Three")
    assert "12.3 |" in before[0] and "99 |" in after[0]  # the summary


def test_a_benchmark_that_no_page_of_speeds_names_is_on_the_last():
    from benchmarks.speed.__main__ import ROLES, by_role

    names = {name for _, listed in ROLES.values() for name in listed}
    found = by_role([_report(name) for name in [*sorted(names), "new"]])
    assert list(found) == list(ROLES) and found[list(ROLES)[-1]][-1].name == "new"


def test_select_by_table_document_or_nothing():
    names = ["jain.t1", "jain.t2", "li.t1"]
    assert runner.select(names, []) == names
    assert runner.select(names, ["jain"]) == ["jain.t1", "jain.t2"]
    assert runner.select(names, ["li/t1.py"]) == ["li.t1"]
    assert runner.select(names, ["t2"]) == ["jain.t2"]
    with pytest.raises(SystemExit, match="no benchmark 'tt'"):
        runner.select(names, ["tt"])


@pytest.mark.parametrize("package", [papers, speed, effect])
def test_every_benchmark_states_its_title_and_protocol(package):
    from importlib import import_module

    for name, module_name in runner.discover(package).items():
        module = import_module(module_name)
        assert isinstance(module.TITLE, str) and isinstance(module.NOTES, str), name


def test_pictures_of_a_run_are_those_that_it_saves(tmp_path, monkeypatch):
    figure = pytest.importorskip("matplotlib.figure").Figure()
    monkeypatch.setattr(report, "PICTURES", tmp_path)
    (tmp_path / "of-another-run.png").touch()

    def run(quick):
        figure.savefig(tmp_path / "mine.png")
        figure.savefig(tmp_path.parent / "elsewhere.png")
        return []

    monkeypatch.setitem(sys.modules, "a_benchmark", types.SimpleNamespace(run=run))
    assert runner.execute("a", "a_benchmark", "benchmarks.papers", quick=True).pictures == ["mine.png"]
    assert not (tmp_path / "mine.png").exists(), "a quick run keeps the pictures of the full one"
    runner.execute("a", "a_benchmark", "benchmarks.papers", quick=False)
    assert (tmp_path / "mine.png").exists()


def test_benchmarks_run_in_processes_and_failures_are_told():
    jobs = [(name, f"no_such_module_{name}", "benchmarks.papers", True) for name in "ab"]
    ended = sorted(runner._run_all(jobs, 2))
    assert [name for name, result, _ in ended if result is None] == ["a", "b"]
    assert "no_such_module_a" in ended[0][2]


def test_discovery_needs_no_package_files(tmp_path):
    (tmp_path / "doc").mkdir()
    (tmp_path / "doc" / "table.py").write_text("TITLE = NOTES = ''\n\ndef run(quick=False):\n    return []\n")
    (tmp_path / "doc" / "shared.py").write_text("x = 1\n")
    package = types.SimpleNamespace(__name__="papers", __path__=[str(tmp_path)])
    assert runner.discover(package) == {"doc.table": "papers.doc.table"}


def test_columns_of_a_row_without_numbers():
    assert columns({"case": "x", "ours": "n/a", "paper": 1.0})["difference"] is None


def test_cpu_time_is_of_work_and_not_of_waiting():
    def work():
        return sum(i * i for i in range(200_000))

    seconds, result = harness.timed(work, repeats=3)
    assert seconds > 0 and result == work()
    assert harness.cpu_time(lambda: time.sleep(0.05), repeats=1, warmup=0) < 0.05


def test_peak_memory_sees_a_large_array():
    small = harness.peak_memory(lambda: None)
    large = harness.peak_memory(lambda: np.ones(30_000_000).sum())
    assert large - small > 200_000_000


def test_peak_memory_reports_failure():
    def fail():
        raise SystemExit(3)

    with pytest.raises(RuntimeError, match="exit code 3"):
        harness.peak_memory(fail)


def test_peer_gets_arrays_and_returns_json(tmp_path):
    script = tmp_path / "peer.py"
    script.write_text("def main(arrays):\n    return {'sum': arrays['X'].sum(), 'shape': arrays['X'].shape}\n")
    assert harness.run_peer(sys.executable, script, {"X": np.ones((2, 3))}) == {"sum": 6.0, "shape": [2, 3]}
    script.write_text("def main(arrays):\n    raise ValueError('peer broke')\n")
    with pytest.raises(RuntimeError, match="peer broke"):
        harness.run_peer(sys.executable, script, {})


def test_command_line_lists_and_refuses_unknown_names():
    run = [sys.executable, "-m", "benchmarks.papers"]
    done = subprocess.run([*run, "nothing-like-this"], cwd=harness.ROOT, capture_output=True, text=True)
    assert done.returncode == 1 and "no benchmark" in done.stderr
    assert subprocess.run([*run, "--list"], cwd=harness.ROOT, capture_output=True).returncode == 0


def test_the_objectives_that_judge_both_sides_are_those_of_the_learners(rng):
    from benchmarks.speed.learners import itml_objective, mmc_objective

    import gramian as gm

    X, y = rng.normal(size=(40, 3)), np.arange(40) % 2
    pairs = gm.Pairs.from_labels(y, n_pairs=60, random_state=0).with_bounds(X)
    itml, mmc = gm.ITML(tol=1e-6, anchor=0).fit(X, pairs), gm.MMC(anchor=0).fit(X, pairs)
    assert itml_objective(itml.metric_.matrix, X, pairs) == pytest.approx(itml.objective_, rel=1e-4)
    assert mmc_objective(mmc.metric_.matrix, X, pairs) == pytest.approx(mmc.objective_, rel=1e-4)


def test_the_readme_says_what_was_measured():
    text = (harness.ROOT / "README.md").read_text(encoding="utf-8")
    assert readme.block() in text, "run python -m benchmarks.readme"
    assert readme.updated(text) == text


def test_times_are_short():
    shown = [readme.seconds(text) for text in ("39.7261", "0.708271", "0.011457", "0.00277615")]
    assert shown == ["40 s", "0.71 s", "11 ms", "2.8 ms"]


def test_the_picture_of_simulated_people_is_that_of_the_results():
    from benchmarks.serve import evidence

    results = [report.Report.read(harness.ROOT / "benchmarks" / "serve" / "results" / "across.csv")]
    assert evidence.digest(results).encode() in evidence.TARGET.read_bytes(), "run python -m benchmarks.serve --page"


@pytest.mark.parametrize("name", ["papers", "speed"])
def test_generated_pages_are_those_of_the_results(name):
    from importlib import import_module

    main = import_module(f"benchmarks.{name}.__main__")
    results = [
        report.Report.read(path) for path in sorted((harness.ROOT / "benchmarks" / name / "results").glob("*.csv"))
    ]
    for path, text in main.pages(results).items():
        found = (harness.ROOT / path).read_text(encoding="utf-8")
        assert report.unmarked(found) == report.unmarked(text), f"{path}: run python -m benchmarks.{name} --page"


def test_remembered_parts_are_resumed_with_the_seconds_they_took(tmp_path, monkeypatch):
    monkeypatch.setattr(harness, "PARTS", tmp_path / "parts")
    monkeypatch.setattr(harness, "_earlier", [])
    source = tmp_path / "protocol.py"
    source.write_text("first")
    calls = []

    def part():
        calls.append(len(calls))
        end = harness.cpu_seconds() + 0.02  # this clock moves in steps of a hundredth
        while harness.cpu_seconds() < end:
            sum(range(1000))
        return {"score": calls[-1]}

    key = (str(source), "iris", 1)
    assert harness.remembered("x", key, part) == {"score": 0}
    (stored,) = (tmp_path / "parts" / "x").iterdir()
    before = harness.cpu_seconds()
    assert harness.remembered("x", key, part) == {"score": 0} and len(calls) == 1
    assert harness.cpu_seconds() - before >= json.loads(stored.read_text())["cpu_s"] - 1e-9 > 0
    assert harness.remembered("x", (*key[:2], 2), part) == {"score": 1}
    source.write_text("another protocol")
    assert harness.remembered("x", key, part) == {"score": 2}
    monkeypatch.setattr(harness, "edition", "another library")
    assert harness.remembered("x", key, part) == {"score": 3}
    assert harness.remembered("x", key, part) == {"score": 3}


def test_cached_arrays_are_of_one_edition(tmp_path, monkeypatch):
    monkeypatch.setattr(harness, "ROOT", tmp_path)
    (tmp_path / "benchmarks").mkdir()
    made = iter(range(9))
    for edition, value in (("a" * 64, 0), ("a" * 64, 0), ("b" * 64, 1), ("", 2), ("", 2)):
        monkeypatch.setattr(harness, "edition", edition)
        assert harness.cached("numbers", lambda: np.array(next(made)))[0] == value


def test_notes_have_standard_errors():
    assert harness.standard_error([1.0, 2.0, 3.0], 2) == "± 0.58"  # 1 / √3
    assert harness.standard_error([1.0, 3.0], 1, "two draws") == "± 1.0; two draws"
    assert harness.standard_error([1.0], words="one draw") == "one draw"
