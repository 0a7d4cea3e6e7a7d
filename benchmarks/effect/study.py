"""Every method on every task, label count and draw: cells that are kept in a CSV file, so that a run can be resumed."""

import csv
import hashlib
import os
import resource
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

import gramian as gm
from benchmarks import harness
from benchmarks.effect import ours, peers, rivals
from benchmarks.effect.draws import draws, precision
from benchmarks.effect.summary import BASELINE
from benchmarks.effect.tasks import LABELS, Task, load

DRAWS = 10
MINUTES = float(os.environ.get("GRAMIAN_EFFECT_MINUTES", "inf"))
"""Minutes after which a run stops with what it has; the next one goes on from there. 0 only puts it together."""
LIMIT = 5
"""CPU seconds that a cell may take; one that takes longer is left empty."""
LONGER = {"AutoMetric": 60}
"""Methods that try many others may take longer."""
WIDEST_PEERS = 100
"""Columns up to which metric-learn is tried: with 384 of them and 5 labels it takes more than 10 CPU seconds."""

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


def fill(tasks: tuple[str, ...], quick: bool = False) -> None:
    """Compute what is not on record, draw by draw and few labels first, so that all tasks and counts get on together.

    The quick form has one draw with five labels in each class.
    """
    if MINUTES <= 0:
        return
    warm_up()
    began = time.monotonic()
    for seed, count in product(range(1 if quick else DRAWS), LABELS[:1] if quick else LABELS):
        for task in tasks:
            if not len(load(task).among(count)):
                continue
            known = _recorded(_file(task))
            for method in _suited(methods(quick), load(task)):
                if time.monotonic() - began > 60 * MINUTES:
                    return
                key = (str(count), str(seed), method.name, method.version)
                if key not in known and not hopeless(known.values(), count, method):
                    row = {"labels": count, "draw": seed, "method": method.name, "version": method.version}
                    seconds = LONGER.get(method.name, LIMIT)
                    _record(_file(task), row | limited(partial(cell, task, count, seed, method), seconds))


def hopeless(cells: Iterable[dict[str, Any]], count: int, method: Method) -> bool:
    """Whether a method gave nothing at another draw of this count, or at every draw of a smaller one.

    One empty draw leaves its place on the page empty whatever the others say, so that time goes where it informs.
    """
    found: dict[int, list[bool]] = {}
    for cell in cells:
        if (cell["method"], cell["version"]) == (method.name, method.version):
            found.setdefault(int(cell["labels"]), []).append(not cell["seen"])
    return any(found.get(count, [])) or any(all(empty) for labels, empty in found.items() if labels < count)


def on_record(task: str, quick: bool = False) -> Iterator[dict[str, Any]]:
    """Cells of the methods as they are now, those draws only that have the features as they are."""
    known = _recorded(_file(task))
    current = {(method.name, method.version): method for method in methods(quick)}
    drawn = {(labels, draw) for labels, draw, name, _ in known if name == BASELINE}
    for (labels, draw, name, version), row in sorted(known.items(), key=lambda item: int(item[0][0])):
        method = current.get((name, version))
        if method is not None and (labels, draw) in drawn and int(draw) < (1 if quick else DRAWS):
            yield {"task": task, "ours": method.ours, **row}


def _suited(found: list[Method], task: Task) -> list[Method]:
    """metric-learn takes longer than the limit on many columns, whatever the labels."""
    wide = task.X.shape[1] > WIDEST_PEERS
    return [method for method in found if not (wide and method.version == peers.VERSION)]


def _file(task: str) -> Path:
    return harness.PARTS / "effect" / f"{hashlib.sha256(task.encode()).hexdigest()[:12]}.csv"


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
