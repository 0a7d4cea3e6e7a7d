"""File names, pages and code are in American English."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).parent.parent
FOLDERS = ("src", "tests", "benchmarks", "docs", "examples", "tools")
MADE = {"generated", "gallery", "_build", "node_modules", "__pycache__", "static", ".venv", ".envs", ".parts", ".cache"}
"""Folders that tools write."""
FOREIGN = {"src/gramian/service/demo/emoji.py": {"licence"}}
"""Words that others write: names of files with their terms."""
KINDS = {".py", ".md", ".csv", ".rst", ".toml", ".json", ".css", ".js", ".html"}

VERBS = """author categor character custom diagonal discret emphas equal factor final formal general global initial
kernel linear local maxim memor minim normal optim organ orthogonal orthonormal parallel parametr penal priorit quant
random real recogn regular serial special stabil standard summar symmetr synchron util vector visual whiten"""
STEMS = """neighbour colour behaviour favour flavour honour humour rumour harbour vapour rigour labour
centred centring fibre theatre analysed analysing paralyse catalyse labelled labelling modelled modelling
travelled travelling signalled channelled levelled licence defence offence artefact whilst amongst learnt
judgement ageing catalogue sceptic cheque skilful manoeuvre practise towards"""
WORDS = "centre centres metre metres grey analyse spelt programme programmes mould fulfil"
BRITISH = re.compile(
    rf"(?:{'|'.join(VERBS.split())})i(?:se[sdr]?|sers|sing|sations?)(?![a-z])"
    rf"|{'|'.join(STEMS.split())}|(?<![a-z])(?:{'|'.join(WORDS.split())})(?![a-z])",
    re.IGNORECASE,
)


def files():
    """Files of the project that people write."""
    yield from ROOT.glob("*.md")
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*"):
            if path.is_file() and not MADE & set(path.relative_to(ROOT).parts):
                yield path


@pytest.mark.parametrize("word", ["neighbours", "Centre", "minimisation", "grey_level", "unlabelled"])
def test_a_british_word_is_found(word):
    assert BRITISH.search(f"x {word}.")


@pytest.mark.parametrize("word", ["promising", "raised", "centered", "greyhound", "factors", "equalizes", "pairwise"])
def test_an_american_word_is_none(word):
    assert not BRITISH.search(word)


def test_file_names_are_american():
    found = [str(path.relative_to(ROOT)) for path in files() if BRITISH.search(str(path.relative_to(ROOT)))]
    assert not found


def test_text_is_american():
    found = {}
    for path in files():
        if path.suffix in KINDS and path != pathlib.Path(__file__):
            words = {match.group() for match in BRITISH.finditer(path.read_text(errors="ignore"))}
            words -= FOREIGN.get(path.relative_to(ROOT).as_posix(), set())
            if words:
                found[str(path.relative_to(ROOT))] = words
    assert not found
