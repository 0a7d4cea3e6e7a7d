"""Two clusterings of a million points: time, and memory beside the data."""

import os
import warnings
from typing import Any

import numpy as np

import gramian as gm
from benchmarks import harness
from gramian.datasets import two_views

TITLE = "Several clusterings of a million points"
NOTES = """
Sum of two views, 3 clusters in each, 50 dimensions, single precision; `DecorrelatedKMeans` with the penalty chosen and
one start, in a process of its own. Extra memory is the peak of that process less that of one that only holds the data.
"""


def run(quick: bool = False) -> list[dict[str, Any]]:
    """One row; the quick form has 50,000 points."""
    warnings.simplefilter("ignore")
    n = 50_000 if quick else 1_000_000
    X = two_views(n, 50, n_clusters=3, family="sum", random_state=0).X.astype(np.float32)
    before, start = harness.peak_memory(lambda: None), _children()
    peak = harness.peak_memory(lambda: gm.DecorrelatedKMeans((3, 3), n_init=1, random_state=0).fit(X))
    row = {"case": f"n = {n:,}, d = 50", "method": "DecorrelatedKMeans", "cpu_s": _children() - start, "ratio": 1.0}
    return [row | {"data_GB": X.nbytes / 1e9, "extra_GB": (peak - before) / 1e9}]


def _children() -> float:
    """CPU seconds of all child processes that have ended."""
    times = os.times()
    return times.children_user + times.children_system
