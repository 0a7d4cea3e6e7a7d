"""``gramian stream``: events in, answers out, nothing acknowledged is lost."""

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import typer

from gramian.cli import formats
from gramian.cli import options as opt
from gramian.cli.screen import progress, say

EVERY = 64
"""Events between two waits for the disk in a report."""
CHECKED = 200
"""Queries of a report whose recall is measured."""


STREAM = (
    """echo '{"op": "add", "id": 1, "x": [0.5, 2]}' | gramian stream --state items""",
    "gramian stream --state items --report events.jsonl",
    "The events are add, learn, feedback, query and metric; docs/guide/online.md has their fields.",
)


def install(app: typer.Typer) -> None:
    """Add the command to an application."""
    app.command(rich_help_panel=opt.USE, epilog=opt.examples(*STREAM))(stream)


def stream(state: opt.State, eta: opt.Eta = None, bits: opt.Bits = None, report: opt.Events = None) -> None:
    """Learn from feedback and answer queries while events stream in.

    One JSON event per line in, one answer per line out; every event is on disk before it is answered.
    """
    from gramian.service.stream import Stream, serve

    lines = None if report is None else report.read_bytes().splitlines()
    if lines is None and sys.stdin is None:
        raise ValueError("standard input is closed; pipe events into it, or give --report FILE.")
    if lines is None and sys.stdout is None:
        raise ValueError("standard output is closed, so that no event could be acknowledged; give it a place to go.")
    service = Stream(state, eta, bits)
    try:
        history = None if lines is None else measure(service, lines)
        if history is None:
            serve(service, sys.stdin.fileno(), sys.stdout.buffer)
    finally:
        service.close()
    if history is not None:
        _show(history, state / "report.png")


def measure(service: Any, lines: list[bytes]) -> dict[str, Any]:
    """Run all events; seconds, cumulative loss and recall along the way."""
    history: dict[str, Any] = {"second": [], "event": [], "loss": [], "recall": [], "recall_event": [], "bad": 0}
    n_queries = sum(b'"query"' in line for line in lines)
    start, queries, checking = time.perf_counter(), 0, 0.0
    with progress("stream", total=len(lines)) as (bar, task):
        for number, line in enumerate(lines, 1):
            answer = service.answer(line)
            history["bad"] += answer.get("ok") is False
            if "ids" in answer:
                queries += 1
                if queries % max(1, n_queries // CHECKED) == 0:
                    before = time.perf_counter()
                    history["recall"].append(_recall(service, json.loads(line), answer))
                    history["recall_event"].append(number)
                    checking += time.perf_counter() - before
            if number % EVERY == 0 or number == len(lines):
                service.commit()
                history["second"].append(time.perf_counter() - start - checking)
                history["event"].append(number)
                history["loss"].append(_loss(service))
                bar.update(task, completed=number, description=_status(history))
    return history


def _recall(service: Any, event: dict[str, Any], answer: dict[str, Any]) -> float:
    """Share of the true neighbors, found by comparing all items, that the answer holds."""
    D = service.index.metric_.sqdist(np.asarray([event["x"]], dtype=float), service.index.points)[0]
    edge = np.partition(D, len(answer["ids"]) - 1)[len(answer["ids"]) - 1]  # distance of the k-th
    return float(np.mean(np.asarray(answer["sqdist"]) <= edge * (1 + 1e-9) + 1e-12))


def _loss(service: Any) -> float:
    learner = service.index.learner
    return learner.loss_ if hasattr(learner, "progress_") else 0.0


def _status(history: dict[str, Any]) -> str:
    rate = history["event"][-1] / max(history["second"][-1], 1e-9)
    recall = f", recall {np.mean(history['recall'][-20:]):.3f}" if history["recall"] else ""
    return f"{rate:,.0f} events/s, loss {history['loss'][-1]:.4g}{recall}"


def _show(history: dict[str, Any], picture: Path) -> None:
    from gramian import plotting

    if not history["event"]:
        say.print("no events")
        return
    formats.draw(plotting.stream(history), picture)
    bad = f", {history['bad']} bad lines" if history["bad"] else ""
    say.print(f"{history['event'][-1]:,} events in {history['second'][-1]:.2f} s: {_status(history)}{bad}")
    say.print(f"saved {picture}")
