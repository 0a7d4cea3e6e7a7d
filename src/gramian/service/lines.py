"""Lines of a stream: what an event must hold, and the settings of a stream."""

import json
from typing import Any

from gramian.online import LEGO
from gramian.search.online_hashing import OnlineHashIndex
from gramian.service.store import Store

OPS = ("learn", "feedback", "add", "query", "metric")
DEFAULTS: dict[str, Any] = {"eta": "auto", "n_bits": 256}
MOST_FEATURES = 4096
"""Widest vectors that are learned online: the metric has the square of it as many numbers."""


def parsed(line: str | bytes) -> dict[str, Any]:
    """The event of a line."""
    try:
        event = json.loads(line)
    except ValueError as error:
        raise ValueError(f"event must be one line of JSON, got {error}.") from error
    if not isinstance(event, dict) or event.get("op") not in OPS:
        raise ValueError(f"event must be an object with op one of {', '.join(OPS)}, got {event!r:.80}.")
    return event


def clean(event: dict[str, Any]) -> dict[str, Any]:
    """The fields of an event that changes the state, so that the log holds nothing else."""
    if event["op"] == "add":
        if type(event["id"]) is not int or not -(2**63) <= event["id"] < 2**63:
            raise ValueError(f"id must be a 64-bit integer, got {event['id']!r}.")
        return {"op": "add", "id": event["id"], "x": vector(event, "x")}
    if event["op"] == "feedback":
        lists: dict[str, Any] = {name: ids(event, name) for name in ("liked", "disliked", "shown") if name in event}
        return {"op": "clicks", "x": vector(event, "x"), **lists}  # in a space a feedback is one click of a person
    u, v = vector(event, "u"), vector(event, "v")
    return {"op": "learn", "u": u, "v": v, "target": event["target"], "kind": event.get("kind", "equal")}


def vector(event: dict[str, Any], name: str) -> list[float]:
    """A list of numbers in an event."""
    value = event[name]
    if not isinstance(value, list) or not all(type(x) in (int, float) for x in value):
        raise ValueError(f"{name} must be a list of numbers, got {value!r:.80}.")
    if len(value) > MOST_FEATURES:
        raise ValueError(f"{name} must have at most {MOST_FEATURES} numbers, got {len(value)}; reduce them first.")
    return value


def ids(event: dict[str, Any], name: str) -> list[int]:
    """A list of ids of items in an event."""
    value = event[name]
    if not isinstance(value, list) or not all(type(one) is int for one in value):
        raise ValueError(f"{name} must be a list of ids of items, got {value!r:.80}.")
    return value


def given(eta: float | str | None, n_bits: int | None) -> dict[str, Any]:
    """Settings that were asked for."""
    return {name: value for name, value in {"eta": eta, "n_bits": n_bits}.items() if value is not None}


def settings(store: Store, wanted: dict[str, Any]) -> dict[str, Any]:
    """Settings of a stream, written once; a different value later raises."""
    text = store.setting("stream")
    if text is None:
        chosen = {**DEFAULTS, **wanted}
        check(chosen)
        with store.writing() as db:
            db.execute("INSERT INTO space VALUES ('stream', ?, NULL)", (json.dumps(chosen),))
        return chosen
    kept = json.loads(text)
    for name, value in wanted.items():
        if kept[name] != value:
            where = str(store.folder)
            raise ValueError(f"Stream: {name} must be {kept[name]!r}, with which {where!r} was made, got {value!r}.")
    return kept


def check(chosen: dict[str, Any]) -> None:
    """Raise when an index cannot be made with these settings."""
    OnlineHashIndex(LEGO(eta=chosen["eta"]).start(1), n_bits=chosen["n_bits"])
