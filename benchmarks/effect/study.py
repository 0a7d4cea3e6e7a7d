"""Every method on every task, label count and draw: cells that are kept in CSV files, so that runs add up."""

import hashlib
import os
import resource
import signal
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

import gramian as gm
from benchmarks import harness
from benchmarks.effect import cells, ours, peers, posteriors, rivals
from benchmarks.effect.draws import draws, precision
from benchmarks.effect.summary import BASELINE
from benchmarks.effect.tasks import Task, load

PLAN = ((5, 3), (20, 1), (100, 1), (20, 3), (5, 5), (20, 5), (100, 3), (5, 10), (20, 10), (100, 10))
"""Label counts and draws to have of them, one step after the other: what is cheap and tells most comes first."""
MINUTES = float(os.environ.get("GRAMIAN_EFFECT_MINUTES", "inf"))
"""Minutes after which a run stops with what it has; the next one goes on from there. 0 only puts it together."""
ASKED = os.environ.get("GRAMIAN_EFFECT_METHODS", "")
"""Methods to fill cells of, with commas between them, or after a "-" those to leave out; all when empty."""
LIMIT = 20
"""CPU seconds that a cell may take; one that takes longer stays empty and says so."""
LONGER = {"AutoMetric": 60}
"""Methods that try many others may take longer."""
FRONT = "AutoMetric"
WIDE = {"quiz, vectors of a commercial model": 4}
"""Tasks on which all may take so many times as long: 4,000 labeled points of 1,536 columns."""
WIDEST_PEERS = 100
"""Columns up to which metric-learn is tried: with 384 of them and 5 labels it takes more than 10 CPU seconds."""


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
    later = _digest([root / "posteriors.py"])
    found += [Method(name, fit, later) for name, fit in posteriors.RIVALS.items()]
    if not quick:
        found += [Method(f"{name} (metric-learn)", fit, peers.VERSION) for name, fit in peers.available().items()]
    mine = {name: f"{gm.__version__}.{ours.VERSIONS.get(name, 1)}" for name in ours.names()}
    return found + [Method(name, partial(ours.fit, name), version, ours=True) for name, version in mine.items()]


def fill(tasks: tuple[str, ...], quick: bool = False) -> None:
    """Compute what is not on record, step by step of the plan; the quick form has one draw with five labels."""
    if MINUTES <= 0:
        return
    warm_up()
    ending = time.monotonic() + 60 * MINUTES
    for count, draws_of_it in ((5, 1),) if quick else PLAN:
        for seed, task in ((seed, task) for seed in range(draws_of_it) for task in tasks):
            if len(load(task).among(count)) and not _fill(task, count, seed, quick, ending):
                return


def _fill(task: str, count: int, seed: int, quick: bool, ending: float) -> bool:
    """One draw of one task; whether there was time for all of it."""
    file = cells.path(task, quick)
    known = cells.recorded(file)
    for method in _suited(methods(quick), load(task)):
        key = (str(count), str(seed), method.name, method.version)
        if key in known or hopeless(known.values(), count, method):
            continue
        if time.monotonic() > ending:
            return False
        seconds = LONGER.get(method.name, LIMIT) * WIDE.get(task, 1)
        found = limited(partial(cell, task, count, seed, method), seconds)
        cells.record(file, dict(zip(cells.KEY, key)) | found)
    return True


def hopeless(known: Iterable[dict[str, Any]], count: int, method: Method) -> bool:
    """Whether a method gave nothing at another draw of this count, or at every draw of a smaller one.

    One empty draw leaves its place on the page empty whatever the others say, so that time goes where it informs.
    """
    found: dict[int, list[bool]] = {}
    for one in known:
        if (one["method"], one["version"]) == (method.name, method.version):
            found.setdefault(int(one["labels"]), []).append(not one["seen"])
    return any(found.get(count, [])) or any(all(empty) for labels, empty in found.items() if labels < count)


def on_record(task: str, quick: bool = False) -> Iterator[dict[str, Any]]:
    """Cells of the methods as they are now, of draws that have the features as they are and AutoMetric."""
    known = cells.recorded(cells.path(task, quick))
    current = {(method.name, method.version): method.ours for method in methods(quick)}
    current |= {(f"{name} (metric-learn)", peers.VERSION): False for name in peers.LEARNERS}
    has = {(labels, draw, name) for labels, draw, *method in known for name in method[:1] if tuple(method) in current}
    drawn = {key[:2] for key in has if {(*key[:2], BASELINE), (*key[:2], FRONT)} <= has}
    for (labels, draw, *method), row in sorted(known.items(), key=lambda item: (int(item[0][0]), int(item[0][1]))):
        if tuple(method) in current and (labels, draw) in drawn:
            yield {"task": task, "ours": current[tuple(method)], **row}


def _suited(found: list[Method], task: Task) -> list[Method]:
    """Those asked for; metric-learn takes longer than the limit on many columns, whatever the labels."""
    wide = task.X.shape[1] > WIDEST_PEERS
    return [method for method in found if asked(method.name) and not (wide and method.version == peers.VERSION)]


def asked(name: str, which: str = ASKED) -> bool:
    """Whether a method is among those to fill."""
    return not which or (name in which.lstrip("-").split(",")) != which.startswith("-")


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
    """``fn()`` in a process of its own; a note of why, when it fails or takes more than so many CPU seconds."""
    context = get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_send, args=(fn, sender, seconds))
    child.start()
    sender.close()
    try:
        result = receiver.recv()
    except EOFError:
        result = None
    child.join()
    if result is not None:
        return result
    late = child.exitcode in (-signal.SIGXCPU, -signal.SIGKILL)
    return {"note": f"over {seconds} s" if late else "failed"}


def _send(fn: Callable[[], dict[str, Any]], sender: Any, seconds: int) -> None:
    from threadpoolctl import threadpool_limits

    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    try:
        with threadpool_limits(1):
            sender.send(fn())
    except Exception as error:  # a peer is a process of its own, with the same limit
        late = sum(os.times()[:4]) >= 0.9 * seconds
        sender.send({"note": f"over {seconds} s" if late else f"failed: {type(error).__name__}"})


@cache
def warm_up() -> None:
    """Compile the loops of our learners once, before processes are forked."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 3)), np.repeat([0, 1, 2], 20)
    warnings.simplefilter("ignore")
    for name in ours.names():
        if "note" not in limited(partial(_compiled, name, X, y), seconds=60):
            _compiled(name, X, y)


def _compiled(name: str, X: np.ndarray, y: np.ndarray) -> dict[str, bool]:
    ours.fit(name, X, y, 0)
    return {"compiled": True}


def _digest(paths: list[Path]) -> str:
    text = "\n".join(path.read_text(encoding="utf-8") for path in paths)
    return hashlib.sha256(text.encode()).hexdigest()[:12]
