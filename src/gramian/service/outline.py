"""What the page says of a collection at a glance: where to begin, why two items are near, whether a version helps."""

import json
import sqlite3
from collections.abc import Sequence
from typing import Any

import numpy as np

from gramian import linalg
from gramian.metrics import Metric
from gramian.service import learning
from gramian.service.meta import NAMES, metas
from gramian.service.snapshot import Collection

SAMPLE = 500
"""Items that are looked at, evenly spaced by id."""
MOST_KINDS = 40
"""Different values of a field that sorts items into kinds."""
LEAST_COVERED = 0.6
"""Share of the items that must have such a field."""
LISTED = 12
"""Items of a first look."""
SUGGESTED = 3
"""Items that are suggested to search from."""
LONGEST = 24
"""Letters of a name that is suggested."""
NEAREST = 3
"""Liked items that an explanation names."""


def start(view: Collection) -> dict[str, Any]:
    """Fields, those that sort the items into kinds (the best first), some items of every kind, and three to begin with.

    A field is the better, the more of the variance of the vectors lies between its kinds (adjusted R²)::

        1 − (n − 1) / (n − c) · Σᵢ ‖xᵢ − mean of its kind‖² / Σᵢ ‖xᵢ − mean‖²
    """
    ids = view.ids[linalg.spread(len(view.ids), SAMPLE)]
    rows = metas(view, ids)
    fields = list(dict.fromkeys(field for row in rows for field in row))
    columns = {field: column for field in fields if (column := kinds(rows, field)) is not None}
    X = view.points(ids).astype(float)  # (m, d)
    order = sorted(columns, key=lambda field: -explained(X, columns[field][0]))
    codes = columns[order[0]][0] if order else np.zeros(len(ids), int)
    short = np.array([0 < len(name(row)) <= LONGEST for row in rows], bool)
    listed = ids[in_turn(codes, short)[:LISTED]].tolist()
    examples = ids[typical(X, codes, short)].tolist()
    return {
        "fields": fields,
        "kinds": [{"field": field, "values": columns[field][1]} for field in order],
        "listed": {"ids": listed, "meta": metas(view, listed)},
        "examples": {"ids": examples, "meta": metas(view, examples)},
        "first_at": learning.FIRST,
    }


def kinds(rows: list[dict[str, Any]], field: str) -> tuple[np.ndarray, list[Any]] | None:
    """Codes (m,) of a field, −1 where it is absent, and its values; None where it does not sort items into kinds."""
    if field in (*NAMES, "image", "keywords"):
        return None
    texts = [json.dumps(row[field]) if isinstance(row.get(field), str | int) else None for row in rows]
    values = sorted({text for text in texts if text is not None})
    present = sum(text is not None for text in texts)
    if not 2 <= len(values) <= min(MOST_KINDS, present / 3) or present < LEAST_COVERED * len(rows):
        return None
    place = {text: code for code, text in enumerate(values)}
    return np.array([-1 if text is None else place[text] for text in texts]), [json.loads(text) for text in values]


def explained(X: np.ndarray, codes: np.ndarray) -> float:
    """Adjusted share of the variance of X (m, d) that lies between kinds; items without one are a kind too."""
    n, c = len(X), len(np.unique(codes))
    within = sum(((X[codes == code] - X[codes == code].mean(axis=0)) ** 2).sum() for code in np.unique(codes))
    total = ((X - X.mean(axis=0)) ** 2).sum()
    return float(1 - (n - 1) / max(n - c, 1) * within / total) if total > 0 else 0.0


def name(row: dict[str, Any]) -> str:
    """What an item is called, empty where nothing names it."""
    return next((row[field] for field in NAMES if isinstance(row.get(field), str)), "")


def in_turn(codes: np.ndarray, short: np.ndarray) -> np.ndarray:
    """Positions so that the kinds take turns: the first item of each, then the second; short names come first."""
    turn = np.zeros(len(codes), int)
    for code in np.unique(codes):
        inside = np.flatnonzero(codes == code)
        turn[inside[np.argsort(~short[inside], kind="stable")]] = np.arange(len(inside))
    return np.lexsort((codes, turn, ~short))


def typical(X: np.ndarray, codes: np.ndarray, short: np.ndarray) -> list[int]:
    """Positions of a few items: of each of the largest kinds the one nearest to its mean, with a short name."""
    positions = []
    for code in sorted(np.unique(codes), key=lambda code: -(codes == code).sum())[:SUGGESTED]:
        inside = np.flatnonzero(codes == code)
        inside = inside[short[inside]] if short[inside].any() else inside
        positions.append(int(inside[((X[inside] - X[codes == code].mean(axis=0)) ** 2).sum(axis=1).argmin()]))
    return positions


def likeness(view: Collection, metric: Metric, ids: tuple[int, int], likes: Sequence[int]) -> dict[str, Any]:
    """What an item shares with a query, and the liked items it is nearest to.

    ``share`` of a field is how many of all items have that value; ``closer`` is the share of all items that are farther
    from the liked item than this one is. Both are counted in a sample.
    """
    asked, item = metas(view, ids)
    sample = view.ids[linalg.spread(len(view.ids), SAMPLE)]
    rows = metas(view, sample)
    alike = [field for field in asked if field in item and asked[field] == item[field]]
    shared = [
        {"field": f, "value": asked[f], "share": sum(row.get(f) == asked[f] for row in rows) / len(rows)}
        for f in alike
        if kinds(rows, f) is not None
    ]
    named = [like for like in dict.fromkeys([*likes, ids[0]]) if like != ids[1]]
    D = metric.sqdist(view.points(named), view.points([ids[1], *sample.tolist()])) if named else np.zeros((0, 1))
    order = np.argsort(D[:, 0], kind="stable")[:NEAREST]
    closer = (D[:, 1:] > D[:, :1]).mean(axis=1) if named else np.zeros(0)
    nearest = [{"id": named[i], "meta": metas(view, [named[i]])[0], "closer": float(closer[i])} for i in order]
    return {"shared": sorted(shared, key=lambda row: row["share"]), "nearest": nearest}


def since(db: sqlite3.Connection, view: Collection) -> dict[str, Any]:
    """How many judged results were liked since the version in use came into use, and before.

    People may ask for other things than before, so that this is a hint and no test; duels are the test.
    """
    text = "SELECT max(seq) AS seq FROM events WHERE collection = ? AND op IN ('activate', 'verdict')"
    began = db.execute(text, (view.name,)).fetchone()["seq"] or 0
    text = """
      SELECT seq > ?2 AS late, count(*) AS judged, sum(liked) AS likes FROM feedback
      WHERE collection = ?1 AND undone IS NULL GROUP BY late
    """
    counts = {row["late"]: (row["likes"], row["judged"]) for row in db.execute(text, (view.number, began))}
    before, after = (dict(zip(("likes", "judged"), counts.get(late, (0, 0)))) for late in (0, 1))
    return {"version": view.active, "seq": began, "before": before, "after": after}
