"""One set of vectors under five meanings, as labels say: what programs are for, work with, look like, and more."""

from typing import Any

from benchmarks.effect.protocol import table
from benchmarks.effect.tasks import MEANINGS

TITLE = "One set of vectors, five meanings"
NOTES = """
7,000 descriptions of programs as vectors of all-MiniLM-L6-v2, and five questions that people ask of them: what a
program is for, what it works with, how it looks, in what language it is written, and under which section it stands. The
vectors are the same for all; the labels say which question is meant. Nothing was chosen on them.
"""


def run(quick: bool = False) -> list[dict[str, Any]]:
    """Rows of the five tasks."""
    return table(MEANINGS, "effect_meanings", quick)
