"""Codes that follow a metric, a bounded piece of work at a time.

The codes of an index stand at an anchor, the metric that they were made for. A move brings them to another metric: new
columns, named ``next:``, grow beside the old ones, and take their place once they hold all items. In between, the items
that have moved are searched under the new anchor and the others under the old one.

Which bits may have flipped is told from one byte for each bit. Bit j of x is [h_jᵀ(v − μ) ≥ 0]. Let h_j turn to h'_j,
and let e be h'_j, scaled to be as near to h_j as possible, less h_j. A positive scale flips nothing, so the bit can
have flipped only where

    |h_jᵀ(v − μ)| ≤ |eᵀ(v − μ)| ≤ |Se| · |S⁻¹(v − μ)|          (Cauchy–Schwarz, S = Σ^{1/2} of the items)

The margin of a bit, the left side over |S h_j| |S⁻¹(v − μ)|, is kept as one byte, rounded down, and compared with
sin θ_j = |Se| / |S h_j|: a filter that misses no flip. In p dimensions eᵀ(v − μ) is mostly about √p times smaller than
its bound; ``likely`` compares with 2.5 such standard deviations instead and misses about one flip in 200.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gramian import linalg
from gramian.metrics import Metric
from gramian.search.candidates import norm_classes
from gramian.search.columns import TILE, Dense, Tiles
from gramian.search.encoding import Encoder
from gramian.search.items import NEXT, Items
from gramian.search.orders import SortedOrders, drawn_bits

if TYPE_CHECKING:
    from gramian.search.online_hash_index import OnlineHashIndex

STEP, PACE = (128, 512), 4
"""A query moves at least so many items, or one in so many; up to four times that when the codes are far behind."""


def settle(encoder: Encoder, points: Any, most: int) -> dict[str, Any]:
    """An anchor at the encoder's metric; the spread of the items too, when they have at most so many coordinates."""
    V = encoder.form.rows(points)
    narrow = encoder.form.outside(points[:1]) is None and V.shape[1] <= most
    metric = encoder.form.metric
    return {
        "center": encoder.center,
        "mean": encoder.mean,
        "anchor": metric,
        "base": metric,
        "reach": np.zeros(encoder.form.n_bits),
        "spread": spread(V, encoder.center) if narrow else None,
        "move": None,
    }


def derive(settled: dict[str, Any], encoder: Encoder, base: Encoder, X: Any, threads: int) -> dict[str, Any]:
    """Columns of items at an anchor, with the margins of their bits at the base."""
    columns = encoder.columns(X, threads)
    if settled["spread"] is not None:
        V = encoder.form.rows(X)
        columns["margins"] = margin_levels(V, base.center, base.form.projection, settled["spread"])
    return columns


