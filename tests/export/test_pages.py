"""The pages on exports tell the truth: their commands run and print what they show, their Python runs."""

import doctest
import shlex
from pathlib import Path

import pytest

import gramian as gm
from gramian.cli import main
from tests.test_docs import blocks

PAGES = Path(__file__).parents[2] / "docs" / "guide" / "export"
HEAVY = {"chroma", "torch", "sentence-transformers", "hnswlib", "pgvector", "lancedb", "milvus"}
CASES = [
    pytest.param(target, marks=pytest.mark.engines) if target in HEAVY else pytest.param(target)
    for target in gm.export.TARGETS
]


def test_every_target_has_a_page_and_every_page_a_target():
    assert {page.stem for page in PAGES.glob("*.md")} == set(gm.export.TARGETS)


@pytest.mark.parametrize("target", CASES)
def test_the_command_on_a_page_prints_what_the_page_shows(target, tmp_path, monkeypatch, capsys):
    page = PAGES / f"{target}.md"
    monkeypatch.chdir(tmp_path)
    exec(blocks(page)[0], {})
    (command, *_), (shown, *_) = blocks(page, "sh"), blocks(page, "text")
    name, *arguments = shlex.split(command)
    capsys.readouterr()
    assert name == "gramian" and main(arguments) == 0
    said = capsys.readouterr().out
    assert doctest.OutputChecker().check_output(shown.replace("…", "..."), said, doctest.ELLIPSIS), said


@pytest.mark.engines
@pytest.mark.parametrize("target", sorted(HEAVY))
def test_all_python_on_the_page_of_a_heavy_engine_runs(target, tmp_path, monkeypatch):
    """The pages of the others run with those of the whole site."""
    monkeypatch.chdir(tmp_path)
    space = {"__name__": "page"}
    for block in blocks(PAGES / f"{target}.md"):
        exec(block, space)
