"""Which bits flip when the metric moves: a scan, margins, and the second level of hashing of the thesis."""

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import harness
from benchmarks.papers.online.second_level import SecondLevel
from gramian.search import codes, rehash
from gramian.search.orders import EPSILON, SortedOrders, drawn_bits, keys_of, n_candidates

TITLE = "Finding the bits that flip"
NOTES = """
Gaussian points in 64 dimensions, 32 bits whose directions turn a little; CPU seconds of one thread for the 32 bits,
what is listed of the items and what of the flips is among it. Listed bits must still be computed, d multiplications
each, which is in the time. *project all* computes every bit by one matrix product; *margins* reads a byte for each bit
(`detector="likely"`); *sorted margins* keeps the items of each bit in the order of their margins and reads only the
head of the list; *second level* compares 64-bit signatures of x̄ and q̄ (Jain 2009, §5.2.1) for all items, and
*second level, orders* looks them up in sorted orders as the thesis does, 2 n^{1/(1+ε)} of them in 32 orders, ε = 1.5.
*ratio* is the time over that of *project all*: below 1 a structure wins. Time to build and memory are not counted. The
orders are sublinear and win on time from a million items on, but a flip is a right angle between x̄ and q̄, not a small
one, and they find next to none. With few flips the margins win at any n; with many, one product for all items does.
"""
D, BITS = 64, 32
TURNS = {"0.2%": 0.006, "2%": 0.06}


def run(quick: bool = False) -> list[dict[str, Any]]:
    """Rows per number of items, turn and method."""
    sizes = (2000,) if quick else (10_000, 100_000, 1_000_000)
    return [row for n in sizes for row in rows(n)]


def rows(n: int) -> list[dict[str, Any]]:
    """All methods at one size."""
    rng = np.random.default_rng(0)
    X, H = rng.standard_normal((n, D), dtype=np.float32), rng.standard_normal((BITS, D)).astype(np.float32)
    old, noise = X @ H.T >= 0, rng.standard_normal(H.shape).astype(np.float32)
    second = SecondLevel(X, np.zeros(D), H, 0, n_checked=BITS)
    S = np.eye(D)
    levels = rehash.margin_levels(X, np.zeros(D), H.T.astype(float), S).T.copy()
    order = np.argsort(levels, axis=1, kind="stable")
    ranked = np.take_along_axis(levels, order, axis=1)
    orders = [
        SortedOrders.of(second.signatures[j][:, None], drawn_bits(j, 64, 32))
        for j in range(BITS if n <= 100_000 else 2)
    ]
    found = []
    for label, turn in TURNS.items():
        new = H + turn * noise
        flipped = old != (X @ new.T >= 0)
        cosine = rehash.cosines(new.T.astype(float), H.T.astype(float), S)
        reach = rehash.drift_levels(np.sqrt(1 - cosine**2), D, likely=True)
        lists: dict[str, Callable[[int], np.ndarray]] = {
            "margins": lambda j, reach=reach: np.flatnonzero(levels[j] <= reach[j]),
            "sorted margins": lambda j, reach=reach: order[j, : np.searchsorted(ranked[j], reach[j], "right")],
            "second level": lambda j, new=new: second.candidates(j, new[j]),
            "second level, orders": lambda j, new=new: near(orders[j], second, j, new[j]),
        }
        case = f"n = {n:,}, {label} of the bits turn over"
        whole = harness.cpu_time(lambda new=new: np.flatnonzero((X @ new.T >= 0) != old))
        found.append({"case": case, "method": "project all", "cpu_s": whole, "listed": 1.0, "found": 1.0, "ratio": 1.0})
        for name, listed in lists.items():
            bits = range(len(orders)) if "orders" in name else range(BITS)
            found.append({"case": case, "method": name, **measured(X, new, old, flipped, listed, bits, whole)})
    return found


def measured(X: Any, new: Any, old: Any, flipped: Any, listed: Callable, bits: range, whole: float) -> dict[str, Any]:
    """Time of some bits, as if of all, and what was found of their flips."""

    def find() -> list[np.ndarray]:
        parts = []
        for j in bits:
            items = listed(j)
            parts.append(items[(X[items] @ new[j] >= 0) != old[items, j]])
        return parts

    seconds, parts = harness.timed(find)
    seconds *= BITS / len(bits)
    count = sum(len(listed(j)) for j in bits) / (len(X) * len(bits))
    share = sum(map(len, parts)) / max(flipped[:, list(bits)].sum(), 1)
    return {"cpu_s": seconds, "listed": count, "found": share, "ratio": seconds / whole}


def near(orders: SortedOrders, second: SecondLevel, bit: int, row: np.ndarray) -> np.ndarray:
    """Items next to the signature of q̄ in each order."""
    change = row * (second.base[bit] @ row / (row @ row)) - second.base[bit]
    asked = codes.pack((-second.first / second.tau - second.plane @ change)[None])
    n = orders.main.n
    keys = keys_of(codes.words(asked), orders.bits)[:, 0]
    half = max(1, n_candidates(n, EPSILON) // (2 * len(orders.bits)))
    places = [np.searchsorted(own, key) for own, key in zip(orders.main.keys, keys)]
    spans = [own[max(0, at - half) : at + half] for own, at in zip(orders.main.items, places)]
    return np.unique(np.concatenate(spans))
