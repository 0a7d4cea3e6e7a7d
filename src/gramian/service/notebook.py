"""The page in a notebook or a browser tab, on a space that goes away with the program."""

import atexit
import io
import os
import shutil
import sys
import tempfile
import threading
import webbrowser
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gramian import _validate
from gramian.service import sources
from gramian.service.errors import SpaceError
from gramian.service.space import Space

SCREENS = ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY")
"""Variables that tell of a screen."""
LOCAL = "'self' http://localhost:* https://localhost:* http://127.0.0.1:* https://127.0.0.1:* vscode-webview:"
"""Pages that may show ours in a frame: those of notebooks on this machine."""


class Shown(Space):
    """A space with its page, which :func:`show` makes: closing it stops the server and removes what it kept.

    Attributes
    ----------
    address : str
        Of the page, for a browser on this machine.
    """

    def __init__(self, folder: Path, learner: str, height: int) -> None:
        super().__init__(folder, learner=learner)
        self.address, self._height = "", height
        self._stop = lambda: None

    def serve(self, pictures: Mapping[str, Path], port: int) -> None:
        """Answer at a port of this machine, beside the program."""
        from gramian.service.http import app

        listener = app.bind("127.0.0.1", port)
        server = app.make_server(app.create_app(self, pictures=pictures, framed=LOCAL))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)

        def stop() -> None:
            server.should_exit = True
            thread.join(timeout=2 * app.GRACE)
            listener.close()

        self._stop = stop
        thread.start()
        self.address = f"http://127.0.0.1:{listener.getsockname()[1]}"

    def close(self) -> None:
        """Stop the server, and forget the items and what was said of them; may be called twice."""
        self._stop()
        super().close()
        shutil.rmtree(self.store.folder, ignore_errors=True)

    def _repr_html_(self) -> str:
        frame = f'<iframe src="{self.address}" width="100%" height="{self._height}" style="border:0"></iframe>'
        return frame if self.alive else "closed"


def show(
    X: Any,
    meta: Any = None,
    images: Any = None,
    *,
    name: str = "items",
    features: Sequence[str] = (),
    learner: str = "gmml",
    height: int = 760,
    port: int = 0,
    browser: bool | None = None,
) -> Space:
    """Open the page on some vectors: search, press + and −, and watch the list follow.

    In a notebook the page stands below the cell, elsewhere it opens in a browser tab. The space is a real one, in a
    folder that is removed when it is closed or the program ends: ``space.query`` and ``space.learn`` work as ever.

    Parameters
    ----------
    X : array-like (n, d)
        Vectors; ids are the numbers of the rows.
    meta : data frame, dict of columns, or list of dicts, optional
        What belongs to each row; ``name`` or ``title`` names it, ``text`` is read along.
    images : folder, or a sequence of paths, bytes, PIL images or arrays (h, w) or (h, w, 3), optional
        A picture for each row; those of a folder in the order of their names, unless meta has a column ``image``.
    name : str
        Of the collection.
    features : sequence of str
        A name for each column of X; equal names are a group, by which *Why?* explains a distance.
    learner : {"gmml", "lego", "auto"}
        What learns a distance from the clicks.
    height : int
        Of the frame in a notebook, in pixels.
    port : int
        0 takes a free one.
    browser : bool, optional
        Whether to show the page at once; None shows it in a notebook, or where there is a screen.

    Returns
    -------
    space : Space
        With the page at ``space.address``; ``space.close()`` ends both.

    Examples
    --------
    >>> import gramian as gm
    >>> space = gm.service.show([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], {"name": ["a", "b", "c"]}, browser=False)
    >>> space.query("items", id=0, k=2)["ids"]
    [1, 2]
    >>> space.close()
    """
    X = _validate.points(X, "show")
    rows = _rows(meta, len(X))
    if len(features) not in (0, X.shape[1]):
        raise SpaceError(f"show: features must name each of the {X.shape[1]} columns of X, got {len(features)} names.")
    files = _pictures(images, rows)
    space = Shown(Path(tempfile.mkdtemp(prefix="gramian-")), learner, height)
    atexit.register(space.close)
    try:
        stored = _stored(files, space.store.folder / "pictures")
        sources.fill(space, name, sources.Source(X, rows, tuple(features)))
        space.serve(stored, port)
    except BaseException:
        space.close()
        raise
    _open(space, browser)
    return space


