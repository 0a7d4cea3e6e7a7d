"""Kernel coordinates of ten million points on disk, by one worker and by two."""

from collections.abc import Callable
from typing import Any

import gramian as gm
from benchmarks.beyond import blocks
from gramian.dask import fit

TITLE = "Kernel features over blocks on disk"
NOTES = """
As above: `KernelFeatures` of a Gaussian kernel, rank 100, by random pivots (`basis="random-cholesky"`). One run each.
"""


def run(quick: bool = False) -> list[dict[str, Any]]:
    """One row; the quick form has 200,000 points."""
    return blocks.measured(200_000 if quick else 10_000_000, tasks, 1)


def tasks(client: Any, X: str, *_: Any) -> dict[str, Callable[[], Any]]:
    """What is timed."""
    features = {"rank": 100, "basis": "random-cholesky", "random_state": 0}
    return {"KernelFeatures": lambda: fit(client, gm.KernelFeatures(gm.Gaussian(12.0), **features), X)}