def start(items: Items, base: Encoder, target: Encoder, share: float, likely: bool) -> Items:
    """Begin a move; all bits are computed when more than a share of them may have flipped."""
    settled, levels = items.settled, None
    reach = settled["reach"]
    if settled["spread"] is not None:
        cosine = cosines(target.form.projection, base.form.projection, settled["spread"])
        reach = np.maximum(reach, np.where(cosine > 0, np.sqrt(1 - cosine**2), np.inf))
        levels = drift_levels(reach, len(target.center), likely)
        touched = items["margins"][:: max(1, items.n // SAMPLE)] <= levels
        levels = None if touched.mean() > share else levels
    move = {"target": target.form.metric, "levels": levels, "reach": reach}
    return replace(items, settled={**settled, "move": move}, cache=_old_classes(items))


def done(items: Items) -> int:
    """How many items have moved."""
    return items.columns[NEXT + "codes"].n if NEXT + "codes" in items.columns else 0


def step(items: Items, target: Encoder, most: int) -> tuple[Items, dict[str, int]]:
    """Move at most so many more items; counts of bits ``touched`` and ``flipped``."""
    first = done(items)
    if first == items.n:
        return deepened(items, target), {"touched": 0, "flipped": 0}
    last = min(first + most, items.n)
    chunk = linalg.take(items["points"], slice(first, last))
    tile = first - first % TILE
    old = items.columns["codes"].part(tile, last).rows[first - tile :]
    settled = items.settled
    if settled["move"]["levels"] is None:
        new = derive(settled, target, target, chunk, 1)
        touched = (last - first) * target.form.n_bits
    else:
        new, touched = _refreshed(items, target, chunk, old, first, last)
    flipped = int(np.bitwise_count(old ^ new["codes"].rows).sum())
    own = items.columns
    if NEXT + "orders" in own:
        new["orders"] = SortedOrders.of(new["codes"].rows, own[NEXT + "orders"].bits)
    grown = {
        NEXT + name: own[NEXT + name].append(rows) if first else _roomy(rows, items.n) for name, rows in new.items()
    }
    items = replace(items, columns={**own, **grown}, cache=_old_classes(items))
    whole = last == items.n and "orders" not in own
    return (_finished(items) if whole else items), {"touched": int(touched), "flipped": flipped}


def deepened(items: Items, target: Encoder) -> Items:
    """Sort one more of the orders of codes that have moved; all of them end the move."""
    own, rows, wanted = items.columns, items[NEXT + "codes"], len(items["orders"].bits)
    bits = drawn_bits(target.form.seed, target.form.n_bits, wanted)
    orders = own[NEXT + "orders"].deepened(rows, bits) if NEXT + "orders" in own else SortedOrders.of(rows, bits[:1])
    items = replace(items, columns={**own, NEXT + "orders": orders}, cache=_old_classes(items))
    return _finished(items) if len(orders.bits) == wanted else items


def _roomy(rows: Any, n: int) -> Any:
    """Column with room for n rows, so that no step has to copy those before it."""
    if isinstance(rows, Tiles):
        data = np.empty((-(-n // TILE), *rows.data.shape[1:]), np.uint64)
        data[: len(rows.data)] = rows.data
        return Tiles(data, rows.n)
    data = np.empty((n, *rows.shape[1:]), rows.dtype)
    data[: len(rows)] = rows
    return Dense(data, len(rows))


def _old_classes(items: Items) -> dict[Any, Any]:
    """What queries know of the items at the old anchor, which stay as they are until the move is over."""
    return {"old": items.cache["old"]} if "old" in items.cache else {}


def _refreshed(
    items: Items, target: Encoder, chunk: Any, old: np.ndarray, first: int, last: int
) -> tuple[dict[str, Any], int]:
    """Codes and norms of some items, of which only the bits that may have flipped are computed."""
    from gramian._jit.upkeep import refresh_bits

    V, tiles = target.form.rows(chunk), Tiles.of(old)
    rows = np.ascontiguousarray(target.form.projection.T)
    levels = items.settled["move"]["levels"]
    touched, _ = refresh_bits(items["margins"][first:last], levels, V, target.center, rows, tiles.data)
    sqnorms = target.form.view.sqnorms(np.subtract(V, target.center, dtype=np.float64))
    return {"codes": tiles, "sqnorms": np.maximum(sqnorms, 0)}, touched


def _finished(items: Items) -> Items:
    """The new columns in the place of the old ones."""
    columns = {name: part for name, part in items.columns.items() if not name.startswith(NEXT)}
    columns.update({name.removeprefix(NEXT): part for name, part in items.columns.items() if name.startswith(NEXT)})
    settled, move = items.settled, items.settled["move"]
    settled = {**settled, "anchor": move["target"], "move": None, "reach": move["reach"]}
    if move["levels"] is None:
        settled.update(base=move["target"], reach=np.zeros(len(move["reach"])))
    return replace(items, columns=columns, settled=settled, cache={})


def parts(items: Items, mask: np.ndarray | None) -> Iterator[tuple[Items, Metric, int, np.ndarray | None]]:
    """Items that stand at one anchor, that anchor, the position of the first one, and which of them may be found.

    Sorted orders are those of all items: they are asked until the orders of the codes that have moved are there.
    """
    names = {name: name for name in items.columns if not name.startswith(NEXT)}
    moved = 0 if "orders" in names else done(items)
    if moved:
        new = {NEXT + name: name for name in names if NEXT + name in items.columns}
        both = {name: name for name in names if name not in new.values() and name != "margins"} | new
        yield items.part(0, moved, both), items.settled["move"]["target"], 0, None if mask is None else mask[:moved]
    first = moved - moved % TILE
    rest = np.ones(items.n - first, bool) if mask is None else mask[first:].copy()
    rest[: moved - first] = False
    here = items.part(first, items.n, names) if moved else items
    edges, masks = items.cached("old", lambda: norm_classes(items["sqnorms"]))
    here.cache["classes"] = edges, masks[first // TILE :]
    yield here, items.settled["anchor"], first, None if rest.all() else rest


def tend(index: "OnlineHashIndex", live: Metric) -> None:
    """Move some codes of an index toward the live metric if they are stale, unless another thread is at work."""
    if index._lock.acquire(blocking=False):
        try:
            advance(index, live, force=False)
        finally:
            index._lock.release()


def advance(index: "OnlineHashIndex", live: Metric, force: bool, least: int = 0) -> dict[str, int] | None:
    """One step of a move that is under way or due; what it did, None when there was nothing to do."""
    items, anchors = index._items, index._anchors
    if items.n == 0:
        return None
    settled, points = items.settled, items["points"]
    stale = anchors.stale(settled["anchor"], live, items)
    if settled["move"] is None:
        if not force and stale <= index.tol:
            return None
        base, target = (anchors.encoder(metric, points, settled) for metric in (settled["base"], live))
        items = start(items, base, target, index.rehash_share, index.detector == "likely")
    move = items.settled["move"]
    # The further the metric has gone, the larger the steps that follow it.
    pace = min(max(stale / max(index.tol, 1e-3), 1), PACE)
    most = int(pace * max(least or STEP[0], items.n // STEP[1]))
    index._items, counts = step(items, anchors.encoder(move["target"], points, settled), most)
    rehashed = int(move["levels"] is None)
    for name, count in counts.items():
        index.stats_[name] += count
    if index._items.settled["move"] is None:
        index.stats_["moves"] += 1
        index.stats_["rehashes"] += rehashed
    return {**counts, "rehashed": rehashed}


FINEST = 127.5
"""Margin levels per standard deviation of a margin, 1/√p: a byte reaches two of them."""
LIKELY = 2.5
SAMPLE = 2000
"""Items that the spread and the expected share of touched bits are read from."""
_TINY = np.finfo(np.float32).tiny


def spread(V: np.ndarray, center: np.ndarray) -> np.ndarray:
    """S = Σ^{1/2} (p, p) of a sample of rows."""
    C = V[:: max(1, len(V) // SAMPLE)] - center
    S = C.T @ C / len(C)
    size = np.trace(S) / len(S)
    return linalg.psd_sqrt(S + 1e-3 * size * np.eye(len(S))) if size > 0 else np.eye(len(S))


def cosines(H: np.ndarray, others: np.ndarray, S: np.ndarray) -> np.ndarray:
    """Cosines between directions, the columns of H and of others, as the items see them: in the norm |S·|."""
    A, B = S @ H, S @ others
    norms = np.sqrt(linalg.row_norms(A.T) * linalg.row_norms(B.T))
    return np.clip(np.einsum("ij,ij->j", A, B) / np.maximum(norms, _TINY), -1, 1)


def margin_levels(V: np.ndarray, center: np.ndarray, H: np.ndarray, S: np.ndarray) -> np.ndarray:
    """Levels (n, b) of the margins of rows; one part in a thousand less covers the rounding of the products."""
    from gramian._jit.upkeep import scaled_levels

    p, b = H.shape
    typical = np.sqrt(np.mean(S**2))
    size = np.maximum(np.sqrt(linalg.row_norms((S @ H).T)) / typical, _TINY)
    factors = np.hstack([H / size, np.linalg.inv(S / typical)]).astype(np.float32)
    levels, unit = np.empty((len(V), b), np.uint8), 0.999 * FINEST * np.sqrt(p)
    for block in linalg.blocks(len(V), 4 * factors.shape[1], 16 << 20):
        P = ((V[block] - center) / typical).astype(np.float32) @ factors
        norms = np.sqrt(linalg.row_norms(P[:, b:]))
        # An item at the center has margin 0: its bits are always computed.
        scales = np.divide(unit, norms, out=np.zeros_like(norms), where=norms > 1e-18)
        scaled_levels(P[:, :b], scales, levels[block])
    return levels


def drift_levels(sines: np.ndarray, p: int, likely: bool) -> np.ndarray:
    """Levels (b,) up to which a margin may have been passed by directions that turned by θ."""
    return np.minimum(sines * (LIKELY if likely else np.sqrt(p)) * FINEST, 255).astype(np.uint8)
