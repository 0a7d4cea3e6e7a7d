"""The pages tell the truth: their Python runs, and their links lead somewhere."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
RUN = [page for page in PAGES if page.parent in (ROOT, ROOT / "docs" / "guide")]


def blocks(page):
    return re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.S | re.M)


@pytest.mark.parametrize("page", [p for p in RUN if blocks(p)], ids=lambda page: page.stem)
def test_python_on_a_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    space = {"__name__": "page"}
    for block in blocks(page):
        exec(compile(block, str(page), "exec"), space)


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
