"""``gramian serve`` and the commands around a space: backup, restore, compact, and events as JSON lines."""

import asyncio
import logging
import os
import re
import sys
import threading
import urllib.request
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from gramian import _validate
from gramian._threads import one_blas_thread
from gramian.cli import formats
from gramian.cli.screen import progress, say
from gramian.cli.tables import TableError, read_columns
from gramian.persist import replacing

EMBEDDED = 100
"""Coordinates of texts that come without vectors."""

VARIABLE = "GRAMIAN_TOKEN"
"""Variable of the environment with tokens, one on each line."""


@dataclass(frozen=True)
class Files:
    """What a new space is filled from, and what its collection is called."""

    data: Path | None
    meta: Path | None
    images: Path | None
    texts: str | None
    name: str | None


def tokens(named: list[str], file: Path | None) -> list[str]:
    """Tokens of the command line, of a file and of the environment."""
    texts = {} if file is None else {str(file): file.read_text(encoding="utf-8")}
    if VARIABLE in os.environ:
        texts[VARIABLE] = os.environ[VARIABLE]
    for place, text in texts.items():
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        if not lines:
            raise ValueError(f"serve: {place} must hold a token, ROLE:SECRET, got nothing; remove it or fill it in.")
        named = [*named, *lines]
    return named


@contextmanager
def _indexes(dask: str | None, folder: Path) -> Iterator[None]:
    """Indexes of collections in this process, or on the workers of a Dask cluster."""
    if dask is None:
        yield
        return
    from gramian.service.snapshot import on_cluster

    with on_cluster(dask, folder / "shards"):
        yield


def run(
    files: Files,
    space: Path | None,
    *,
    learning: bool,
    learner: str,
    browser: bool,
    dask: str | None = None,
    encoder: str | None = None,
    **server: Any,
) -> None:
    """Open a space, fill it from files when it is new, and serve it until Ctrl-C."""
    from gramian.service import http, sources
    from gramian.service.space import Space

    path, folder = _places(files, space)
    model = None if encoder is None else _model(encoder)
    source = None if path is None else _source(files, model)
    with _indexes(dask, folder), Space(folder, learning=learning, learner=learner) as opened:
        name = files.name
        if path is not None:
            name = name or _name_of(path)
            _fill(opened, name, path, source)
        elif space is None and not set(opened.snapshot.collections) - set(sources.unfinished(opened)):
            _demonstrate(opened, "emoji")
        if model is not None:
            _encode_with(opened, model, name)
        _introduce(opened)

        def ready(address: str) -> None:
            say.print(f"gramian serves {folder} at {address}; stop with Ctrl-C", markup=False)
            sys.stdout.flush()
            if browser and (http.app.STATIC / "index.html").is_file():
                _show(address)
            work = partial(opened.attend, "warming", "server", partial(_warm_up, opened, address))
            threading.Thread(target=work, daemon=True).start()

        pictures = None if files.images is None else sources.pictures(files.images)
        logging.getLogger("uvicorn.error").addFilter(_left_open)
        with one_blas_thread():  # small matrices: threads that wait for each other only cost
            http.serve(opened, pictures=pictures, ready=ready, **server)


def _places(files: Files, space: Path | None) -> tuple[Path | None, Path]:
    """The file that is read, if any, and the folder of the space."""
    exists = space is not None and (space / "space.db").is_file()
    path = files.data or files.meta or (None if exists else files.images)  # pictures of a space are only shown
    return path, space or (Path("gramian-space") if path is None else Path(f"{path.stem}.space"))


def _fill(space: Any, name: str, path: Path, source: Any) -> None:
    """Put what a file holds into a collection."""
    from gramian.service import sources

    with progress(f"reading {path}", total=len(source.X)) as (bar, task):
        sources.fill(space, name, source, lambda count: bar.advance(task, count))


