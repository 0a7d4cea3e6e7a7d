"""The command line given hostile names, tables and surroundings: one sentence, an exit code, no traceback."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import gramian as gm

pytest.importorskip("typer")
resource = pytest.importorskip("resource")
from gramian.cli import app, main, refusals  # noqa: E402

ROOT = Path(__file__).parents[2]
ENV = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
NAMES = ["length [cm]", "[bold]", "[/cm]", "[link=x]", "$\\alpha", "\\", "a" * 300, "日本", "{x}", "%s"]


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    X = rng.normal(size=(40, len(NAMES))) + y[:, None]
    lines = [",".join([*NAMES, "[red]"])] + [",".join([*map(repr, row.tolist()), str(c)]) for row, c in zip(X, y)]
    path = tmp_path / "br[red].csv"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def run(capsys, *arguments):
    code = main([str(argument) for argument in arguments])
    said = capsys.readouterr()
    assert "Traceback" not in said.err
    return code, said.out, said.err


@pytest.mark.filterwarnings("ignore")
def test_names_in_brackets_are_shown_as_they_are(table, tmp_path, capsys):
    out = tmp_path / "br[red].gram"
    code, said, _ = run(capsys, "fit", table, "--label", "[red]", "--learner", "rca", "-o", out)
    assert code == 0 and str(out) in said
    code, said, _ = run(capsys, "info", out)
    assert code == 0 and "[red]" in said and "length [cm]" in said and "[/cm]" in said and "[bold]" in said
    code, said, _ = run(capsys, "evaluate", table, "--label", "[red]", "--learner", "rca", "--folds", "2")
    assert code == 0 and "br[red].csv" in said
    code, _, complaint = run(capsys, "fit", table, "--label", "[rde]")
    assert code == 2 and "'[rde]'" in complaint and "'[red]'" in complaint


@pytest.mark.filterwarnings("ignore")
def test_a_picture_of_any_names_is_drawn(table, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    out, picture = tmp_path / "m.gram", tmp_path / "m.png"
    assert run(capsys, "fit", table, "--label", "[red]", "--learner", "rca", "-o", out)[0] == 0
    code, _, complaint = run(capsys, "info", out, "--plot", picture)
    assert code == 0 and picture.is_file(), complaint


@pytest.mark.parametrize(("closed", "name"), [("<&-", "input"), (">&-", "output")])
def test_a_closed_stream_is_one_sentence(closed, name, tmp_path):
    command = f"exec {sys.executable} -m gramian stream --state {tmp_path / 's'} {closed}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, env=ENV)
    assert done.returncode == 2 and f"standard {name} is closed" in done.stderr and "Traceback" not in done.stderr


def test_a_name_twice_among_a_hundred_thousand_columns_is_found_at_once(tmp_path, capsys):
    path = tmp_path / "wide.csv"
    names = [f"c{j}" for j in range(100_000)] + ["c7"]
    path.write_text(",".join(names) + "\n" + ",".join(["1"] * len(names)) + "\n")
    code, _, complaint = run(capsys, "fit", path, "--label", "c1")
    assert code == 2 and "two columns are named 'c7'" in complaint


def test_a_hundred_thousand_columns_are_refused_in_one_sentence(tmp_path, capsys):
    path = tmp_path / "wide.csv"
    rows = np.random.default_rng(0).integers(0, 9, size=(4, 100_000)).astype(str)
    names = [f"c{j}" for j in range(100_000)]
    lines = [",".join([*names, "y"]), *(",".join([*row, str(i % 2)]) for i, row in enumerate(rows))]
    path.write_text("\n".join(lines))
    code, _, complaint = run(capsys, "fit", path, "--label", "y", "--learner", "rca")
    assert code == 2 and "GB are free" in complaint and len(complaint.splitlines()) == 1


@pytest.mark.parametrize("error", [MemoryError(), MemoryError("Unable to allocate 74.5 GiB")])
def test_memory_that_is_not_there_is_one_sentence(error, capsys):
    def command():
        raise error

    assert refusals.guarded(command) == 2
    assert "memory" in (said := capsys.readouterr().err) or "allocate" in said
    assert len(said.splitlines()) == 1


def test_complex_numbers_in_a_file_are_refused(tmp_path, capsys):
    path = tmp_path / "c.npz"
    np.savez(path, X=np.ones((6, 2)) * 1j, y=np.arange(6) % 2)
    code, _, complaint = run(capsys, "fit", path)
    assert code == 2 and "complex" in complaint


def test_exit_codes_are_those_of_the_pages():
    codes = {
        SystemExit(0): 0,
        KeyboardInterrupt(): 130,
        ImportError("needs pandas"): 1,
        OSError(28, "No space left on device", "x"): 2,
        ValueError("RCA: no"): 2,
        MemoryError(): 2,
    }
    for error, code in codes.items():

        def command(error=error):
            raise error

        assert refusals.guarded(command) == code
    assert app.run(["--version"]) == 0


@pytest.mark.parametrize("ending", ["csv", "npy", "npz"])
def test_a_disk_that_is_full_names_the_file_and_leaves_the_old_one(ending, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 4))
    np.save(tmp_path / "X.npy", X)
    gm.save(gm.Mahalanobis.euclidean(4), tmp_path / "m.gram")
    out = tmp_path / f"out.{ending}"
    out.write_text("old")

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    command = [sys.executable, "-m", "gramian", "transform", tmp_path / "m.gram", tmp_path / "X.npy", "-o", out]
    done = subprocess.run(command, capture_output=True, text=True, env=ENV, preexec_fn=limit)
    assert done.returncode == 2 and "Traceback" not in done.stderr
    said = " ".join(done.stderr.split())
    assert f"out.{ending}: " in said and ("too large" in said or "disk is full" in said)
    assert out.read_text() == "old" and len(list(tmp_path.iterdir())) == 3
