"""A million rows into files and databases: rows a second, and memory beside the process itself."""

import os
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import gramian as gm
from benchmarks import harness

TITLE = "Exports of a million rows"
NOTES = """
A memory map of float32 rows to E(x) of as many coordinates, each export in a process of its own. Extra memory is the
peak of that process less that of one that exports 1,000 rows; the rows themselves are `data_GB`. Times are those of
the client: Postgres reads the script afterwards. Engines that are not installed are left out; `make exports` has them.
"""
TARGETS = {"parquet": "pyarrow", "pgvector": "pyarrow", "duckdb": "duckdb", "lancedb": "lancedb"}


def run(quick: bool = False) -> list[dict[str, Any]]:
    """One row for each engine and number of rows; the quick form has 5,000 and 20,000."""
    sizes, d = (5_000, 20_000) if quick else (250_000, 1_000_000), 64
    metric = gm.Mahalanobis(np.random.default_rng(0).normal(size=(d, d)) / np.sqrt(d))
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        source = _rows(Path(folder), max(sizes), d)
        for target in (name for name, package in TARGETS.items() if find_spec(package)):
            for n in sizes:
                facts = {"case": f"{n:,} × {d}", "method": target, "data_GB": 4 * n * d / 1e9}
                rows.append(facts | _measured(target, metric, source, n, folder))
    return rows


def _rows(folder: Path, n: int, d: int) -> Path:
    """Normal rows on disk, drawn block by block."""
    rng = np.random.default_rng(0)
    X = np.lib.format.open_memmap(folder / "rows.npy", "w+", np.float32, (n, d))
    for start in range(0, n, 10_000):
        block = X[start : start + 10_000]
        block[:] = rng.normal(size=block.shape)
    X.flush()
    return folder / "rows.npy"


def _measured(target: str, metric: Any, source: Path, n: int, folder: str) -> dict[str, Any]:
    function, suffix = getattr(gm.export, f"to_{target}"), gm.export.TARGETS[target].suffix

    def export(count: int) -> None:
        function(metric, np.load(source, mmap_mode="r")[:count], Path(folder) / f"{count}{suffix}")

    before = harness.peak_memory(lambda: export(1000))
    start = _children()
    peak = harness.peak_memory(lambda: export(n))
    seconds = _children() - start
    return {"cpu_s": seconds, "rows_per_s": n / seconds, "extra_GB": (peak - before) / 1e9}


def _children() -> float:
    """CPU seconds of all child processes that have ended."""
    times = os.times()
    return times.children_user + times.children_system
