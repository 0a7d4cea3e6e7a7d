"""Vectors of a commercial model: few labels, and categories that nobody labeled."""

from typing import Any

from benchmarks.effect.protocol import table
from benchmarks.effect.tasks import VECTORS

TITLE = "Vectors of a commercial model"
NOTES = """
10,000 clues of a quiz as vectors of text-embedding-ada-002 (1,536 numbers), in 40 categories; nothing was chosen on
them. *New classes*: 27 categories have labels, and only points of the 13 others are searched. All methods may take four
times as long here.
"""


def run(quick: bool = False) -> list[dict[str, Any]]:
    """Rows of the one task."""
    return table(VECTORS, "effect_vectors", quick)
