"""Every parameter and attribute has a sentence, every learner says what it leaves, and anchors lead to headings."""

import inspect
import re
import runpy
from pathlib import Path

import pytest

import gramian
from gramian import _registry
from gramian.learners import Learner

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(p for p in DOCS.rglob("*.md") if "_build" not in p.parts)]
NAMES = sorted({name for names in _registry.CONTENTS.values() for name in names})
PUBLIC = [
    name for name in NAMES if inspect.isclass(getattr(gramian, name)) or inspect.isfunction(getattr(gramian, name))
]


def entries(doc, section):
    """Name → the sentence that a section of a docstring has for it."""
    found = re.search(rf"^{section}\n-+\n(.*?)(?=^\w[\w ]+\n-{{3,}}\n|\Z)", doc, re.S | re.M)
    sentences = {}
    for part in re.split(r"(?m)^(?=\S)", found[1] if found else ""):
        head, _, rest = part.partition("\n")
        sentences |= {name.lstrip("*"): rest.strip() for name in re.findall(r"[\w*]+", head.split(":")[0])}
    return sentences


def test_a_name_without_a_sentence_is_found():
    assert entries("Title.\n\nParameters\n----------\na, b : int\n    Both.\nc : int\n", "Parameters") == {
        "a": "Both.",
        "b": "Both.",
        "c": "",
    }


@pytest.mark.parametrize("name", PUBLIC)
def test_every_parameter_and_attribute_has_a_sentence(name):
    value = getattr(gramian, name)
    doc = inspect.getdoc(value)
    said = entries(doc, "Parameters")
    wordless = [word for word in inspect.signature(value).parameters if not word.startswith("_") and not said.get(word)]
    wordless += [word for word, sentence in entries(doc, "Attributes").items() if not sentence]
    assert not wordless, f"{name} says nothing about {wordless}"


@pytest.mark.parametrize("name", [n for n in PUBLIC if inspect.isclass(getattr(gramian, n))])
def test_every_learner_names_its_metric(name):
    if issubclass(getattr(gramian, name), Learner):
        assert entries(inspect.getdoc(getattr(gramian, name)), "Attributes").get("metric_")


@pytest.mark.parametrize("name", PUBLIC)
def test_what_is_seen_also_exists(name):
    for other in entries(inspect.getdoc(getattr(gramian, name)), "See Also"):
        assert other == "gramian" or other in NAMES and other != name


@pytest.mark.parametrize("name", PUBLIC)
def test_every_name_opens_with_plain_words_and_says_what_else_to_see(name):
    doc = inspect.getdoc(getattr(gramian, name))
    assert not re.search(r"[Σ²‖≤≥=∈⟨ᵀ|]", doc.split("\n")[0]), "the formula comes second"
    assert entries(doc, "See Also")


def anchors(page):
    """Anchors of the headings of a page, as they are made of their words."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.S | re.M)
    headings = re.findall(r"^#{1,3} (.+)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_anchors_lead_to_headings(page):
    for target, anchor in re.findall(r"\]\(([^)#\s]*)#([^)\s]+)\)", page.read_text(encoding="utf-8")):
        script = re.fullmatch(r"sphx_glr_gallery_(plot_\w+\.py)", anchor)
        if script:
            assert (ROOT / "examples" / script[1]).exists(), f"{page.name} links to {anchor}"
        elif "://" not in target and anchor != "gallery":
            assert anchor in anchors(page.parent / target if target else page), (
                f"{page.name} links to {target}#{anchor}"
            )


def test_a_dead_link_of_the_built_site_is_found(tmp_path):
    dead = runpy.run_path(str(DOCS / "links.py"))["dead"]
    (tmp_path / "a.html").write_text(
        '<h1 id="top"></h1><a href="b.html#here">b</a><a href="#top">t</a><img src="x.png">'
    )
    (tmp_path / "b.html").write_text('<a href="a.html#gone">a</a><a href="https://example.org/#no">out</a>')
    assert sorted(dead(tmp_path)) == ["a.html: b.html#here", "a.html: x.png", "b.html: a.html#gone"]


@pytest.mark.parametrize("page", sorted((DOCS / "guide").glob("*.md")), ids=lambda page: page.name)
def test_every_page_of_the_guide_has_a_picture(page):
    assert re.search(r"!\[[^\]]+\]\([^)]+\)", page.read_text(encoding="utf-8"))