def _rows(meta: Any, n: int) -> list[dict[str, Any]]:
    """Meta as a dict for each of n rows, without gaps and in plain values."""
    if meta is None:
        return [{} for _ in range(n)]
    columns = {str(key): list(meta[key]) for key in meta} if hasattr(meta, "keys") else None
    lengths = {len(meta)} if columns is None else {len(column) for column in columns.values()}
    if lengths - {n}:
        raise SpaceError(f"show: meta must have a row for each of the {n} rows of X, got {sorted(lengths - {n})[0]}.")
    rows = list(meta) if columns is None else [dict(zip(columns, row)) for row in zip(*columns.values())]
    if not all(isinstance(row, Mapping) for row in rows):
        raise SpaceError("show: meta must be a data frame, a dict of columns, or a list of dicts.")
    return [{key: _plain(value) for key, value in row.items() if not _missing(value)} for row in rows] or [{}] * n


def _missing(value: Any) -> bool:
    return value is None or (not isinstance(value, str | list | dict) and bool(value != value))


def _plain(value: Any) -> Any:
    """A value of numpy as one of Python; what JSON does not know as text."""
    value = value.item() if isinstance(value, np.generic) else value
    return value if isinstance(value, bool | int | float | str | list | dict) else str(value)


def _pictures(images: Any, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Pictures by the names that the rows are given for them."""
    if images is None:
        return {}
    if isinstance(images, str | Path):
        files: dict[str, Any] = dict(sources.pictures(Path(images)))
        if all("image" in row for row in rows):
            return files
        names, pictures = list(files), list(files.values())
    else:
        pictures = list(images)
        names = [f"{i:07}{_suffix(picture)}" for i, picture in enumerate(pictures)]
    if len(pictures) != len(rows):
        raise SpaceError(
            f"show: images must hold a picture for each of the {len(rows)} rows of X, got {len(pictures)}."
        )
    for row, name in zip(rows, names):
        row["image"] = name
    return dict(zip(names, pictures))


def _suffix(picture: Any) -> str:
    return Path(picture).suffix.lower() if isinstance(picture, str | Path) else ".png"


def _stored(pictures: dict[str, Any], folder: Path) -> dict[str, Path]:
    """Where each picture is: files stay where they are, others are written beside the space."""
    folder.mkdir(exist_ok=True)
    places = {}
    for name, picture in pictures.items():
        if isinstance(picture, str | Path):
            places[name] = Path(picture)
            continue
        places[name] = folder / name
        places[name].write_bytes(picture if isinstance(picture, bytes) else _png(picture))
    return places


def _png(picture: Any) -> bytes:
    """A picture of PIL or an array as a PNG file; numbers with a point lie between 0 and 1 or between 0 and 255."""
    if not hasattr(picture, "save"):
        try:
            from PIL import Image
        except ImportError as error:
            raise ImportError("show: images as arrays need Pillow: pip install pillow.") from error
        pixels = np.asarray(picture)
        if pixels.ndim not in (2, 3):
            raise SpaceError(f"show: an image must have the shape (h, w) or (h, w, 3), got {pixels.shape}.")
        if pixels.dtype.kind == "f":
            pixels = pixels * (255 if pixels.size and pixels.max() <= 1 else 1)
        picture = Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))
    content = io.BytesIO()
    picture.save(content, "PNG")
    return content.getvalue()


def _open(space: Shown, browser: bool | None) -> None:
    """Show the page below the cell of a notebook, or in a tab."""
    if browser is False:
        return
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if shell is not None and hasattr(shell, "kernel"):
        from IPython.display import IFrame, display

        display(IFrame(space.address, width="100%", height=space._height))
    elif browser or any(map(os.environ.get, SCREENS)) or sys.platform in ("darwin", "win32"):
        threading.Thread(target=webbrowser.open, args=(space.address,), daemon=True).start()
