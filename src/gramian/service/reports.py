r"""What a space tells about itself: items, clicks, events, versions, what changed between them, and a map.

Under M = LᵀL the map is (x − μ) P with P = LᵀV, V the two leading eigenvectors of L C Lᵀ, C the covariance of the
items: a linear picture, so nothing in it is an artifact. The map of a learned version is turned and mirrored so that
the items stay as near as they can to where plain features put them (orthogonal Procrustes)::

    max_R tr(Rᵀ Pᵀ C P₀) = Σ σ_i,     R = U Wᵀ from the singular vectors of Pᵀ C P₀
"""

import datetime
import sqlite3
from collections.abc import Sequence
from typing import Any

import numpy as np

from gramian import _validate, linalg
from gramian.metrics import Mahalanobis, Metric
from gramian.service import duels
from gramian.service.answers import MOST_K, Asker
from gramian.service.evidence import CLICKED
from gramian.service.meta import metas
from gramian.service.snapshot import Collection
from gramian.service.writer import public

COMPARED = 500
"""Items whose neighbors are compared between two versions, evenly spaced by id."""
SHOWN = 20
"""Items that a comparison names."""
MOST_GROUPS = 12
"""Groups of features that an explanation names."""


def item(view: Collection, number: int) -> dict[str, Any]:
    """An item with its vector and meta."""
    return {"id": number, "x": view.points([number])[0].tolist(), "meta": metas(view, [number])[0]}


def listed(view: Collection, metric: Metric, x: np.ndarray, ids: list[int]) -> dict[str, Any]:
    """Some items as an answer, with their squared distances from a point."""
    X = view.points(ids)  # (m, d)
    sqdist = metric.pair_sqdist(np.broadcast_to(x, X.shape), X) if ids else np.zeros(0)
    return {"ids": ids, "sqdist": sqdist.tolist(), "meta": metas(view, ids)}


def events(db: sqlite3.Connection, after: int, limit: int) -> list[dict[str, Any]]:
    """Events after a number, in their order."""
    rows = db.execute("SELECT * FROM events WHERE seq > ? ORDER BY seq LIMIT ?", (after, limit))
    return [public(row) for row in rows]


def clicks(db: sqlite3.Connection, view: Collection, after: int, limit: int) -> list[dict[str, Any]]:
    """Clicks after an event, in their order, undone ones among them."""
    text = """
      SELECT f.*, e.time FROM feedback f JOIN events e ON e.seq = f.seq
      WHERE f.collection = ? AND f.seq > ? ORDER BY f.seq LIMIT ?
    """
    return [_click(row) for row in db.execute(text, (view.number, after, limit))]


def _click(row: Any) -> dict[str, Any]:
    query = row["query_id"] if row["query_x"] is None else np.frombuffer(row["query_x"], np.float64).tolist()
    like = None if row["liked"] == CLICKED else bool(row["liked"])
    judgment = {"query": query, "item": row["item"], "like": like, "user": row["user"]}
    undone = row["undone"] is not None
    return {"seq": row["seq"], **judgment, "undone": undone, "duel_id": row["duel"], "time": row["time"]}


def ubi(click: dict[str, Any], collection: str, position: int | None) -> dict[str, Any]:
    """A click as an event of User Behavior Insights 1.3 (OpenSearch)."""
    moment = datetime.datetime.fromtimestamp(click["time"], datetime.UTC)
    query = click["query"]
    name = click["duel_id"] or (f"item-{query}" if isinstance(query, int) else f"vector-{click['seq']}")
    attributes: dict[str, Any] = {"object": {"object_id": str(click["item"]), "object_id_field": "id"}}
    attributes["position"] = {"ordinal": 0 if position is None else position}
    attributes["query"] = query
    return {
        "application": f"gramian/{collection}",
        "action_name": {True: "like", False: "dislike", None: "click"}[click["like"]],
        "query_id": name[:100],
        "client_id": (click["user"] or "anonymous")[:100],
        "timestamp": moment.isoformat().replace("+00:00", "Z"),
        "message_type": "UNDONE" if click["undone"] else "FEEDBACK",
        "event_attributes": attributes,
    }


def positions(db: sqlite3.Connection, listed: list[dict[str, Any]]) -> list[int | None]:
    """Where each click's item stood in the list that its duel showed, counted from 1; None where nobody knows."""
    shown: dict[str, list[int]] = {}
    for duel in {click["duel_id"] for click in listed} - {None}:
        row = db.execute("SELECT ids FROM duels WHERE id = ?", (duel,)).fetchone()
        shown[duel] = np.frombuffer(row["ids"], np.int64).tolist()
    return [shown[c["duel_id"]].index(c["item"]) + 1 if c["duel_id"] else None for c in listed]


