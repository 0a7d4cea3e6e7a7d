"""The pages tell the truth: their Python runs, and their links lead somewhere."""

import ast
import builtins
import re
from pathlib import Path

import pytest

import gramian

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(page):
    return re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.S | re.M)


def free_names(tree):
    """Names that a block uses and does not define."""
    nodes = list(ast.walk(tree))
    names = [node for node in nodes if isinstance(node, ast.Name)]
    defined = {node.id for node in names if isinstance(node.ctx, ast.Store)}
    defined |= {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    defined |= {node.arg for node in nodes if isinstance(node, ast.arg)}
    imported = [a for node in nodes if isinstance(node, ast.Import | ast.ImportFrom) for a in node.names]
    defined |= {(a.asname or a.name).split(".")[0] for a in imported}
    return {node.id for node in names} - defined - set(dir(builtins))


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p)], ids=lambda page: str(page.relative_to(ROOT)))
def test_python_on_a_page_runs(page, tmp_path, monkeypatch):
    """A block that uses data the page does not make is a sketch: it must parse and name what exists."""
    monkeypatch.chdir(tmp_path)
    space = {"__name__": "page"}
    for block in blocks(page):
        tree = ast.parse(block)
        if free_names(tree) <= set(space):
            exec(compile(tree, str(page), "exec"), space)
            continue
        assert page.parent != ROOT, f"{page.name} must define {free_names(tree) - set(space)}"
        for name in re.findall(r"\bgm\.(\w+)", block):
            assert hasattr(gramian, name), f"{page.name} names gm.{name}"


def test_the_numbers_in_the_readme_are_right(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    space = {}
    (block,) = blocks(ROOT / "README.md")
    exec(block, space)
    gm, X, X_new = space["gm"], space["X"], space["X_new"]
    plain = gm.ExactIndex(gm.Mahalanobis.euclidean(13)).add(X).query(X_new, k=1)[0][:, 0]
    claimed = [float(number) for number in re.findall(r"0\.\d\d", block)]
    measured = [space["accuracy"], (space["y"][plain] == space["y_new"]).mean()]
    assert [round(float(m), 2) for m in measured] == claimed


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8")):
        if "://" not in target and not target.startswith("mailto:"):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
