"""Gain in MRR on queries that were not asked before, among all documents, for ours and for what people write."""

import csv
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

import gramian as gm
from benchmarks.fingerprint import code
from benchmarks.retrieval import rivals
from benchmarks.retrieval.tasks import Pairs

RECORD = Path(__file__).parent / "results" / "pairs.csv"
COUNTS = {50: 10, 200: 10, 1000: 10, 5000: 10}
"""Pairs, and draws of them."""
FIELDS = ("task", "half", "side", "method", "pairs", "draw", "plain", "gain", "error", "seconds", "code")
CELL = ("task", "half", "side", "method", "pairs", "draw")
OURS, TUNED = "QueryAdapter", "adapter, tuned"
SIDES = "query", "both"
MODULES = [f"gramian.learners.{name}" for name in ("query_adapter", "retrieval_trials", "two_sided")]
"""What computes and chooses a map; the modules below them have tests that their answers stay."""

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
    OURS: ours,
    TUNED: lambda Q, D, both, seed: by(rivals.tuned(Q, D, both, seed), both),
    "adapter": lambda Q, D, both, seed: by(rivals.train(Q, D, both, rivals.RATE, rivals.EPOCHS, seed), both),
    "ridge": lambda Q, D, both, seed: by(rivals.ridge(Q, D), False),
}


def code_of(method: str) -> str:
    """The code that a row was computed by: a rival does not change when ours does."""
    return code(MODULES if method == OURS else ("gramian.cli.linear_adapter",))


def run(task: Pairs, pairs: int, draw: int, half: str, path: Path = RECORD) -> None:
    """Record one draw for each side and method, but for what is on record already."""
    asked = task.reported if half == "reported" else task.developing
    rows = np.random.default_rng([draw, pairs, len(half)]).permutation(task.pool(asked))[:pairs]
    there = {tuple(row[name] for name in (*CELL, "code")) for row in read(path)}
    plain = None
    for side in SIDES:
        for method in METHODS:
            cell = (task.name, half, side, method, str(pairs), str(draw))
            if (*cell, code_of(method)) in there or (method == "ridge" and side == "both"):
                continue
            if plain is None:
                plain = rivals.reciprocal_ranks(task.Q[asked], task.D, asked)
            start = time.process_time()
            function = METHODS[method](task.Q[rows], task.D[rows], side == "both", draw)
            seconds = time.process_time() - start
            gain = rivals.reciprocal_ranks(*function(task.Q[asked], task.D), asked) - plain
            error = gain.std() / np.sqrt(len(gain))
            numbers = (f"{plain.mean():.4f}", f"{gain.mean():.5f}", f"{error:.5f}", f"{seconds:.2f}", code_of(method))
            record(path, dict(zip(FIELDS, (*cell, *numbers))))


def read(path: Path = RECORD) -> list[dict]:
    """Rows that were recorded."""
    if not path.is_file():
        return []
    with open(path, newline="") as stream:
        return list(csv.DictReader(stream))


def record(path: Path, row: dict) -> None:
    """Add a row to a record, in the place of an older one of the same cell."""
    path.parent.mkdir(exist_ok=True)
    rows = [other for other in read(path) if any(other[name] != row[name] for name in CELL)]
    rows.append(row)
    rows.sort(key=lambda r: (r["task"], r["half"], int(r["pairs"]), r["side"], r["method"], int(r["draw"])))
    part = path.with_suffix(".part")
    with open(part, "w", newline="") as stream:
        writer = csv.DictWriter(stream, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    part.replace(path)


def summary(rows: list[dict]) -> str:
    """A table in Markdown: mean gain over draws ± its standard error over draws, and ours less the tuned adapter."""
    cells: dict[tuple, dict[str, float]] = {}
    for row in rows:
        key = row["task"], int(row["pairs"]), row["side"], row["method"]
        cells.setdefault(key, {})[row["draw"]] = float(row["gain"])
    methods = [method for method in METHODS if any(key[3] == method for key in cells)]
    heads = ["task", "pairs", "side", "draws", *methods, "ahead of the tuned one"]
    lines = ["| " + " | ".join(heads) + " |", "| --- " * len(heads) + "|"]
    for task, pairs, side in sorted({key[:3] for key in cells}, key=lambda key: (*key[:2], SIDES.index(key[2]))):
        gains = {method: cells.get((task, pairs, side, method), {}) for method in methods}
        first, other = gains.get(OURS, {}), gains.get(TUNED, {})
        ahead = [first[draw] - other[draw] for draw in first if draw in other]
        texts = [*(shown(list(values.values())) for values in gains.values()), shown(ahead)]
        lines.append(f"| {task} | {pairs:,} | {side} | {len(first)} | " + " | ".join(texts) + " |")
    return "\n".join(lines)


def shown(values: list[float]) -> str:
    """A mean ± its standard error, where there are two or more."""
    if len(values) < 2:
        return f"{values[0]:+.4f}" if values else ""
    return f"{np.mean(values):+.4f} ± {np.std(values, ddof=1) / np.sqrt(len(values)):.4f}"


def older(rows: list[dict]) -> Iterator[dict]:
    """Rows of code that is another one now."""
    now = {method: code_of(method) for method in METHODS}
    return (row for row in rows if row["code"] != now[row["method"]])
