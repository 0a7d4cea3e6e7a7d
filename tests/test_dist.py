"""What is handed out: a wheel and an sdist with the page in them, in an environment that holds nothing else."""

import re
import socket
import subprocess
import sys
import tarfile
import time
import tomllib
import urllib.request
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
NEEDED = ("py.typed", "service/schema.sql", "service/static/index.html", "datasets/loaders.py")


def only(pattern):
    """The one file of ``dist`` that a pattern names."""
    files = sorted(DIST.glob(pattern))
    assert len(files) == 1, f"{pattern}: make dist builds one, got {files}"
    return files[0]


@pytest.fixture(scope="module", params=["*.whl", "*.tar.gz"])
def installed(request, tmp_path_factory):
    """The interpreter of an empty environment with the wheel or the sdist, and the extras of commands and page."""
    folder = tmp_path_factory.mktemp("empty")
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "-q", f"{only(request.param)}[cli,plot,serve]"], check=True)
    return python


def clean(arguments, folder, **options):
    """Run away from the repository, so that nothing of it is found."""
    return subprocess.run(
        list(map(str, arguments)), cwd=folder, capture_output=True, text=True, env={"MPLBACKEND": "Agg"}, **options
    )


@pytest.mark.dist
def test_wheel_and_sdist_hold_the_page_and_no_leftovers():
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    with zipfile.ZipFile(only("*.whl")) as wheel, tarfile.open(only("*.tar.gz")) as sdist:
        files = set(wheel.namelist())
        sources = {name.split("/", 1)[-1] for name in sdist.getnames()}
        metadata = wheel.read(f"gramian-{version}.dist-info/METADATA").decode()
    assert all(f"gramian/{name}" in files and f"src/gramian/{name}" in sources for name in NEEDED)
    assert {name.split("/")[0] for name in files} == {"gramian", f"gramian-{version}.dist-info"}
    assert not [
        name for name in files | sources if re.search(r"__pycache__|\.nb[ci]$|\.gram$|node_modules|\.space/", name)
    ]
    assert {"README.md", "CITATION.cff", "LICENSE", "pyproject.toml"} <= sources
    assert "Classifier: Typing :: Typed" in metadata and "License-Expression: BSD-3-Clause" in metadata


@pytest.mark.dist
def test_the_readme_runs_from_what_is_installed(installed, tmp_path):
    code = "\n".join(re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S))
    done = clean([installed, "-c", f"{code}\nprint(gm.__file__)"], tmp_path)
    assert done.returncode == 0, done.stderr
    assert str(installed.parents[1]) in done.stdout.splitlines()[-1]


@pytest.mark.dist
def test_the_page_answers_from_what_is_installed(installed, tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    filled = clean([installed, "-m", "gramian", "demo-data", "digits", "--space", "a.space"], tmp_path)
    assert filled.returncode == 0, filled.stderr
    command = [installed, "-m", "gramian", "serve", "--space", "a.space", "--port", port, "--no-browser"]
    log = (tmp_path / "log").open("w")
    with subprocess.Popen(list(map(str, command)), cwd=tmp_path, stdout=log, stderr=log) as server:
        try:
            page = ""
            for _ in range(120):
                try:
                    with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=5) as answer:
                        page = answer.read().decode()
                        break
                except OSError:
                    time.sleep(0.5)
        finally:
            server.terminate()
    assert "<html" in page and "script" in page, (tmp_path / "log").read_text()


@pytest.mark.dist
def test_types_reach_users(installed, tmp_path):
    (tmp_path / "user.py").write_text("import gramian\nreveal_type(gramian.__version__)\n")
    checked = [sys.executable, "-m", "mypy", "--python-executable", installed, "user.py"]
    done = subprocess.run(list(map(str, checked)), cwd=tmp_path, capture_output=True, text=True)
    assert re.search(r'type is "(builtins\.)?str"', done.stdout) and "untyped" not in done.stdout, done.stdout
