"""The program: help, version, its extra."""

import subprocess
import sys

import pytest

import gramian as gm
from gramian.cli import main


def test_without_arguments_there_is_help(gramian):
    code, out, err = gramian()
    assert code == 0 and err == "" and "Usage: gramian" in out and "gramian demo" in out


@pytest.mark.parametrize("command", ["fit", "evaluate", "transform", "export", "info", "stream"])
def test_every_command_has_an_example(gramian, command):
    code, out, _ = gramian(command, "--help")
    assert code == 0 and "Example" in out and out.count(f"gramian {command} ") >= 2


def test_help_version_and_learners(gramian):
    code, out, _ = gramian("--help")
    assert code == 0 and all(word in out for word in ("demo", "fit", "evaluate", "transform", "info", "learners"))
    assert gramian("--version") == (0, f"gramian {gm.__version__}\n", "")
    code, out, _ = gramian("learners")
    assert code == 0 and "itml" in out and "rca" in out


def test_python_m_gramian_runs():
    done = subprocess.run([sys.executable, "-m", "gramian", "--version"], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.startswith("gramian ")


def test_without_typer_the_extra_is_named(monkeypatch, capsys):
    for name in [name for name in sys.modules if name.split(".")[0] == "typer" or name.startswith("gramian.cli.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "typer", None)
    assert main(["--help"]) == 1
    assert capsys.readouterr().err == "gramian: the command line needs typer and rich: pip install 'gramian[cli]'.\n"
