"""Candidates in cells: those in cells that are near enough, by the codes of what is left after the center.

A cell begins at s_c = (D_c² − D_a²) / 2|μ_c − μ_a| from the query, where a is the cell of the nearest center: so far
away is the plane half way between the two centers, and in the geometry of the cells no point of cell c is nearer.
Neighbors lie in all directions, of which that to the plane is one, so most of them are found in cells with
s_c ≤ r d_k for an r well below one. It is read from items that serve as queries, under the metric of the index, so that
of the misses that ``recall`` allows no more than a share falls on cells; the codes have the rest.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gramian import linalg
from gramian.search import codes
from gramian.search.candidates import Candidates, Found
from gramian.search.cells import nearest_cells, starts_of
from gramian.search.columns import TILE, ArrangedRows
from gramian.search.encoding import Asked, Encoder
from gramian.search.items import Items
from gramian.search.rounded import RoundedRows

SHARE = 0.7
"""Part of the misses that is left to the cells."""
KS = (1, 10, 100)
"""Lengths of lists that reaches are read for."""
ASKED, KEPT = 256, 150
"""Items that serve as queries, and neighbors of each that a reach is read from."""
SURER = (0.5, 0.7, 0.8, 0.85, 0.9, 0.93, 0.95, 0.97, 0.98, 0.985, 0.99, 0.993, 0.995, 0.997, 0.999)
"""Recalls of the codes that are tried."""
SURE = 1 - 1e-6
"""Recall of the codes while they do."""
_QUERIES = 128


@dataclass(frozen=True, eq=False)
class Measured:
    """Centers under a metric: rows μ_c, B(μ_c − μ), projections and squared norms of μ_c − μ; where cells begin."""

    starts: np.ndarray
    centers: np.ndarray
    weighed: np.ndarray
    projected: np.ndarray
    sqnorms: np.ndarray
    offsets: np.ndarray

    @classmethod
    def of(cls, items: Items, encoder: Encoder) -> "Measured":
        """The cells of a snapshot."""
        centers = centers_under(items.settled)
        offsets = centers - encoder.center  # (L, p)
        weighed = np.ascontiguousarray(encoder.form.view.weigh(offsets))
        projected = (offsets @ encoder.form.projection).astype(np.float32)  # (L, b)
        return cls(starts_of(items), centers, weighed, projected, linalg.row_inner(weighed, offsets), offsets)


def centers_under(settled: dict[str, Any]) -> np.ndarray:
    """Centers in the rows that the metric sees."""
    places = settled["places"]
    return np.ascontiguousarray(settled["centers"] if places is None else places, dtype=np.float64)


class CellCandidates(Candidates):
    """The items in a mask (None: all) of an index with cells, for some queries."""

    def __init__(
        self, items: Items, encoder: Encoder, mask: np.ndarray | None, Q: Any, reach: np.ndarray, sure: np.ndarray
    ) -> None:
        self.n, self.unit, self.mask, self.items, self.encoder, self.Q = items.n, False, mask, items, encoder, Q
        self.measured = items.cached("measured", lambda: Measured.of(items, encoder))
        self.reach, self.sure = reach, sure
        rows, places, scales = stored_rows(items)
        self.stored = tuple(map(linalg.sealed, (rows, scales, places)))
        allowed = np.zeros(0, np.uint64)
        if mask is not None:
            allowed = codes.words(np.packbits(mask, bitorder="little")[None])[0]
        lows, highs = items.cached("norms of tiles", lambda: tile_norms(items["sqnorms"]))
        self.tiled = items.columns["codes"].tiles, items["sqnorms"], lows, highs, allowed

    @property
    def dtype(self) -> Any:
        """Precision in which the bits of queries are computed."""
        return self.stored[0].dtype if self.stored[0].dtype.kind == "f" else np.dtype(np.float32)

    def cells(self) -> tuple[np.ndarray, ...]:
        """Cells as the compiled loops take them."""
        one = self.measured
        return tuple(map(linalg.sealed, (one.starts, one.centers, one.weighed, one.projected, self.items["cells"])))

    def asked(self, asked: Asked, block: slice) -> tuple[np.ndarray, ...]:
        """Rows, weights, projections, D² to centers, squared gaps from the nearest one, what is visited first."""
        one, W = self.measured, asked.weights[block]
        V = np.ascontiguousarray(self.encoder.form.rows(linalg.take(self.Q, block)), dtype=np.float64)
        own = np.maximum(asked.sqnorms[block, None] + one.sqnorms - 2 * (W @ one.offsets.T), 0)  # (m, L)
        near = own.argmin(axis=1)
        apart = one.sqnorms[near, None] + one.sqnorms - 2 * (one.weighed[near] @ one.offsets.T)  # (m, L)
        home = nearest_cells(linalg.take(self.Q, block), self.items.settled["centers"])
        first = np.column_stack([near, home]).astype(np.int64)
        P = ((V - self.encoder.center) @ self.encoder.form.projection).astype(np.float32)
        return V, np.ascontiguousarray(W), P, own, np.maximum(apart, 0), first

    def all(self, asked: Asked, keep: int) -> Found:
        """Every item that may be found compared with every query."""
        chosen = np.arange(self.n) if self.mask is None else np.flatnonzero(self.mask)
        D = np.stack([self.listed(asked, q, chosen) for q in range(len(asked.sizes))])  # (m, c)
        order = np.argsort(D, axis=1, kind="stable")[:, :keep]
        rows, values, seen = self._room(len(D), keep)
        rows[:, : order.shape[1]], values[:, : order.shape[1]] = chosen[order], np.take_along_axis(D, order, axis=1)
        seen[:] = len(chosen)
        return rows, values, seen

    def scan(self, asked: Asked, k: int, keep: int, limits: np.ndarray, budget: int) -> Found:
        """What is plausible in the cells within reach, by limits of its own that lists of k were found to need."""
        from gramian._jit.cells import scan_cells

        limits = codes.angle_limits(self.encoder.form.n_bits, for_list(self.sure, k))
        rows, values, seen = self._room(len(asked.sizes), keep)
        coded, cells, reach = (*self.tiled, levels_of(limits)), self.cells(), for_list(self.reach, k)
        for start in range(0, len(seen), _QUERIES):
            block = slice(start, min(start + _QUERIES, len(seen)))
            query, found = self.asked(asked, block), (rows[block], values[block], seen[block])
            scan_cells(cells, coded, *query, asked.blurs[block], self.stored, limits, reach, k, *found)
        return rows, values, seen

    def within(self, asked: Asked, q: int, bound: float, limits: np.ndarray) -> np.ndarray:
        """Positions of the items that are plausible within a squared distance of query q."""
        from gramian._jit.cells import cells_within

        _, _, P, own, apart, first = self.asked(asked, slice(q, q + 1))
        coded, bound = (*self.tiled, levels_of(limits)), asked.blurred(q, bound)
        query = P[0], own[0], apart[0], first[0]
        return np.sort(cells_within(self.cells(), coded, *query, limits, float(self.reach.max()), bound))

    def listed(self, asked: Asked, q: int, chosen: np.ndarray) -> np.ndarray:
        """Distances of listed items to query q."""
        from gramian._jit.cells import listed_in_cells

        v, w, *_ = self.asked(asked, slice(q, q + 1))
        return listed_in_cells(np.asarray(chosen, np.int64), self.cells(), self.tiled[1], self.stored, v[0], w[0])


def stored_rows(items: Items) -> tuple[Any, np.ndarray, np.ndarray]:
    """Rows as compiled loops compare them, their places where they stand in another order, scales of rounded ones."""
    rows: Any = items["rows"] if "rows" in items.columns else items["points"]
    places, scales = np.zeros(0, np.int64), np.zeros((0, 2), np.float32)
    if isinstance(rows, RoundedRows):
        rows, scales = rows.raw, rows.scales
    if isinstance(rows, ArrangedRows):
        rows, places = rows.data, rows.places
    return rows, places, scales


def tile_norms(sqnorms: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The least and the largest length in each tile."""
    edges = np.arange(0, len(sqnorms), TILE)
    return np.sqrt(np.minimum.reduceat(sqnorms, edges)), np.sqrt(np.maximum.reduceat(sqnorms, edges))


