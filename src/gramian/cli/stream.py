"""``gramian stream``: events in, answers out, nothing acknowledged is lost."""

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from gramian.cli import formats
from gramian.cli.screen import progress, say
from gramian.service import stream

EVERY = 64
"""Events between two waits for the disk in a report."""
CHECKED = 200
"""Queries of a report whose recall is measured."""


def run(state: Path, eta: float | None, bits: int | None, report: Path | None) -> None:
    """Serve standard input, or run a file and draw a report."""
    lines = None if report is None else report.read_bytes().splitlines()
    if lines is None and sys.stdin is None:
        raise ValueError("standard input is closed; pipe events into it, or give --report FILE.")
    if lines is None and sys.stdout is None:
        raise ValueError("standard output is closed, so that no event could be acknowledged; give it a place to go.")
    service = stream.Stream(state, eta, bits)
    try:
        history = None if lines is None else measure(service, lines)
        if history is None:
            stream.serve(service, sys.stdin.fileno(), sys.stdout.buffer)
    finally:
        service.close()
    if history is not None:
        _show(history, state / "report.png")


def measure(service: stream.Stream, lines: list[bytes]) -> dict[str, Any]:
    """Run all events; seconds, cumulative loss and recall along the way."""
    history: dict[str, Any] = {"second": [], "event": [], "loss": [], "recall": [], "recall_event": [], "bad": 0}
    asked = sum(b'"query"' in line for line in lines)
    start, queries, checking = time.perf_counter(), 0, 0.0
    with progress("stream", total=len(lines)) as (bar, task):
        for number, line in enumerate(lines, 1):
            answer = service.answer(line)
            history["bad"] += answer.get("ok") is False
            if "ids" in answer:
                queries += 1
                if queries % max(1, asked // CHECKED) == 0:
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


def _recall(service: stream.Stream, event: dict[str, Any], answer: dict[str, Any]) -> float:
    """Share of the true neighbors, found by comparing all items, that the answer holds."""
    D = service.index.metric_.sqdist(np.asarray([event["x"]], dtype=float), service.index.points)[0]
    edge = np.partition(D, len(answer["ids"]) - 1)[len(answer["ids"]) - 1]
    return float(np.mean(np.asarray(answer["sqdist"]) <= edge * (1 + 1e-9) + 1e-12))


def _loss(service: stream.Stream) -> float:
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
