"""Fits over ten million points on disk, by one worker and by two, each with a gigabyte."""

import logging
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import gramian as gm
from benchmarks import harness
from gramian.dask import fit, transform

TITLE = "Fits over blocks on disk"
NOTES = """
64 features in single precision in one `.npy` file, 20 classes, processes of one thread with a memory limit of 1 GB
each. `RCA` with `anchor=0` and as it is by default, `GMML` (1,000,000 pairs) and `ITML` (100,000 pairs, 20 steps) with
`anchor=0`; `transform` to 16 coordinates is computed and summed where it is. Medians of three runs in which one and two
workers alternate. *cpu* is that of the busiest worker, *client* that of the client and scheduler with two workers,
which share the two cores with them, and *peak* the largest resident size of a worker, pages of the file included. No
number of workers makes a fit shorter than the work of its client: `GMML` and `ITML` have the rows of their pairs
gathered there, and are solved there.
"""
CLASSES, D = 20, 64


def run(quick: bool = False) -> list[dict[str, Any]]:
    """A row for each task; the quick form has 200,000 points."""
    return measured(200_000 if quick else 10_000_000, tasks, 3)


def measured(n: int, make: Any, repeats: int) -> list[dict[str, Any]]:
    """Rows of some tasks, by one worker and by two."""
    X, y = data(n)
    rng = np.random.default_rng(1)
    many, some = _pairs(np.load(y, mmap_mode="r"), n, n // 10, rng), _pairs(np.load(y, mmap_mode="r"), n, n // 100, rng)
    seen: dict[tuple[str, int], list[np.ndarray]] = {}
    peaks: dict[str, float] = {}
    for _ in range(repeats):
        for workers in (1, 2):
            with cluster(workers) as client:
                warm(client)
                for name, task in make(client, X, y, many, some).items():
                    seen.setdefault((name, workers), []).append(timed(client, task))
                    peaks[name] = max(peaks.get(name, 0), *client.run(peak).values())
    names = dict.fromkeys(name for name, _ in seen)
    return [_row(name, n, *(np.median(seen[name, w], axis=0) for w in (1, 2)), peaks[name]) for name in names]


def warm(client: Any) -> None:
    """Small work on every worker, so that all have imported what they need."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(8000, D)), rng.integers(CLASSES, size=8000)
    fit(client, gm.RCA(anchor=0), X, y, block_rows=100, sample=100)
    transform(client, gm.Mahalanobis(np.eye(D)[:16]), X, block_rows=100).sum(axis=0).compute()


def timed(client: Any, task: Callable[[], Any]) -> np.ndarray:
    """Wall seconds of a task, CPU seconds of the busiest worker, and of the client."""
    before, own, start = client.run(time.process_time), time.process_time(), time.perf_counter()
    task()
    wall, spent = time.perf_counter() - start, time.process_time() - own
    after = client.run(time.process_time)
    return np.array([wall, max(after[worker] - before[worker] for worker in after), spent])


def _row(name: str, n: int, one: np.ndarray, two: np.ndarray, largest: float) -> dict[str, Any]:
    return {
        "case": f"{n:,} × {D}",
        "task": name,
        "one_s": float(one[0]),
        "two_s": float(two[0]),
        "two / one": float(two[0] / one[0]),
        "one_cpu_s": float(one[1]),
        "two_cpu_s": float(two[1]),
        "client_cpu_s": float(two[2]),
        "peak_GB": largest,
    }


def tasks(client: Any, X: str, y: str, many: Any, some: Any) -> dict[str, Callable[[], Any]]:
    """What is timed."""
    metric = gm.Mahalanobis(np.eye(D)[:16])
    return {
        "RCA": lambda: fit(client, gm.RCA(anchor=0), X, y),
        "RCA, default": lambda: quiet(lambda: fit(client, gm.RCA(random_state=0), X, y)),
        "GMML": lambda: fit(client, gm.GMML(anchor=0), X, many),
        "ITML": lambda: fit(client, gm.ITML(anchor=0, max_iter=20), X, some),
        "transform": lambda: transform(client, metric, X).sum(axis=0).compute(),
    }


def quiet(task: Callable[[], Any]) -> Any:
    """A task that says on how many rows the weight of the prior is chosen."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return task()


@contextmanager
def cluster(workers: int, memory: str = "1GB") -> Iterator[Any]:
    """A client of so many processes."""
    from distributed import Client, LocalCluster

    logging.getLogger("distributed").setLevel(logging.ERROR)
    options = {"threads_per_worker": 1, "memory_limit": memory, "dashboard_address": ":0"}
    with (
        LocalCluster(n_workers=workers, silence_logs=logging.ERROR, **options) as processes,
        Client(processes) as client,
    ):
        yield client


def peak() -> float:
    """Largest resident size of this process, GB."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1024 / 1e9


def data(n: int) -> tuple[str, str]:
    """Files of points and labels, made once."""
    folder = harness.ROOT / "benchmarks" / ".cache"
    folder.mkdir(exist_ok=True)
    X, y = folder / f"beyond-{n}.npy", folder / f"beyond-{n}-labels.npy"
    if not (X.is_file() and y.is_file()):
        _write(X, y, n)
    return str(X), str(y)


def _write(path: Path, labels: Path, n: int) -> None:
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(CLASSES, D)).astype(np.float32)
    codes = rng.integers(CLASSES, size=n).astype(np.int32)
    out = np.lib.format.open_memmap(path, "w+", np.float32, (n, D))
    for rows in harness_blocks(n):
        out[rows] = rng.standard_normal((rows.stop - rows.start, D), np.float32) + centers[codes[rows]]
    out.flush()
    np.save(labels, codes)


def harness_blocks(n: int) -> Any:
    """Slices of 100,000 rows."""
    return (slice(start, min(start + 100_000, n)) for start in range(0, n, 100_000))


def _pairs(y: np.ndarray, n: int, count: int, rng: np.random.Generator) -> gm.Pairs:
    """Random pairs of rows with what their labels say, half of them similar at least in expectation of the classes."""
    left, right = rng.integers(n, size=(2, count))
    order = np.argsort(y[right], kind="stable")
    near = np.searchsorted(y[right][order], y[left[: count // 2]])
    right = right.copy()
    right[: count // 2] = right[order][np.minimum(near, count - 1)]
    return gm.Pairs(left, right, y[left] == y[right])
