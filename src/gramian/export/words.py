"""What the arguments of an export may be: one table, by their names."""

from collections.abc import Iterable
from typing import Any

from gramian._parameters import COUNT, FLAG, NONE, TEXT, Kind


def _is_open(value: Any) -> bool:
    """A path or an address, or something of another package that is open already."""
    return isinstance(value, str) or hasattr(value, "__fspath__") or type(value).__module__.split(".")[0] in PACKAGES


PACKAGES = {"faiss", "hnswlib", "lancedb", "psycopg", "pymilvus", "qdrant_client", "usearch", "duckdb", "tests"}
"""Packages of which a connection or an index may be given in place of a path."""
PLACE = Kind("a path", lambda value: not isinstance(value, str) or value != "")
"""No empty name, which would be the folder that one happens to be in; the rest is looked at by each target."""
POINTS = Kind(
    "points",
    lambda value: isinstance(value, Iterable) and not isinstance(value, str | bytes | dict | set | frozenset),
)
WORDS: dict[str, Kind] = {
    "form": TEXT,
    **dict.fromkeys(("table", "column", "id", "vector", "source", "collection"), NONE | TEXT),
    **dict.fromkeys(("n_links", "ef_construction", "dim"), NONE | COUNT),
    "block": COUNT,
    "X": NONE | POINTS,
    **dict.fromkeys(("path", "out"), PLACE),
    "original": FLAG,
    "center": NONE | Kind("numbers", lambda value: isinstance(value, Iterable)),  # looked at where the width is known
}
"""Words of all exports."""
SOURCE = {**WORDS, "path": Kind("a path or what is open already", _is_open)}
"""Words of all that reads."""
