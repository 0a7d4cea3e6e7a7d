"""Every method on every task, label count and draw: cells that are kept in a CSV file, so that a run can be resumed."""

import csv
import hashlib
import resource
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

import gramian as gm
from benchmarks import harness
from benchmarks.effect import ours, peers, rivals
from benchmarks.effect.draws import draws, precision
from benchmarks.effect.tasks import LABELS, load

DRAWS = 10
LIMIT = 10
"""CPU seconds that a cell may take; one that takes longer is left empty."""
LONGER = {"AutoMetric": 60}
"""Methods that try many others may take longer."""

COLUMNS = ("labels", "draw", "method", "version", "seen", "new", "cpu_s")


@dataclass(frozen=True)
class Method:
    """A named way from labeled points to an embedding, and the version of its code."""

    name: str
    fit: Callable[[np.ndarray, np.ndarray, int], Callable]
    version: str
    ours: bool = False


def methods(quick: bool = False) -> list[Method]:
    """Rivals first, the features as they are before all, then ours; the quick form does without metric-learn."""
    root = Path(rivals.__file__).parent
    theirs = _digest([root / "rivals.py", root / "adapter.py"])
    found = [Method(name, fit, theirs) for name, fit in rivals.RIVALS.items()]
    if not quick:
        found += [Method(f"{name} (metric-learn)", fit, peers.VERSION) for name, fit in peers.available().items()]
    mine = {name: f"{gm.__version__}.{ours.VERSIONS.get(name, 1)}" for name in ours.names()}
    return found + [Method(name, partial(ours.fit, name), version, ours=True) for name, version in mine.items()]


def cells(task: str, quick: bool = False, n_draws: int = DRAWS) -> list[dict[str, Any]]:
    """Rows of all methods, label counts and draws of a task; those on record are not computed again.

    The quick form has one draw with five labels in each class.
    """
    path = harness.PARTS / "effect" / f"{hashlib.sha256(task.encode()).hexdigest()[:12]}.csv"
    warm_up()
    known, rows = _recorded(path), []
    for count, seed, method in _todo(task, quick, n_draws):
        key = (str(count), str(seed), method.name, method.version)
        if key not in known:
            row = {"labels": count, "draw": seed, "method": method.name, "version": method.version}
            seconds = LONGER.get(method.name, LIMIT)
            known[key] = _record(path, row | limited(partial(cell, task, count, seed, method), seconds))
        rows.append({"task": task, "ours": method.ours, **known[key]})
    return rows


def _todo(task: str, quick: bool, n_draws: int) -> Iterator[tuple[int, int, Method]]:
    for count in LABELS[:1] if quick else LABELS:
        if len(load(task).among(count)):
            for seed in range(1 if quick else n_draws):
                for method in methods(quick):
                    yield count, seed, method


def cell(task: str, labels: int, seed: int, method: Method) -> dict[str, float]:
    """Precision on unseen points and on classes without labels, and the CPU seconds of the first fit."""
    data, result = load(task), {}
    for kind, draw in draws(data, labels, seed).items():
        start = harness.cpu_seconds()
        embed = method.fit(data.X[draw.train], data.y[draw.train], seed)
        result.setdefault("cpu_s", harness.cpu_seconds() - start)
        result[kind] = precision(embed, data.X[draw.search], data.y[draw.search])
    return result


def limited(fn: Callable[[], dict[str, Any]], seconds: int = LIMIT) -> dict[str, Any]:
    """``fn()`` in a process of its own, nothing when it fails or takes more than so many CPU seconds."""
    context = get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_send, args=(fn, sender, seconds))
    child.start()
    sender.close()
    try:
        result = receiver.recv()
    except EOFError:
        result = {}
    child.join()
    return result


def _send(fn: Callable[[], dict[str, Any]], sender: Any, seconds: int) -> None:
    from threadpoolctl import threadpool_limits

    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    with threadpool_limits(1):
        sender.send(fn())


@cache
def warm_up() -> None:
    """Compile the loops of our learners once, before processes are forked."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 3)), np.repeat([0, 1, 2], 20)
    warnings.simplefilter("ignore")
    for name in ours.names():
        limited(partial(_compiled, name, X, y), seconds=60) and _compiled(name, X, y)


def _compiled(name: str, X: np.ndarray, y: np.ndarray) -> dict[str, bool]:
    ours.fit(name, X, y, 0)
    return {"compiled": True}


def _digest(paths: list[Path]) -> str:
    text = "\n".join(path.read_text(encoding="utf-8") for path in paths)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _recorded(path: Path) -> dict[tuple[str, ...], dict[str, Any]]:
    if not path.is_file():
        return {}
    with path.open(newline="", encoding="utf-8") as stream:
        return {tuple(row[k] for k in COLUMNS[:4]): row for row in csv.DictReader(stream)}


def _record(path: Path, row: dict[str, Any]) -> dict[str, Any]:
    """Append a row to the file of cells."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = not path.is_file()
    with path.open("a", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
        if fresh:
            writer.writeheader()
        writer.writerow(row)
    return {k: "" if row.get(k) is None else str(row[k]) for k in COLUMNS}
