"""The half of the tasks on which nothing was chosen."""

from typing import Any

from benchmarks.effect.protocol import table
from benchmarks.effect.tasks import REPORTED

TITLE = "Reported half"
NOTES = "No setting was chosen on these tasks: " + "; ".join(REPORTED) + "."


def run(quick: bool = False) -> list[dict[str, Any]]:
    """Rows of the reported half."""
    return table(REPORTED, "effect_reported", quick)