def levels_of(limits: np.ndarray) -> np.ndarray:
    """The largest Hamming distance at which each of some cosines, from 0 to 1, is plausible."""
    from gramian._jit.cells import STEPS

    return np.searchsorted(-limits, -np.arange(STEPS + 1) / STEPS, side="right") - 1


def code_recall(recall: float) -> float:
    """What is left to the codes of the recall of an index with cells."""
    return 1 - (1 - SHARE) * (1 - recall)


def for_list(values: np.ndarray, k: int) -> float:
    """What was read for lists of each of ``KS``, for a list of k: its own, or the larger one of those next to it."""
    below, above = (int(np.searchsorted(KS, k, side)) for side in ("right", "left"))
    return float(values[max(below - 1, 0) : above + 1].max())


def calibrated(items: Items, encoder: Encoder, recall: float) -> tuple[np.ndarray, np.ndarray, float]:
    """Reach and recall of codes for lists of each of ``KS``; share of items in cells that a list of ten then visits.

    Items serve as queries, each without itself, and every cell is visited. Reach, and recall of the codes, are the
    least at which the mean share of neighbors that is missed, and one standard error of it, is at most what ``recall``
    leaves to the cells, and to the codes.
    """
    rows = linalg.spread(items.n, ASKED)
    Q, most = linalg.take(items["points"], rows), len(KS)
    candidates = CellCandidates(items, encoder, None, Q, np.full(most, np.inf), np.full(most, SURE))
    asked = encoder.ask(Q, candidates.dtype, False)
    keep = min(KEPT + 1, items.n)
    near, D, _ = candidates.scan(asked, keep, keep, codes.angle_limits(encoder.form.n_bits, SURE), 0)
    order = np.argsort(near == rows[:, None], axis=1, kind="stable")[:, : keep - 1]  # each without itself
    near, D = np.take_along_axis(near, order, axis=1), np.sqrt(np.take_along_axis(D, order, axis=1))  # (m, keep − 1)
    scores = np.concatenate([cell_scores(candidates, asked, block) for block in linalg.blocks(len(rows), 1, _QUERIES)])
    ahead = np.take_along_axis(scores, items["cells"][near].astype(np.int64), axis=1)
    needed = cosines_needed(candidates, asked, near, D)
    reach, sure = np.full(most, np.inf), np.full(most, code_recall(recall))
    for place, k in enumerate(KS):
        count = len(rows) * min(k, keep - 1)  # neighbors, of which one miss has to be seen
        if SHARE * (1 - recall) * count >= 1:
            reach[place] = least_reach(ratios(ahead, D, k), SHARE * (1 - recall))
        if (1 - SHARE) * (1 - recall) * count >= 1:
            sure[place] = least_recall(needed(k), encoder.form.n_bits, recall)
    reach[np.isinf(reach)] = reach[np.isfinite(reach)].max(initial=0.0) if np.isfinite(reach).any() else np.inf
    sizes = np.bincount(items["cells"], minlength=scores.shape[1])
    last = D[:, min(KS[1], keep - 1) - 1 : min(KS[1], keep - 1)]
    visited = (scores <= reach[1] * last) @ sizes if np.isfinite(reach[1]) else np.full(len(rows), items.n)
    return reach, sure, float(visited.mean() / items.n)


