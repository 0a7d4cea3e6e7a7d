"""What a run of a benchmark leaves: rows as CSV with a commented head, and pages built from these files alone."""

import csv
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.fingerprint import fingerprint
from benchmarks.harness import ROOT

PICTURES = ROOT / "docs" / "results"
"""Where benchmarks save pictures; those that a run saves belong to its section."""

HEAD = ("title", "notes", "command", "cpu_s", "pictures", "date", "version", "machine", "code")
"""What the commented head of a CSV file holds."""
OLDER = " **Older than the code that it measures.**"
"""What a page says where a benchmark, or what it uses of the library, was changed after the run on record."""


@dataclass
class Report:
    """Rows of one run and how they were made; stored as CSV with a commented head.

    ``code`` is the fingerprint of the benchmark, and of what it uses of the library, as they were run; empty in files
    from before it was kept.
    """

    name: str
    title: str
    notes: str
    command: str
    cpu_s: float
    rows: list[dict[str, Any]]
    pictures: list[str] = field(default_factory=list)
    date: str = ""
    version: str = ""
    machine: str = ""
    code: str = ""

    def save(self, folder: Path) -> Path:
        """Write ``<folder>/<name>.csv``."""
        folder.mkdir(parents=True, exist_ok=True)
        columns = list(dict.fromkeys(key for row in self.rows for key in row))
        path = folder / f"{self.name}.csv"
        with path.open("w", newline="", encoding="utf-8") as stream:
            for key in HEAD:
                stream.write(f"# {key}: {json.dumps(getattr(self, key), ensure_ascii=False)}\n")
            writer = csv.DictWriter(stream, columns, lineterminator="\n")
            writer.writeheader()
            writer.writerows({k: shown(v, 6) for k, v in row.items()} for row in self.rows)
        return path

    @property
    def is_older(self) -> bool:
        """Whether the code of the benchmark or of the library is another one now."""
        _, _, package, *_ = [*self.command.split(), "", "", ""]
        return not package or self.code != fingerprint(f"{package}.{self.name}", package)

    @classmethod
    def read(cls, path: Path) -> "Report":
        """Read what :meth:`save` wrote."""
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        count = next(i for i, line in enumerate(lines) if not line.startswith("# "))
        head = dict(line[2:].rstrip("\n").split(": ", 1) for line in lines[:count])
        return cls(path.stem, rows=list(csv.DictReader(lines[count:])), **{k: json.loads(v) for k, v in head.items()})


Pages = Callable[[list[Report]], dict[str, str]]
"""All pages of a package of benchmarks: path in the repository → text."""


def write_pages(results: Path, pages: Pages, root: Path) -> None:
    """Build pages from all CSV files in a folder."""
    for name, text in pages([Report.read(path) for path in sorted(results.glob("*.csv"))]).items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")


def anchor(title: str) -> str:
    """The anchor of a heading, as repository viewers and the site make it."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def toctree(pages: dict[str, str]) -> str:
    """A hidden table of contents of the site: page → the title that the sidebar shows."""
    lines = [f"{title} <{page}>" for page, title in pages.items()]
    return "\n".join(["```{toctree}", ":hidden:", "", *lines, "```", ""])


def provenance(report: Report) -> str:
    """The line under a table: how it was made."""
    seconds = f"{report.cpu_s:.0f}" if report.cpu_s >= 10 else f"{report.cpu_s:.1f}"
    version = report.version and f"gramian {report.version}"
    facts = [f"`{report.command}`", f"{seconds} CPU seconds", report.date, version, report.machine]
    return ", ".join(filter(None, facts)) + "." + OLDER * report.is_older


def unmarked(page: str) -> str:
    """A page without what it says of older records, which another change of the code may turn."""
    return page.replace(OLDER, "").replace(", older |", " |")


def markdown(rows: list[dict[str, Any]]) -> str:
    """Rows as a Markdown table."""
    if not rows:
        return "No rows.\n"
    heads = list(dict.fromkeys(key for row in rows for key in row))
    lines = [heads, ["---"] * len(heads), *([_cell(row.get(h)) for h in heads] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def aligned(rows: list[dict[str, Any]]) -> str:
    """Rows as text in columns for a terminal."""
    if not rows:
        return "no rows"
    heads = list(dict.fromkeys(key for row in rows for key in row))
    lines = [heads, *([shown(row.get(h)) for h in heads] for row in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(heads))]
    return "\n".join("  ".join(cell.ljust(w) for cell, w in zip(line, widths)).rstrip() for line in lines)


def shown(value: Any, digits: int = 4) -> str:
    """A value as people read it: four significant digits, nothing for None."""
    if value is None or value == "":
        return ""
    if isinstance(value, str | bool):
        return str(value)
    try:
        return f"{float(value):.{digits}g}" if float(value) != int(value) else str(int(value))
    except (TypeError, ValueError, OverflowError):
        return str(value)


def number(text: Any) -> float | None:
    """The number in a CSV cell, None when there is none."""
    try:
        return float(text)
    except (TypeError, ValueError):
        return None


def _cell(value: Any) -> str:
    value = value if number(value) is None else number(value)
    return shown(value).replace("|", "\\|").replace("\n", " ")
