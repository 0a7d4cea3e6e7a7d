"""``gramian export``: a saved metric and a file of points to any target, and the check of what was written."""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import Any

import typer

import gramian
from gramian import persist
from gramian.cli import options as opt
from gramian.cli.screen import progress, say, tell
from gramian.cli.tables import TableError, as_learned, load_numpy, read_columns

EXPORT = (
    "gramian export wine.gram --to onnx --check",
    "gramian export wine.gram --to qdrant --data wine.npy -o database --check",
    "gramian export wine.gram --to pgvector --data wine.parquet -o - | psql",
    "gramian export wine.space -o events.jsonl",
)


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


def install(app: typer.Typer) -> None:
    """Add the command to an application."""
    app.command(rich_help_panel=opt.USE, epilog=opt.examples(*EXPORT))(export)


def export(
    model: opt.Exported,
    to: opt.To = None,
    data: opt.Points = None,
    output: opt.Place = None,
    check: opt.Check = False,
    check_only: opt.CheckOnly = False,
    form: opt.Form = None,
    table: opt.TableName = None,
    kind: opt.Kind = None,
    original: opt.Original = None,
    id: opt.Ids = None,
    column: opt.Vectors = None,
    label: opt.Unlearned = None,
    drop: opt.Drop = None,
    documents: opt.Documents = False,
) -> None:
    """Take a learned distance into the models, indexes and databases that you already run.

    The output and a README.md with the query lie side by side; --check asks it 100 queries.
    Of a space, which may be served meanwhile, all events are written as JSON lines, vectors and metrics included;
    gramian import reads them.
    """
    if to is None:
        from gramian.cli import serving

        serving.export_events(model, Path(output) if output else None)
        return
    source: Any = documents_of(model) if documents else model
    target, width = named(to), gramian.export.base.Map.of(source, f"to {to}").n_features
    points = None if data is None else read(data, model, width, id, without(drop, label), column)
    place = place_of(output or f"{model.stem}{target.suffix}")
    options = without_gaps(form=form, table=table, kind=kind, original=original)
    require(target, points, options, output == "-", check or check_only, check_only)
    if not check_only:
        write(target, points, source, place, options)
    if check or check_only:
        X, ids = taken(points)[:2]
        where = without_gaps(table=table, form=form)
        say.print(str(gramian.export.check(source, to, place, X, ids=ids, **where)))


def taken(points: Points | None) -> tuple[Any, Any, int | None]:
    """The points, their ids and their number, where there are any."""
    return (None, None, None) if points is None else (points.take(), points.ids, points.count)


def without(drop: list[str] | None, label: str | None) -> list[str]:
    """Columns that are left out: those that were named, and that of the labels."""
    return [*(drop or ()), *([label] if label else ())]


def without_gaps(**options: Any) -> dict[str, Any]:
    """Options that were given."""
    return {name: value for name, value in options.items() if value is not None}


def place_of(output: str) -> Any:
    """A path, or the address of a server."""
    return output if "://" in output else Path(output)


def documents_of(model: Path) -> Any:
    """The map of documents of an adapter in a file."""
    adapter = persist.load(model)
    if not isinstance(adapter, gramian.QueryAdapter):
        raise ValueError(f"--documents is for adapters, and {model} holds a {type(adapter).__name__}.")
    return adapter.document_metric_


def named(to: str) -> Any:
    """A target by its name."""
    if to not in gramian.export.TARGETS:
        raise ValueError(f"no target {to!r}; the targets are {', '.join(gramian.export.TARGETS)}.")
    return gramian.export.TARGETS[to]


def require(target: Any, points: Points | None, options: dict[str, Any], piped: bool, check: bool, only: bool) -> None:
    """Refuse what a target has no use for, and what it cannot do without."""
    require_options(target, options)
    if target.takes_data and points is None and (target.defaults.get("X", ...) is not None or only):
        raise ValueError(f"--to {target.name} stores points: give them with --data.")
    if piped and (target.name != "pgvector" or check):
        raise ValueError(
            "-o - is for a pgvector script that goes into a pipe; name a file for others, and for --check."
        )