def versions(db: sqlite3.Connection, view: Collection) -> dict[str, Any]:
    """All versions with their records, and which one is active."""
    listed = [_version(db, view, number) for number in sorted(view.versions)]
    return {"versions": listed, "active": view.active, "candidate": view.candidate}


def _version(db: sqlite3.Connection, view: Collection, number: int) -> dict[str, Any]:
    version = view.versions[number]
    names = ("name", "learner", "base", "events", "through", "status")
    rivals = "SELECT against FROM duels WHERE collection = ? AND version = ? AND against != version"
    row = db.execute(f"{rivals} ORDER BY seq DESC LIMIT 1", (view.number, number)).fetchone()
    record = duels.record(db, view.number, number, view.active if row is None else row["against"])
    fights = record.summary()
    if number == view.candidate:
        fights |= duels.Reign.of(db, view.name).summary(record)
    fields = {name: getattr(version, name) for name in names}
    return {"version": number, **fields, "active": number == view.active, "duels": fights}


def diff(asker: Asker, view: Collection, number: int, to: int, k: int) -> dict[str, Any]:
    """How the k nearest items of each item differ between two versions; those that changed most come first."""
    k = _validate.number(k, "Space", "k", low=1, high=MOST_K, integer=True)
    compared = view.ids[linalg.spread(len(view.ids), COMPARED)]
    sides = [asker.neighbors(view, view.version(v), compared, k) for v in (number, to)]
    rows, shares = [], []
    for own_id, before, after in zip(compared.tolist(), *sides):
        gone = [i for i in before if i not in after]
        new = [i for i in after if i not in before]
        rows.append({"id": own_id, "kept": len(before) - len(gone), "gone": gone, "new": new})
        shares.append((len(before) - len(gone)) / max(len(before), 1))
    rows.sort(key=lambda row: (row["kept"], row["id"]))
    mean = float(np.mean(shares)) if rows else 1.0
    return {"version": number, "to": to, "k": k, "compared": len(rows), "kept_share": mean, "items": rows[:SHOWN]}


def why(view: Collection, metric: Mahalanobis, ids: tuple[int, int], names: Sequence[str]) -> dict[str, Any]:
    """What each group of features adds to the squared distance of two items, and how much it usually adds.

    Equal ``names`` of features are a group. ``usual`` is the mean over random pairs, so a group far below it is what
    makes the two alike.
    """
    a, b = view.points(ids)
    if len(names) != view.n_features:
        names = [f"feature {j + 1}" for j in range(view.n_features)]
    usual = (metric.matrix * view.background.scatter).sum(axis=1)  # E[v_j (Mv)_j] over random pairs, (d,)
    shares = metric.explain(a, b)
    groups: dict[str, np.ndarray] = {}
    for name, share, mean in zip(names, shares, usual):
        groups[name] = groups.get(name, np.zeros(2)) + (share, mean)
    rows = sorted(groups.items(), key=lambda row: -abs(row[1][1]))
    if len(rows) > MOST_GROUPS:
        rest = rows[MOST_GROUPS - 1 :]
        rows[MOST_GROUPS - 1 :] = [(f"{len(rest)} others", np.sum([sums for _, sums in rest], axis=0))]
    listed = [{"name": name, "share": float(share), "usual": float(mean)} for name, (share, mean) in rows]
    return {"sqdist": float(shares.sum()), "groups": listed}


def plane(view: Collection, metric: Metric) -> np.ndarray:
    """Coordinates (n, 2) of the items under a metric, in the order of ascending ids, float32."""
    if len(view.ids) == 0:
        return np.zeros((0, 2), np.float32)
    C = view.background.scatter / 2  # (d, d)
    plain = view.versions[0].metric
    P = axes(plain.components, C)  # (d, 2)
    if metric is not plain:
        P = _aligned(axes(metric.components, C), C, P)
    Z = view.vectors.product(P)[view.rows] - view.background.center @ P
    return Z.astype(np.float32)


def axes(L: np.ndarray, C: np.ndarray) -> np.ndarray:
    """P = LᵀV (d, 2) for the two leading eigenvectors V of L C Lᵀ, their signs fixed."""
    P = L.T @ linalg.oriented(linalg.eigh(linalg.symmetrize(L @ C @ L.T))[1][:, ::-1][:, :2])
    return np.pad(P, ((0, 0), (0, 2 - P.shape[1])))


def _aligned(P: np.ndarray, C: np.ndarray, reference: np.ndarray) -> np.ndarray:
    U, _, Wt = np.linalg.svd(P.T @ C @ reference)
    return P @ (U @ Wt)
