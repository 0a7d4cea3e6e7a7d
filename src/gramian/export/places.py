"""Where an export goes: files that appear whole or not at all, and the README beside them."""

import os
import re
from importlib import import_module
from pathlib import Path
from typing import Any

from gramian import _checks
from gramian.export.maps import Isometry, described
from gramian.persist import replacing

MARK = "<!-- gramian export: {name} -->"
HEAD = "# Exports of a learned metric\n\nWritten by gramian. Run each block in this folder, with `x` one raw point.\n"


def needs(package: str, owner: str, extra: str) -> Any:
    """An optional package, or one sentence that names its extra."""
    try:
        return import_module(package)
    except ImportError as error:
        name = package.split(".")[0]
        raise ImportError(f"{owner} needs {name}: pip install 'gramian[{extra}]'.") from error


def place(path: Any, out: Any, owner: str) -> Path | None:
    """The place that was named, as ``path`` or as ``out``; None when there is none."""
    if path is not None and out is not None:
        raise TypeError(f"{owner}: path and out mean the same; give one of them.")
    chosen = path if out is None else out
    if chosen is None:
        return None
    if not isinstance(chosen, str | os.PathLike):
        raise TypeError(f"{owner}: path must be a path, got {_checks.shown(chosen)}.")
    return Path(chosen)


def required(path: Any, out: Any, owner: str, what: str) -> Path:
    """The place that was named, which must be."""
    found = place(path, out, owner)
    if found is None:
        raise TypeError(f"{owner}: path must name {what}.")
    return found


def folder(path: Path, owner: str) -> Path:
    """A folder, made when absent."""
    if path.exists() and not path.is_dir():
        raise NotADirectoryError(f"{owner}: path must be a folder, {str(path)!r} is a file.")
    path.mkdir(parents=True, exist_ok=True)
    return path


def loading(isometry: Isometry, path: Path) -> str:
    """The expression that loads the metric, seen from the folder of the export."""
    file = "metric.gram"
    if isometry.file is not None:
        file = os.path.relpath(isometry.file, path.parent)
    return f'gm.load("{Path(file).as_posix()}")'


def readme(path: Path, isometry: Isometry, what: str, code: str, language: str = "python") -> Path:
    """Write how to query an export into the README.md beside it, in a section of its own.

    A README.md that is not ours is left alone; the text then goes to ``NAME.README.md``. A folder also holds its own.
    """
    size = f"{isometry.n_features or 'any'} features → {isometry.width} coordinates"
    name = described(isometry.source).removeprefix("a ")
    text = f"{name}, {size}: {what}\n\n```{language}\n{code.strip()}\n```\n"
    if path.is_dir():
        _section(path / "README.md", path.name, text.replace(f'"{path.name}"', '"."'))
    return _section(path.parent / "README.md", path.name, text)


def _section(target: Path, name: str, text: str) -> Path:
    start, end = MARK.format(name=name), MARK.format(name="end")
    section = f"{start}\n## {name}\n\n{text}{end}\n"
    before = target.read_text(encoding="utf-8") if target.exists() else HEAD
    if not before.startswith(HEAD):
        target = target.with_name(f"{name}.README.md")
        before = HEAD
    pattern = re.compile(rf"{re.escape(start)}\n.*?{re.escape(end)}\n", re.S)
    found = pattern.search(before)
    if found:
        after = before[: found.start()] + section + before[found.end() :]
    else:
        after = f"{before}\n{section}"
    with replacing(target, "README") as temporary:
        temporary.write_text(after, encoding="utf-8")
    return target
