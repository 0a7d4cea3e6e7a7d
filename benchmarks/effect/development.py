"""The half of the tasks on which settings were chosen."""

from typing import Any

from benchmarks.effect.protocol import PROTOCOL, table
from benchmarks.effect.tasks import DEVELOPMENT

TITLE = "Development half"
NOTES = PROTOCOL + "\nSettings of our learners may have been chosen on these tasks: " + "; ".join(DEVELOPMENT) + "."


def run(quick: bool = False) -> list[dict[str, Any]]:
    """Rows of the development half."""
    return table(DEVELOPMENT, "effect_development", quick)