def require_options(target: Any, options: dict[str, Any]) -> None:
    """Refuse options that a target does not have, and name those that do."""
    for name in options:
        if name not in arguments(target):
            able = [kind.name for kind in gramian.export.TARGETS.values() if name in arguments(kind)]
            raise ValueError(f"--{name} is not for {target.name}; it is for {', '.join(able)}.")


def arguments(target: Any) -> Any:
    """The arguments of ``to_NAME``."""
    return signature(getattr(gramian.export, f"to_{target.module}")).parameters


def write(target: Any, points: Points | None, model: Any, place: Any, options: dict[str, Any]) -> None:
    """Write an export, under a bar where it takes long, and say what was written."""
    function = getattr(gramian.export, f"to_{target.module}")
    rows = f"{points.count:,} rows" if points is not None and target.takes_data and points.count else "the map"
    piped = str(place) == "-"
    if target.takes_data:
        stored(function, target, points, model, sys.stdout if piped else place, options)
    else:
        function(model, path=place)
    (tell if piped else say).print(f"{target.name}: {rows}; wrote {place}")


def stored(function: Any, target: Any, points: Points | None, model: Any, place: Any, options: dict[str, Any]) -> None:
    """Write the points of an export."""
    X, ids, total = taken(points)
    with progress(target.name, total=total) as (bar, task):
        more = {"callback": lambda done, _: bar.update(task, completed=done), **options}
        function(model, X, path=place, ids=ids, **more)


def read(data: Path, model: Path, width: int | None, id: str | None, drop: list[str], column: str | None) -> Points:
    """The points of a file: an NPY file and vectors in a Parquet file are read as they are needed."""
    if not data.is_file():
        raise TableError(f"{data}: no such file.")
    points = formed(data, width, bool(drop), id, column)
    if points is not None:
        return points
    about = persist.describe(model)["about"]
    cells, arrays = read_columns(data, about.get("absent", ()))
    if id is None and "id" in cells and "id" not in about.get("features", []):
        id = "id"
    table = as_learned(data, cells, arrays, about, id, drop)
    return Points(lambda: table.X, table.y, len(table.X))


def formed(data: Path, width: int | None, narrower: bool, id: str | None, column: str | None) -> Points | None:
    """Points that a file holds as rows of that width; None where it holds something else, or columns are left out."""
    suffix = data.suffix.lower()
    if suffix in (".parquet", ".pq"):
        return vectors(data, column, id)
    if suffix == ".npz":
        arrays = load_numpy(data)
        ids = next((arrays[name] for name in (id, "ids", "id") if name in arrays), None)
        return rows_of(arrays.get("X"), ids, width)
    return rows_of(load_numpy(data, mapped=True), None, width) if suffix == ".npy" and not narrower else None


def rows_of(X: Any, ids: Any, width: int | None) -> Points | None:
    """An array (n, width) as points; None for any other."""
    return Points(lambda: X, ids, len(X)) if X is not None and X.ndim == 2 and X.shape[1] == width else None


def vectors(data: Path, column: str | None, id: str | None) -> Points | None:
    """Vectors in a column of lists; None when the file has only columns of numbers."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise TableError(f"{data}: Parquet needs pyarrow: pip install 'gramian[parquet]'.") from error
    try:
        file = pq.ParquetFile(data)
    except pa.ArrowInvalid as error:
        raise TableError(f"{data}: not a readable Parquet file.") from error
    if column is None and not any(hasattr(field.type, "value_type") for field in file.schema_arrow):
        return None
    total = file.metadata.num_rows
    return Points(lambda: Counted(gramian.export.from_parquet(data, column, id=id), total), None, total)
