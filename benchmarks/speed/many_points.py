"""A hundred thousand points of a hundred features for every estimator with its defaults."""

import inspect
from functools import partial
from typing import Any

from tests.attack import many

from benchmarks import harness

TITLE = "100,000 × 100 with defaults"
NOTES = """
Every public estimator with its defaults on 100,000 points of 100 features in ten classes of two clusters each, in a
process of its own. The aim is to end within 60 CPU seconds and 2 GB, or to say in one sentence before the work begins
why not; `python -m pytest tests/attack/test_many_points.py -m slow` asks for it. *Peak* is the largest resident size
of the process, the points and the libraries included. *precision@10* is the share of the ten nearest that have the
class of a new point, for 2,000 of them among 20,000 others; the last row has that of the plain distance. *Few*: two
labels in a hundred; *numbers*: a number in place of a class. *Says* is what a warning or a refusal said.
LaplacianEigenmaps and GeometryAwareKernel give the coordinates of a graph, which are not anchored to the plain
distance. Rows are measured one after the other, beside other work, and kept until the file of an estimator changes.
"""


def run(quick: bool = False) -> list[dict[str, Any]]:
    """A row for each estimator, and one for no learning at all."""
    lines = [many.measured(name, 5000, 20) for name in ("RCA", "NCA")] if quick else [*map(line, names())]
    plain = next(found["precision"]["plain"] for found in lines if "precision" in found)
    return [*map(row, lines), {"estimator": "none", "precision@10": plain}]


def names() -> list[str]:
    """All of them, in the order of the alphabet."""
    return sorted(many.estimators(), key=str.lower)


def line(name: str) -> dict[str, Any]:
    """What one estimator needed; kept until its file changes."""
    source = inspect.getsourcefile(many.class_of(name))
    return harness.remembered("many_points", (name, source), partial(many.measured, name))


def row(found: dict[str, Any]) -> dict[str, Any]:
    """A row of the table."""
    done = found["outcome"] == "done"
    said = [text for text in found["said"] if "stopped after" not in text]
    return {
        "estimator": found["name"].replace(":", ", "),
        "CPU s": found["cpu_s"] if done else None,
        "peak GB": found["peak_gb"] if done else None,
        "precision@10": found.get("precision", {}).get("default"),
        "says": " ".join(said if done else [found["outcome"], *said]),
    }