def cell_scores(candidates: CellCandidates, asked: Asked, block: slice) -> np.ndarray:
    """Distances s_c at which cells begin, 0 for those that are visited in any case, (m, L)."""
    *_, own, apart, first = candidates.asked(asked, block)
    gap = np.maximum(own - np.take_along_axis(own, first[:, :1], axis=1), 0)
    scores = np.where(gap > 0, np.inf, 0.0)
    np.divide(0.5 * gap, np.sqrt(apart), out=scores, where=apart > 0)
    np.put_along_axis(scores, first, 0.0, axis=1)
    return scores


def ratios(ahead: np.ndarray, D: np.ndarray, k: int) -> np.ndarray:
    """The reach at which a search for k meets each of k neighbors: s_c over the k-th distance in cells before c.

    ``ahead`` (m, j) are the s_c of the cells of more neighbors, ascending by their distances D. Where those before c
    are fewer than k, the last distance stands for one beyond it, which asks for more reach than is needed.
    """
    out = np.empty((len(D), min(k, D.shape[1])))
    for place in range(out.shape[1]):
        s = ahead[:, place]
        before = np.cumsum(ahead < s[:, None], axis=1) >= k  # (m, j)
        kth = np.where(before[:, -1], before.argmax(axis=1), D.shape[1] - 1)
        bound = D[np.arange(len(D)), kth]
        out[:, place] = np.where(s > 0, np.inf, 0.0)
        np.divide(s, bound, out=out[:, place], where=(bound > 0) & (s > 0) & np.isfinite(s))
    return out


