"""The record of a study: a CSV file of cells for each task, kept in the repository, so that runs add up."""

import csv
import re
from pathlib import Path
from typing import Any

from benchmarks import harness

FOLDER = Path(__file__).parent / "results" / "cells"
KEY = ("labels", "draw", "method", "version")
COLUMNS = (*KEY, "seen", "new", "cpu_s", "note")
"""``note`` says why a cell is empty."""

Cells = dict[tuple[str, ...], dict[str, Any]]


def path(task: str, quick: bool = False) -> Path:
    """The file of a task; that of the quick form is not kept."""
    folder = harness.PARTS / "effect" if quick else FOLDER
    return folder / (re.sub(r"\W+", "_", task) + ".csv")


def recorded(file: Path) -> Cells:
    """Cells by label count, draw, method and version."""
    if not file.is_file():
        return {}
    with file.open(newline="", encoding="utf-8") as stream:
        return {tuple(row[k] for k in KEY): row for row in csv.DictReader(stream)}


def record(file: Path, row: dict[str, Any]) -> None:
    """Append a cell; what another version of its method had found goes."""
    known = recorded(file)
    current = {key: old for key, old in known.items() if key[2] != row["method"] or key[3] == row["version"]}
    if not known or len(current) < len(known):
        _write(file, "w", list(current.values()))
    _write(file, "a", [row])


def _write(file: Path, mode: str, rows: list[dict[str, Any]]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open(mode, newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
        if mode == "w":
            writer.writeheader()
        writer.writerows({k: f"{v:.6g}" if isinstance(v, float) else v for k, v in row.items()} for row in rows)
