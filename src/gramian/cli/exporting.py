"""``gramian export``: a saved metric and a file of points to any target, and the check of what was written."""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import Any

from gramian import export, persist
from gramian.cli import formats, models, tables
from gramian.cli.screen import progress, say, tell
from gramian.export.base import TARGETS, Map, Target


@dataclass(frozen=True)
class Points:
    """Points of a file, as often as they are asked for: ``take()`` is an array or an iterator of blocks."""

    take: Callable[[], Any]
    ids: Any = None
    count: int | None = None


class Counted:
    """An iterator of blocks that says how many rows there will be."""

    def __init__(self, blocks: Iterator[Any], total: int):
        self.blocks, self.total = blocks, total

    def __iter__(self) -> "Counted":
        return self

    def __next__(self) -> Any:
        return next(self.blocks)


def run(model: Path, to: str, data: Path | None, out: str | None, check: bool, only: bool, **options: Any) -> None:
    """Write the target, then check it where asked."""
    if to not in TARGETS:
        raise ValueError(f"no target {to!r}; the targets are {', '.join(TARGETS)}.")
    target = TARGETS[to]
    columns = {name: options.pop(name) for name in ("id", "label", "drop", "column")}
    width = Map.of(model, f"to {to}").n_features
    points = None if data is None else read(data, model, width, **columns)
    named = out or f"{model.stem}{target.suffix}"
    place = named if "://" in named else Path(named)
    chosen = _options(target, options)
    if target.takes_data and points is None and (to not in ("pgvector", "qdrant") or only):
        raise ValueError(f"--to {to} stores points: give them with --data.")
    piped = out == "-"
    if piped and (to != "pgvector" or check or only):
        raise ValueError(
            "-o - is for a pgvector script that goes into a pipe; name a file for others, and for --check."
        )
    show = tell if piped else say
    if not only:
        _write(target, points, model, place, chosen)
        rows = f"{points.count:,} rows" if points is not None and target.takes_data and points.count else "the map"
        show.print(f"{to}: {rows}; wrote {place}")
    if check or only:
        X, ids = (None, None) if points is None else (points.take(), points.ids)
        known = {name: value for name, value in chosen.items() if name in ("table", "form")}
        show.print(str(export.check(model, to, place, X, ids=ids, **known)))


def _options(target: Target, options: dict[str, Any]) -> dict[str, Any]:
    """The options that were given, each of which the target must know."""
    given = {name: value for name, value in options.items() if value is not None}
    for name in given:
        if not _knows(target, name):
            able = [other.name for other in TARGETS.values() if _knows(other, name)]
            raise ValueError(f"--{name} is not for {target.name}; it is for {', '.join(able)}.")
    return given


def _knows(target: Target, name: str) -> bool:
    return name in signature(_function(target)).parameters


def _function(target: Target) -> Callable[..., Any]:
    return getattr(export, f"to_{target.module}")


def _write(target: Target, points: Points | None, model: Path, place: Any, options: dict[str, Any]) -> None:
    if not target.takes_data:
        _function(target)(model, path=place)
        return
    path: Any = sys.stdout if str(place) == "-" else place
    X, ids, total = (None, None, None) if points is None else (points.take(), points.ids, points.count)
    with progress(target.name, total=total) as (bar, task):
        more = {"callback": lambda done, _: bar.update(task, completed=done), **options}
        _function(target)(model, X, path=path, ids=ids, **more)


def read(
    data: Path,
    model: Path,
    width: int | None,
    id: str | None = None,
    label: str | None = None,
    drop: list[str] | None = None,
    column: str | None = None,
) -> Points:
    """The points of a file: an NPY file and vectors in a Parquet file are read as they are needed."""
    if not data.is_file():
        raise formats.TableError(f"{data}: no such file.")
    suffix = data.suffix.lower()
    if suffix == ".npy":
        X = formats.load_numpy(data, mapped=True)
        if X.ndim == 2 and X.shape[1] == width and not drop and label is None:
            return Points(lambda: X, None, len(X))
    if suffix == ".npz":
        arrays = formats.load_numpy(data)
        names = [name for name in (id, "ids", "id") if name in arrays]
        if "X" in arrays and arrays["X"].ndim == 2 and arrays["X"].shape[1] == width:
            return Points(lambda: arrays["X"], arrays[names[0]] if names else None, len(arrays["X"]))
    if suffix in (".parquet", ".pq"):
        found = _vectors(data, column, id)
        if found is not None:
            return found
    return _table(data, model, id, label, drop or [])


def _vectors(data: Path, column: str | None, id: str | None) -> Points | None:
    """Vectors in a column of lists; None when the file has only columns of numbers."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise formats.TableError(f"{data}: Parquet needs pyarrow: pip install 'gramian[parquet]'.") from error
    try:
        file = pq.ParquetFile(data)
    except pa.ArrowInvalid as error:
        raise formats.TableError(f"{data}: not a readable Parquet file.") from error
    if column is None and not any(hasattr(field.type, "value_type") for field in file.schema_arrow):
        return None
    total = file.metadata.num_rows
    return Points(lambda: Counted(export.from_parquet(data, column, id=id), total), None, total)


def _table(data: Path, model: Path, id: str | None, label: str | None, drop: list[str]) -> Points:
    """Columns of numbers, found by the names they had in the fit, and the column ``id`` as ids."""
    about = persist.describe(model)["about"]
    features = about.get("features", [])
    columns = formats.read_columns(data)[0]
    named = not all(name.isdigit() for name in columns)
    if id is None and named and "id" in columns and "id" not in features:
        id = "id"
    gone = [*drop, *([label] if label else [])]
    if named:
        table = tables.read_again(data, about, id, gone)
    else:
        table = tables.read(data, id, models.unlabeled(data, about, None, gone))
    return Points(lambda: table.X, table.y, len(table.X))