def _name_of(path: Path) -> str:
    """What the collection of a file is called."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", path.stem).strip("-") or "items"


def _introduce(space: Any) -> None:
    """Say what is in a space, and what was not filled to its end."""
    from gramian.service import sources

    for name, rows in sources.unfinished(space).items():
        _validate.warn(
            f"serve: the filling of {name!r} was interrupted, so that it has {len(space.collection(name).ids):,} "
            f"of {rows:,} rows; start again with its file, and the rest is added."
        )
    for view in space.snapshot.collections.values():
        say.print(f"{view.name}: {len(view.ids):,} items × {view.n_features} features", markup=False)


def _model(name: str) -> Any:
    from gramian.service.models import TextEncoder

    with progress(f"loading {name}"):
        return TextEncoder.load(name)


def _encode_with(space: Any, model: Any, name: str | None) -> None:
    """Let texts be asked for in the collection of the file or the name, else in all that are as wide."""
    views = space.snapshot.collections.values()
    names = [name] if name is not None else [view.name for view in views if view.n_features == model.width]
    if not names:
        widths = ", ".join(f"{view.name!r} has {view.n_features}" for view in views) or "there is none"
        raise ValueError(f"serve: --encoder gives {model.width} numbers a text, but no collection has ({widths}).")
    for one in names:
        space.use_encoder(one, model)


def _left_open(record: logging.LogRecord) -> bool:
    """Whether a complaint of the server is about more than pages that were still open when it was asked to stop."""
    error = record.exc_info[1] if record.exc_info else None
    return not (isinstance(error, asyncio.CancelledError) or record.getMessage().startswith("Cancel "))


def _show(address: str) -> None:
    """Open a browser where there is a screen or one is named by BROWSER; some only return when they are closed."""
    screen = any(os.environ.get(name) for name in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY"))
    if screen or sys.platform in ("darwin", "win32"):
        threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()


def _warm_up(space: Any, address: str) -> None:
    """Ask once what people will ask first, so that nobody waits for compiled code, for words or for the map."""
    for view in space.snapshot.collections.values():
        sample = view.ids[:3].tolist()
        if sample:
            space.query(view.name, id=sample[0], k=24)
            space.query(view.name, id=sample[0], k=24, likes=sample[1:], dislikes=())
            for route in ("search?text=a&k=1", "map?version=live"):
                with suppress(OSError):  # where a token is needed
                    urllib.request.urlopen(f"{address}/v1/collections/{quote(view.name, safe='')}/{route}").read()


def demo_data(kind: str, folder: Path) -> None:
    """Make a demonstration and put it into a space."""
    from gramian.service.space import Space

    with Space(folder, learning=False) as opened:
        _demonstrate(opened, kind)
    say.print(f"saved {folder}; next: gramian serve --space {folder}", markup=False)


def _demonstrate(space: Any, kind: str) -> None:
    """Fill a space with a demonstration, or with scikit-learn's digits where its source cannot be had."""
    from gramian.service import demo

    with progress(f"fetching {kind}", total=1) as (bar, task):

        def step(doing: str, done: int, of: int) -> None:
            bar.update(task, description=f"{doing} {kind}", completed=done, total=of)

        try:
            message = demo.fill(space, kind, step)
        except demo.Unavailable as error:
            message = f"No {kind}: {error} In their place: {demo.fill(space, 'digits')}"
    say.print(message, markup=False)


def _source(files: Files, model: Any = None) -> Any:
    """Vectors and meta of the files that were named."""
    from gramian.service import sources

    X, extra = (None, {}) if files.data is None else _vectors(files.data)
    table = None if files.meta is None else dict(read_columns(files.meta)[0])
    if files.texts is not None:
        _as_text([table or {}, extra], files)
    columns = {**extra, **(table or {})}
    pictures = None if files.images is None else sources.pictures(files.images)
    X, looks = _made(columns, files, pictures, model) if X is None else (X, {})
    source = sources.assemble(X, extra, table, None if pictures is None else list(pictures))
    return replace(source, **looks)


def _made(columns: Any, files: Files, pictures: Any, model: Any) -> tuple[np.ndarray, dict[str, Any]]:
    """Vectors of texts or of pictures, where no file has any."""
    if files.texts is not None:
        texts = columns["text"]
        return _embedded(texts) if model is None else model.encode(texts.tolist()), {}
    if not pictures:
        path = files.data or files.meta or files.images
        raise TableError(f"{path}: vectors are needed; give a file of them, --texts COLUMN or --images DIR.")
    return _looks(pictures, columns["image"].tolist() if "image" in columns else list(pictures))


def _as_text(tables: list[dict[str, np.ndarray]], files: Files) -> None:
    """Call a column ``text``; one that was called so before is kept under another name."""
    name: Any = files.texts
    table = next((columns for columns in tables if name in columns), None)
    if table is None:
        header = ", ".join(list(chain(*tables))[:12])
        path = files.data or files.meta or files.images
        raise TableError(f"{path}: no column {name!r} for --texts; it has {header}.")
    texts = table.pop(name).astype(str)
    if "text" in table:
        free = next(word for word in ("text of the file", f"text beside {name}") if word not in table)
        table[free] = table.pop("text")
        _validate.warn(f"serve: the column 'text' is now {free!r}, since --texts {name} is shown as the text.")
    table["text"] = texts


def _looks(pictures: dict[str, Path], names: list[str]) -> tuple[np.ndarray, dict[str, Any]]:
    """Pictures without vectors: their colors and shapes, by which others can be encoded too."""
    from gramian.service import encoders
    from gramian.service.errors import SpaceError

    def pixels(name: str) -> np.ndarray:
        if name not in pictures:
            raise TableError(f"{name}: no such picture in the folder of --images.")
        try:
            return encoders.read_picture(pictures[name].read_bytes())
        except SpaceError as error:
            raise TableError(f"{pictures[name]}: not a picture that can be read.") from error

    X, encoder = encoders.looks(map(pixels, names))
    return X, {"features": encoders.LOOKS, "encoder": encoder}


