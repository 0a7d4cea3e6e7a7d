"""Every verdict of the duels, computed again from the log alone, by events in place of tables."""

import json
import math
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from gramian.service import wealth
from gramian.service.errors import SpaceError
from gramian.service.writer import public

Event = dict[str, Any]
OPS = ("duel", "feedback", "undo", "version", "activate", "verdict")
OLDER = "by an older rule"
"""What is said of verdicts that are not computed again."""
CLOSE = 1e-9
"""Relative difference of two wealths that are the same up to rounding."""


def logged(source: Path) -> Iterator[Event]:
    """Events of a space, also while it is served, or of a file that ``gramian export`` wrote."""
    if not source.is_dir():
        with source.open(encoding="utf-8") as lines:
            yield from (json.loads(line) for line in lines if line.strip())
        return
    path = source / "space.db"
    if not path.is_file():
        raise SpaceError(f"replay: {str(source)!r} must be a space or a file of gramian export, got neither.")
    db = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
    try:
        db.row_factory = sqlite3.Row
        marks = ", ".join("?" * len(OPS))
        yield from map(public, db.execute(f"SELECT * FROM events WHERE op IN ({marks}) ORDER BY seq", OPS))
    finally:
        db.close()


def verdicts(events: Iterable[Event]) -> list[dict[str, Any]]:
    """A row for each verdict: what was recorded, what follows from the log, and whether they are the same."""
    games: dict[str, Game] = {}
    rows = []
    for event in events:
        if event["op"] in OPS:
            row = games.setdefault(event["collection"], Game()).take(event)
            rows += [row] if row else []
    return rows + [row for game in games.values() if (row := game.missing())]


@dataclass
class Game:
    """The duels of one collection so far.

    ``judged`` holds the live judgments of each item in each duel by their events, ``cast`` the vote of each duel by the
    pair of versions.
    """

    active: int = 0
    candidate: int | None = None
    choices: int = 0
    parts: list[np.ndarray] = field(default_factory=list)
    teams: dict[str, tuple[tuple[int, int], dict[int, int]]] = field(default_factory=dict)
    clicks: dict[int, tuple[str, int]] = field(default_factory=dict)
    judged: dict[str, dict[int, dict[int, int]]] = field(default_factory=dict)
    cast: dict[tuple[int, int], dict[str, float]] = field(default_factory=dict)
    before: "tuple[int, int, list[np.ndarray], str] | None" = None
    due: str | None = None

    def take(self, event: Event) -> dict[str, Any] | None:
        """What one event does; a row for a verdict, or for one that is missing before the event."""
        row = self.missing() if event["op"] != "verdict" else None
        row = getattr(self, f"_{event['op']}")(event) or row
        if event["op"] in ("feedback", "undo") and self.candidate is not None:
            self.due = wealth.decided(self.parts, self.votes(self.candidate), self.choices)
        return row

    def missing(self) -> dict[str, Any] | None:
        """A row where a verdict was due that the log does not have."""
        if self.due is None:
            return None
        verdict, self.due = self.due, None
        return self._row({"seq": None, "version": self.candidate, "verdict": None}, verdict)

    def votes(self, version: int | None) -> np.ndarray:
        """Votes of a candidate against the metric in use."""
        pair = (version if version is not None else -1, self.active)
        return np.array(list(self.cast.get(pair, {}).values()), float)

    def _duel(self, event: Event) -> None:
        sides = dict(zip(event["ids"], event["team"]))
        self.teams[event["duel_id"]] = (event["version"], event["against"]), sides

    def _feedback(self, event: Event) -> None:
        duel, item = event.get("duel_id"), event["item"]
        if duel in self.teams and self.teams[duel][1][item] in self.teams[duel][0]:
            self.clicks[event["seq"]] = (duel, item)
            said = self.judged.setdefault(duel, {}).setdefault(item, {})
            said[event["seq"]] = -1 if event["like"] is False else 1
            self._count(duel)

    def _undo(self, event: Event) -> None:
        if event["undone"] in self.clicks:
            duel, item = self.clicks.pop(event["undone"])
            del self.judged[duel][item][event["undone"]]
            self._count(duel)

    def _count(self, duel: str) -> None:
        """The vote of a duel, from the last judgment of each item."""
        pair, sides = self.teams[duel]
        last = [(said[max(said)], sides[item] == pair[0]) for item, said in self.judged[duel].items() if said]
        if last:
            self.cast.setdefault(pair, {})[duel] = wealth.vote(last)
        else:
            self.cast[pair].pop(duel, None)

    def _version(self, event: Event) -> None:
        self.before = None
        if event["status"] == "candidate":
            self._end()
            self.candidate = event["version"]

    def _activate(self, event: Event) -> None:
        self.before = None
        self.candidate = None if self.candidate == event["version"] else self.candidate
        if event["version"] != self.active:
            self.active, self.choices, self.parts = event["version"], self.choices + 1, []

    def _end(self) -> None:
        """Keep what the candidate won."""
        if self.candidate is not None and len(votes := self.votes(self.candidate)):
            self.parts = [*self.parts, wealth.log_gains(votes)]

    def _verdict(self, event: Event) -> dict[str, Any]:
        if event["verdict"] == "withdrawn":
            return self._withdrawn(event)
        computed = wealth.decided(self.parts, self.votes(event["version"]), self.choices)
        row = self._row(event, computed if "choices" in event else OLDER)
        self.before, self.due = (self.active, self.choices, self.parts, event["verdict"]), None
        if event["verdict"] == "adopted":
            self.active, self.parts = event["version"], []
        else:
            self._end()
        self.candidate = None
        return row

    def _withdrawn(self, event: Event) -> dict[str, Any]:
        verdict = None
        if self.before is not None:
            self.active, self.choices, self.parts, verdict = self.before
        self.candidate, self.before = event["version"], None
        computed = wealth.decided(self.parts, self.votes(event["version"]), self.choices)
        return self._row(event, "withdrawn" if verdict is not None and computed != verdict else computed)

    def _row(self, event: Event, computed: str | None) -> dict[str, Any]:
        """What was recorded beside what follows."""
        votes = self.votes(event["version"])
        own = math.exp(wealth.log_wealth([*self.parts, *([wealth.log_gains(votes)] if len(votes) else [])]))
        told = event.get("duels", {}).get("wealth", math.nan)
        same = computed == OLDER or (computed == event["verdict"] and abs(own - told) <= CLOSE * own)
        needed = math.exp(wealth.log_needed(self.choices))
        counts = {"votes": len(votes), "wealth": own, "needed": needed}
        return {"seq": event["seq"], "version": event["version"], **counts, "recorded": event["verdict"]} | {
            "computed": computed,
            "same": same,
        }
