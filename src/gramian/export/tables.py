"""The template of all tables: a target gives how one is made and filled, and the lines of a query."""

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from gramian import _validate
from gramian.export.base import Map, Place, Reader, Target, readme
from gramian.export.points import Columns, Stream, by_angle, columns, rows
from gramian.search.row_progress import progress

OURS = {"id", "learned", "original", "norm", "size"}
"""Columns of an export."""
SCORE = {False: "{norm} - 2 * {product}", True: "{norm} - 2 * ({product} + {shift}) / {size}"}
"""d² but for a constant of the query, from the columns of the form "query", and where the angle counts."""


class TableTarget(Target):
    """Points in a table: ``id`` and ``learned`` = E(x), or another form of them.

    The template owns streaming, columns, ids, replacement, progress and README. A target gives ``opened``,
    ``existing``, ``create``, ``insert`` and ``open``, and the lines of its ``queries``.
    """

    without: tuple[str, ...] = ("source",)
    block: int | None = None
    """Rows of one request."""
    written = "table `{table}`, columns {columns}."
    queries: dict[str, str] = {}
    """The lines of a query, by form."""
    terms: dict[str, str] = {}
    """How a query of its language says ``norm``, ``size``, the ``product`` of x and q′, and the ``shift`` c."""

    live = ""
    """What a client has that is open already."""
    exact = True
    """Whether the engine gives all neighbors."""

    @property
    def example(self) -> str:  # type: ignore[override]  # a constant elsewhere
        """The same for all tables."""
        name = repr(f"items{self.suffix}")
        return f">>> gm.export.to_{self.module}(metric, np.eye(2), {name})\nPosixPath({name})"

    def connect(self, path: Any, owner: str, read_only: bool = False) -> tuple[Any, Path | None]:
        """A client, and the path that a README lies beside (None: an address)."""
        raise NotImplementedError

    def close(self, client: Any) -> None:
        """Let go of a client."""
        client.close()

    @contextmanager
    def opened(self, path: Any, owner: str, read_only: bool = False) -> Iterator[tuple[Any, Path | None]]:
        """A client while a block lasts, or longer where it was open already."""
        if self.live and hasattr(path, self.live):
            yield path, None
            return
        client, target = self.connect(path, owner, read_only)
        try:
            yield client, target
        finally:
            self.close(client)

    def existing(self, client: Any, table: str) -> dict[str, tuple[int, str]]:
        """Width and type of the columns of the table that is there; none where there is none."""
        return {}

    def create(self, sink: Any, table: str, stored: Columns) -> Any:
        """Make the table, in the place of the one that is there; what ``insert`` takes."""

    def insert(self, place: Any, ids: np.ndarray, values: dict[str, np.ndarray]) -> None:
        """Add a block of rows."""

    def finish(self, place: Any) -> None:
        """The rows are all there."""

    def fill(self, sink: Any, table: str, stored: Columns, report: Callable[[int], None]) -> None:
        """Make the table and add all rows."""
        place = self.create(sink, table, stored)
        for ids, values in stored.blocks:
            if len(ids):
                self.insert(place, ids, values)
            report(len(ids))
        self.finish(place)

    def write(
        self,
        map: Map,
        X: Stream | None,
        path: Place = None,
        *,
        ids: Any = None,
        table: str = "items",
        form: str = "vector",
        original: bool = False,
        source: str | None = None,
        verbose: bool = False,
        callback: Callable[..., Any] | None = None,
    ) -> Any:
        """See the class."""
        owner, name = map.owner, self.named(check_name(table, map.owner))
        stored = None if X is None else columns(map, rows(X, ids, owner, map.n_features, self.block), form, original)
        total = None if stored is None else stored.total
        with progress(owner, total, verbose, callback) as report, self.opened(path, owner) as (sink, target):
            if stored is None:
                self.without_rows(sink, name, map, form, source, report)
            else:
                foreign = set(self.existing(sink, name)) - OURS  # columns that no export makes
                if foreign:
                    raise ValueError(
                        f"{owner}: table {table!r} is there with the column {sorted(foreign)[0]!r}, which no export "
                        "made; name another table."
                    )
                self.fill(sink, name, stored, report)
        if target is None:
            return path
        readme(target, map, *self.lines(map, target, name, form, stored))
        return target

    def named(self, table: str) -> str:
        """The table as the engine writes its name."""
        return table

    def without_rows(
        self, sink: Any, table: str, map: Map, form: str, source: str | None, report: Callable[[int], None]
    ) -> None:
        """What a target does with X=None."""
        raise TypeError(f"{map.owner}: X must be points, got None.")

    def count(self, client: Any, table: str) -> int:
        """Number of rows."""
        raise NotImplementedError

    def vectors(self, client: Any, table: str, column: str, ids: list[Any]) -> dict[Any, Any]:
        """Stored vectors by their ids."""
        raise NotImplementedError

    def nearest(self, client: Any, table: str, Q: np.ndarray, k: int, angle: bool | None) -> list[Any]:
        """Ids of the k nearest of E(q); of rows (q′, c) where ``angle`` says whether an angle counts."""
        raise NotImplementedError

    def open(self, path: Any, map: Map, table: str | None, form: str) -> Reader:
        name, column = table or "items", "learned" if form == "vector" else "original"
        stack = ExitStack()
        client, _ = stack.enter_context(self.opened(path, "check", read_only=True))  # open as long as the reader is
        columns = self.existing(client, name)
        if column not in columns:
            stack.close()
            raise ValueError(f"check: table {name!r} has no column {column!r}; export to it first.")
        angle = by_angle(map) if form == "query" else None

        def fetch(ids: np.ndarray) -> np.ndarray:
            values = self.vectors(client, name, column, ids.tolist())
            return np.array([values[value] for value in ids.tolist()])

        def search(Q: np.ndarray, k: int) -> np.ndarray:
            return np.array(self.nearest(client, name, Q.astype(np.float32), k, angle))

        (width, dtype), count = columns[column], self.count(client, name)
        return Reader(width, count, search, fetch, form, column, dtype, self.exact, stack.close)

    def lines(self, map: Map, target: Path, table: str, form: str, stored: Columns | None) -> tuple[str, str]:
        """What was written, and the lines of a query."""
        widths = {} if stored is None else stored.widths
        shown = ", ".join(f"`{name}`" for name in ["id", *widths])
        width = map.n_features if form == "query" else map.width  # of the vectors that are asked for
        facts = {"name": target.name, "table": table, "width": width, "metric": map.loading(target)}
        if form == "query":
            facts["score"] = SCORE[by_angle(map)].format(**self.terms).format(**facts)
            facts["given"] = "q[0].tolist(), float(c[0])" if by_angle(map) else "q[0].tolist()"
        return self.written.format(table=table, columns=shown, name=target.name), self.queries[form].format(**facts)


def check_name(table: str, owner: str) -> str:
    """The name of a table: a word."""
    if not isinstance(table, str) or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,62}", table):
        raise ValueError(f"{owner}: table must be a name of letters, digits and _, got {_validate.shown(table)}.")
    return table