def _vectors(path: Path) -> tuple[np.ndarray | None, dict[str, np.ndarray]]:
    """Vectors of a file, None without a column of numbers, and those of its columns that are not numbers."""
    if path.suffix.lower() == ".npy" and path.is_file():
        return _array(path), {}
    columns, arrays = read_columns(path)
    numbers = [name for name, column in columns.items() if column.dtype.kind in "biuf"]
    if not numbers:
        return None, dict(columns)
    X = np.column_stack([columns[name].astype(float) for name in numbers])
    text = {name: column for name, column in columns.items() if name not in numbers}
    return X, {**text, **_labels(arrays, len(X))}


def _labels(arrays: dict[str, np.ndarray], n: int) -> dict[str, np.ndarray]:
    """Arrays with a value for each of n rows."""
    return {name: array for name, array in arrays.items() if array.ndim == 1 and len(array) == n}


def _array(path: Path) -> np.ndarray:
    """The vectors of an NPY file, read as they are needed."""
    try:
        X: np.ndarray = np.load(path, mmap_mode="r", allow_pickle=False)
    except ValueError as error:
        raise TableError(f"{path}: not a readable .npy file of numbers.") from error
    if X.ndim != 2:
        raise TableError(f"{path}: needs an array of shape (n, d), got {X.shape}.")
    return X


def _embedded(texts: np.ndarray) -> np.ndarray:
    """Texts without vectors: the leading directions of their weighted words (latent semantic analysis)."""
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.preprocessing import normalize

    words = TfidfVectorizer(sublinear_tf=True, min_df=1 if len(texts) < 1000 else 3).fit_transform(texts.tolist())
    rank = min(EMBEDDED, words.shape[1] - 1, words.shape[0] - 1)
    if rank < 1:
        raise TableError("texts must hold at least two different words; give vectors instead.")
    return normalize(TruncatedSVD(rank, random_state=0).fit_transform(words))


def backup(space: Path, out: Path) -> None:
    """Copy a space into a zip file."""
    from gramian.service import archive

    done = archive.backup(space, out)
    say.print(f"{done['seq']:,} events, {done['bytes']:,} bytes, opened and checked; saved {out}", markup=False)


def restore(archived: Path, space: Path) -> None:
    """Make a space from a backup."""
    from gramian.service import archive

    say.print(f"{archive.restore(archived, space)['seq']:,} events; restored {space}", markup=False)


def compact(space: Path) -> None:
    """Give back room."""
    from gramian.service import archive

    done = archive.compact(space)
    say.print(f"{done['before']:,} → {done['after']:,} bytes", markup=False)


def verify(space: Path) -> None:
    """Say whether a space is whole."""
    from gramian.service import archive

    done = archive.verify(space)
    say.print(f"{done['seq']:,} events, {done['bytes']:,} bytes, all as they were written", markup=False)


def replay(source: Path) -> None:
    """Compute every verdict again; another one than was recorded is an error."""
    from gramian.service import replay as log

    rows = log.verdicts(log.logged(source))
    for row in rows:
        outcome = "the same" if row["same"] else f"RECORDED {row['recorded']}"
        told = f"event {row['seq']}: version {row['version']} {row['computed']}, {row['votes']} votes of its own, "
        say.print(f"{told}wealth {row['wealth']:.4g} of {row['needed']:.4g} needed; {outcome}")
    wrong = sum(not row["same"] for row in rows)
    if wrong:
        raise TableError(f"{source}: {wrong} of {len(rows)} verdicts do not follow from the log.")
    say.print(f"{len(rows)} verdicts, all as the log says")


def export_events(space: Path, out: Path | None) -> None:
    """Write the log as JSON lines."""
    from gramian.service import archive, events
    from gramian.service.space import Space

    formats.check_output(out)
    if not (space / "space.db").is_file():
        raise TableError(f"{space}: no space there; to export a metric, name a target with --to.")
    with archive.still(space) as copy, Space(copy, learning=False) as opened:
        if out is None:
            for line in events.export_events(opened):
                print(line)
            return
        with replacing(out, "export") as beside, beside.open("w", encoding="utf-8") as stream:
            stream.writelines(f"{line}\n" for line in events.export_events(opened))
        say.print(f"{opened.seq:,} events; saved {out}", markup=False)


def import_events(space: Path, source: Path) -> None:
    """Replay JSON lines into a space."""
    from gramian.service import events
    from gramian.service.space import Space

    with source.open(encoding="utf-8") as lines, Space(space, learning=False) as opened:
        done = events.import_events(opened, lines)
    say.print(f"{done['events']:,} events replayed; {space} is at event {done['seq']:,}", markup=False)
