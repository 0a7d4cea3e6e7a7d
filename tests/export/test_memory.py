"""Many rows pass through in bounded memory."""

import numpy as np
import pytest
from benchmarks import harness

import gramian as gm
from tests.export.problems import linear


@pytest.mark.slow
@pytest.mark.parametrize("target", ["parquet", "pgvector", "elasticsearch"])
def test_four_times_the_rows_take_no_more_memory(target, tmp_path):
    """256 MB of rows against 64: the difference would show if either the rows or what is written were kept."""
    d, sizes = 64, (250_000, 1_000_000)
    X = np.lib.format.open_memmap(tmp_path / "X.npy", "w+", np.float32, (sizes[1], d))
    X[:] = np.linspace(-1, 1, d, dtype=np.float32)
    X.flush()

    def export(n):
        rows = np.load(tmp_path / "X.npy", mmap_mode="r")[:n]
        getattr(gm.export, f"to_{target}")(linear(d, d), rows, tmp_path / f"{n}.out")

    few, many = (harness.peak_memory(lambda n=n: export(n)) for n in sizes)
    assert many - few < 50e6
