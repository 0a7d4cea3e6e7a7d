"""Gain in MRR on queries that were not asked before, among all documents, for ours and for what people write."""

import csv
import time
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

import gramian as gm
from benchmarks.retrieval import rivals
from benchmarks.retrieval.tasks import Pairs

RESULTS = Path(__file__).parent / "results"
COUNTS = {50: 10, 200: 10, 1000: 10, 5000: 10}
"""Pairs, and draws of them."""
FIELDS = ("task", "half", "side", "method", "pairs", "draw", "plain", "gain", "error", "seconds")

Mapped = tuple[np.ndarray, np.ndarray]


def ours(Q: np.ndarray, D: np.ndarray, both: bool, seed: int) -> Callable[[np.ndarray, np.ndarray], Mapped]:
    """QueryAdapter as it is."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        adapter = gm.QueryAdapter("both" if both else "query").fit(Q, D)
    return lambda X, Y: (adapter.transform_queries(X), adapter.transform(Y))


def by(W: np.ndarray, both: bool) -> Callable[[np.ndarray, np.ndarray], Mapped]:
    """A rival's matrix."""
    return lambda X, Y: rivals.mapped(W, X, Y, both)


METHODS: dict[str, Callable] = {
    "QueryAdapter": ours,
    "adapter": lambda Q, D, both, seed: by(rivals.train(Q, D, both, rivals.RATE, rivals.EPOCHS, seed), both),
    "adapter, tuned": lambda Q, D, both, seed: by(rivals.tuned(Q, D, both, seed), both),
    "ridge": lambda Q, D, both, seed: by(rivals.ridge(Q, D), False),
}


def run(task: Pairs, pairs: int, draw: int, half: str, methods: Iterable[str] = tuple(METHODS)) -> list[dict]:
    """Rows of one draw, for each side and method."""
    asked = task.reported if half == "reported" else task.developing
    rows = np.random.default_rng([draw, pairs]).permutation(task.pool(asked))[:pairs]
    plain = rivals.reciprocal_ranks(task.Q[asked], task.D, asked)
    table = []
    for both in (False, True):
        for method in methods:
            if method == "ridge" and both:
                continue
            start = time.process_time()
            function = METHODS[method](task.Q[rows], task.D[rows], both, draw)
            seconds = time.process_time() - start
            gain = rivals.reciprocal_ranks(*function(task.Q[asked], task.D), asked) - plain
            table.append(
                dict(zip(FIELDS, (
                    task.name, half, "both" if both else "query", method, pairs, draw, round(float(plain.mean()), 4),
                    round(float(gain.mean()), 5), round(float(gain.std() / np.sqrt(len(gain))), 5), round(seconds, 2),
                )))
            )  # fmt: skip
    return table


def read(path: Path) -> list[dict]:
    """Rows that were recorded."""
    if not path.is_file():
        return []
    with open(path, newline="") as stream:
        return list(csv.DictReader(stream))


def record(path: Path, rows: list[dict]) -> None:
    """Add rows to a record."""
    path.parent.mkdir(exist_ok=True)
    new = not path.is_file()
    with open(path, "a", newline="") as stream:
        writer = csv.DictWriter(stream, FIELDS, lineterminator="\n")
        if new:
            writer.writeheader()
        writer.writerows(rows)


def summary(rows: list[dict]) -> str:
    """A table in Markdown: mean gain over draws ± its standard error over draws."""
    cells: dict[tuple, list[float]] = {}
    for row in rows:
        key = row["task"], int(row["pairs"]), row["side"], row["method"]
        cells.setdefault(key, []).append(float(row["gain"]))
    methods = [method for method in METHODS if any(key[3] == method for key in cells)]
    lines = ["| task | pairs | side | draws | " + " | ".join(methods) + " |", "| --- " * (4 + len(methods)) + "|"]
    for task, pairs, side in sorted({key[:3] for key in cells}):
        texts = []
        for method in methods:
            gains = cells.get((task, pairs, side, method), [])
            error = np.std(gains, ddof=1) / np.sqrt(len(gains)) if len(gains) > 1 else np.nan
            texts.append(f"{np.mean(gains):+.4f} ± {error:.4f}" if gains else "")
        draws = max(len(cells.get((task, pairs, side, method), [])) for method in methods)
        lines.append(f"| {task} | {pairs} | {side} | {draws} | " + " | ".join(texts) + " |")
    return "\n".join(lines)
