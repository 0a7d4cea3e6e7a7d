"""What the documents ask for beside tables and figures, and where a result could be doubted: tables kept by hand.

``asked.toml`` beside the benchmarks holds both. They are a part of docs/scorecard.md, which
``python -m benchmarks.papers --page`` writes.
"""

import tomllib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from itertools import groupby
from pathlib import Path
from typing import Any

from benchmarks import papers, report, runner
from benchmarks.harness import ROOT

SOURCE = ROOT / "benchmarks" / "papers" / "asked.toml"
STATES = ("here", "in part", "not here")


@dataclass(frozen=True)
class Asked:
    """One thing that a document asks for: public names that do it, tests that hold it, and why it is not all there."""

    document: str
    item: str
    state: str
    where: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    benchmarks: tuple[str, ...] = ()
    because: str = ""


@dataclass(frozen=True)
class Doubt:
    """One way in which a result could be doubted, and what its section does about it now."""

    document: str
    item: str
    now: str
    benchmarks: tuple[str, ...]


def asked(path: Path = SOURCE) -> list[Asked]:
    """What the documents ask for."""
    return [Asked(**row) for row in _tables(path)["asked"]]


def doubts(path: Path = SOURCE) -> list[Doubt]:
    """Where results could be doubted."""
    return [Doubt(**row) for row in _tables(path)["doubt"]]


def _tables(path: Path) -> dict[str, list[dict[str, Any]]]:
    found = tomllib.loads(path.read_text(encoding="utf-8"))
    return {
        name: [{key: tuple(value) if isinstance(value, list) else value for key, value in row.items()} for row in rows]
        for name, rows in found.items()
    }


def link(name: str, results: dict[str, report.Report], root: str = "") -> str:
    """The section of a benchmark on the pages of results, below a root; its name alone where it was not recorded."""
    if name not in results:
        return f"`{name}`"
    return f"[{name}]({root}results/{name.split('.')[0]}.md#{report.anchor(results[name].title)})"


def older(results: dict[str, report.Report]) -> set[str]:
    """Benchmarks that were recorded before they became what they are: other code, or other notes than those on record.

    A record without a fingerprint counts as older: what was run cannot be told.
    """
    modules = runner.discover(papers)
    return {name for name, result in results.items() if name in modules and _changed(modules[name], result)}


def _changed(module: str, result: report.Report) -> bool:
    return import_module(module).NOTES.strip() != result.notes or result.is_older


def sections(results: dict[str, report.Report]) -> str:
    """The two tables, document by document."""
    behind = older(results)
    listed = asked()
    states = Counter(row.state for row in listed)
    counts = ", ".join(f"{states[state]} {state}" for state in STATES)
    parts = [f"## Asked for in the text\n\nBeside tables and figures, {len(listed)} things: {counts}.\n"]
    parts += _by_document(listed, lambda row: _asked_row(row, results))
    parts += [DOUBTS]
    parts += _by_document(doubts(), lambda row: _doubt_row(row, results, behind))
    return "\n".join(parts)


DOUBTS = """## Where a result could be doubted

What a strict reader held against earlier forms of these results, and what the sections do about it. *Record*: the day
of the run on record; *older* where the benchmark, or what it uses of the library, was changed after it.
"""


def _by_document(rows: Iterable[Any], shown: Any) -> list[str]:
    parts = []
    for document, group in groupby(rows, lambda row: row.document):
        parts += [f"**{document}**\n", report.markdown([shown(row) for row in group])]
    return parts


def _asked_row(row: Asked, results: dict[str, report.Report]) -> dict[str, str]:
    names = [f"`{name.removeprefix('gramian.')}`" for name in row.where]
    links = [link(name, results) for name in row.benchmarks]
    return {
        "asked for": row.item,
        "state": row.state,
        "where": ", ".join(names + links),
        "held by": ", ".join(f"`{name.removeprefix('tests/')}`" for name in row.tests),
        "why not all": row.because,
    }


def _doubt_row(row: Doubt, results: dict[str, report.Report], behind: set[str]) -> dict[str, str]:
    dates = sorted({results[name].date for name in row.benchmarks if name in results})
    return {
        "doubt": row.item,
        "now": row.now,
        "where": ", ".join(link(name, results) for name in row.benchmarks),
        "record": ", ".join(dates) + (", older" if behind & set(row.benchmarks) else ""),
    }
