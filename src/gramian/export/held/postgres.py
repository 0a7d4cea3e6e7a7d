"""A table of Postgres, on a server or in an embedded one that runs a written script, as the check asks it."""

import subprocess
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from gramian.export.places import needs


class HeldPgvector:
    """A written script, run in an embedded Postgres (pgserver), or a table of a server, as the check asks it."""

    dtype, exact = "float32", True

    def __init__(self, path: Any, width: int, table: str = "items", form: str = "vector"):
        psycopg = needs("psycopg", "check", "pgvector")
        self.takes, self.table = form, table
        self.column = "learned" if form == "vector" else "original"
        self.stack = ExitStack()
        address = str(path)
        if "://" not in address:
            address = self.stack.enter_context(embedded(Path(path)))
        self.connection = self.stack.enter_context(psycopg.connect(address, autocommit=True))
        found = self.connection.execute(
            "select atttypmod from pg_attribute where attrelid = to_regclass(format('%%I', %s::text)) and attname = %s",
            [table, self.column],
        ).fetchone()
        if found is None:
            self.close()
            raise ValueError(f"check: table {table!r} has no column {self.column!r}; export to it first.")
        self.width = int(found[0])
        self.count = self.connection.execute(f'select count(*) from "{table}"').fetchone()[0]  # type: ignore[index]

    def fetch(self, ids: np.ndarray) -> np.ndarray:
        """Stored vectors."""
        ask = f'select {self.column}::text from "{self.table}" where id = %s'
        texts = [self.connection.execute(ask, [name]).fetchone()[0] for name in ids.tolist()]  # type: ignore[index]
        return np.stack([np.fromstring(text[1:-1], sep=",") for text in texts])

    def search(self, Q: np.ndarray, k: int) -> np.ndarray:
        """Ids of the k nearest, by the exact scan."""
        score = {"vector": "learned <-> %s::vector", "query": "norm + 2 * (original <#> %s::vector)"}[self.takes]
        ask = f'select id from "{self.table}" order by {score} limit {k}'
        found = []
        for q in Q.astype(np.float32).tolist():
            with self.connection.transaction():
                self.connection.execute("set local enable_indexscan = off")
                found.append([row[0] for row in self.connection.execute(ask, [str(q)])])
        return np.array(found)

    def close(self) -> None:
        """Close the connection, and stop an embedded server."""
        self.stack.close()


class embedded:
    """An embedded Postgres that has run a script, while a block lasts; the value is its address."""

    def __init__(self, script: Path):
        self.script = script

    def __enter__(self) -> str:
        pgserver = needs("pgserver", "check", "engines")
        self.folder = tempfile.TemporaryDirectory()
        self.server = pgserver.get_server(self.folder.name)
        psql = Path(pgserver.__file__).parent / "pginstall" / "bin" / "psql"
        address = self.server.get_uri()
        done = subprocess.run([psql, address, "-q", "-f", self.script], capture_output=True, text=True)
        if done.returncode:
            self.__exit__()
            raise ValueError(f"check: psql stopped: {done.stderr.strip()}")
        return address

    def __exit__(self, *error: Any) -> None:
        self.server.cleanup()
        self.folder.cleanup()