def cosines_needed(
    candidates: "CellCandidates", asked: Asked, near: np.ndarray, D: np.ndarray
) -> Callable[[int], tuple[np.ndarray, np.ndarray]]:
    """For k neighbors: their Hamming distances, and the least cosines around their centers that D_k asks of them."""
    measured, items = candidates.measured, candidates.items
    blocks = linalg.blocks(len(near), 1, _QUERIES)
    parts = [candidates.asked(asked, block) for block in blocks]
    P, own = (np.concatenate([part[place] for part in parts]) for place in (2, 3))  # (m, b), (m, L)

    def needed(k: int) -> tuple[np.ndarray, np.ndarray]:
        some = near[:, :k]  # (m, k)
        cells = items["cells"][some]
        bits = codes.words(codes.pack((P[:, None] - measured.projected[cells]).reshape(cells.size, -1)))
        tiles = candidates.tiled[0][some.ravel() // TILE, :, some.ravel() % TILE]  # (m k, words)
        apart = np.bitwise_count(bits ^ tiles).sum(axis=1).reshape(some.shape)
        sizes, queries = items["sqnorms"][some], np.take_along_axis(own, cells.astype(np.int64), axis=1)
        twice = 2 * np.sqrt(sizes * queries)
        least = np.full(some.shape, -1.0)
        np.divide(sizes + queries - D[:, :k][:, -1:] ** 2, twice, out=least, where=twice > 0)
        return apart.astype(np.int64), least

    return needed


def least_recall(needed: tuple[np.ndarray, np.ndarray], n_bits: int, recall: float) -> float:
    """The least of ``SURER`` that lets through enough neighbors, at most what the codes promise on any data."""
    apart, least = needed
    for value in (share for share in SURER if share < code_recall(recall)):
        missed = (codes.angle_limits(n_bits, value)[apart] < least).mean(axis=1)
        if certain(missed, (1 - SHARE) * (1 - recall)):
            return value
    return code_recall(recall)


def certain(missed: np.ndarray, most: float) -> bool:
    """Whether a mean and one standard error of it are at most ``most``."""
    return len(missed) > 1 and bool(missed.mean() + missed.std(ddof=1) / np.sqrt(len(missed)) <= most)


def least_reach(shares: np.ndarray, misses: float) -> float:
    """The least r with mean + standard error of the share of each row above r at most ``misses``."""
    values = np.unique(np.concatenate([[0.0], shares.ravel()]))
    values = values[np.isfinite(values)]
    low, high = 0, len(values)
    while low < high:
        middle = (low + high) // 2
        enough = certain((shares > values[middle]).mean(axis=1), misses)
        low, high = (low, middle) if enough else (middle + 1, high)
    return float(values[low]) if low < len(values) else np.inf
