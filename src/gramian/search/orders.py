"""Sorted orders of permuted hash keys, the search of the thesis (Jain 2009, §4.2, after Charikar 2002).

Each of l orders has all items by 64 bits of their codes, drawn at random. Two codes at a small Hamming distance share a
long prefix in some of the orders, and there stand side by side. Items whose first bits are the same are a bucket of a
hash table whose key are these bits, so that l orders are l hash tables as well.
"""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from gramian import _memory, _threads
from gramian.search.items import Items

EPSILON = 1.5
N_ORDERS = 32
"""Orders unless a number is given: each takes 12 bytes an item."""
HIGHEST_ORDERS = 1024
"""Orders that may be asked for, also by a file."""
LATE = 16
"""Items that stand in orders of their own until they are merged into the large ones, in multiples of √n."""
_LENGTH = 64

Searcher = Literal["scan", "orders", "buckets"]


def n_candidates(n: int, epsilon: float) -> int:
    """M = 2 n^{1/(1+ε)}: candidates for a (1+ε)-approximate nearest neighbor (Jain 2009, §4.2)."""
    return int(np.ceil(2 * n ** (1 / (1 + epsilon))))


@dataclass(frozen=True)
class Lookup:
    """How candidates are found: by a scan of all codes, in sorted orders, or in buckets; ε and the number of orders."""

    searcher: str
    epsilon: float | None
    n_orders: int | None

    @property
    def scans(self) -> bool:
        """Whether all codes are looked at."""
        return self.searcher == "scan"

    def budget(self, n: int, keep: int) -> int:
        """Candidates of a query among n items; 0: whatever is plausible."""
        if self.scans and self.epsilon is None:
            return 0
        return min(max(n_candidates(n, EPSILON if self.epsilon is None else self.epsilon), keep), n)

    def width(self, n: int, budget: int, longest: int) -> int:
        """Bits of an address, so that the buckets of a query hold about ``budget`` items; 0 without buckets."""
        if self.searcher != "buckets":
            return 0
        return int(np.clip(np.log2(max(n, 2) * self.count / max(budget, 1)), 1, longest))

    @property
    def count(self) -> int:
        """Number of orders, 0 for none."""
        return 0 if self.scans else self.n_orders or N_ORDERS

    def columns(self, owner: str, codes: Any, seed: int, n_bits: int, threads: int = 1) -> dict[str, Any]:
        """The orders of codes as the column of an index, none where it scans."""
        if self.scans:
            return {}
        what = f"{self.count} sorted orders of {codes.n:,} items"
        _memory.require(12.0 * self.count * codes.n, owner, what, "ask for fewer with n_orders")
        return {"orders": SortedOrders.of(codes.rows, drawn_bits(seed, n_bits, self.count), threads)}


def ordered(items: Items, lookup: Lookup, owner: str, seed: int, n_bits: int) -> Items:
    """Items of a file, which keeps no orders, with those of their codes."""
    if not items.n or lookup.scans:
        return items
    return replace(items, columns=items.columns | lookup.columns(owner, items.columns["codes"], seed, n_bits))


@lru_cache(maxsize=16)
def drawn_bits(seed: int, n_bits: int, n_orders: int) -> np.ndarray:
    """Bits that each order sorts by, int64 (l, 64), −1 where codes are shorter."""
    rng = np.random.default_rng(seed)
    bits = np.full((n_orders, _LENGTH), -1)
    for own in bits:
        chosen = rng.permutation(n_bits)[:_LENGTH]
        own[: len(chosen)] = chosen
    bits.flags.writeable = False
    return bits


@dataclass(frozen=True, eq=False)
class Run:
    """A part of each order: keys (l, m), ascending, and positions of their items, int32 (l, m)."""

    keys: np.ndarray
    items: np.ndarray

    @classmethod
    def empty(cls, l: int) -> "Run":
        """No items, in l orders."""
        return cls(np.empty((l, 0), np.uint64), np.empty((l, 0), np.int32))

    @classmethod
    def sorted(cls, keys: np.ndarray, threads: int = 1) -> "Run":
        """All orders of the keys (l, n) of items, which are sorted in place."""
        items = np.empty(keys.shape, np.int32)

        def sort(p: int) -> None:
            items[p] = np.argsort(keys[p])
            keys[p] = keys[p, items[p]]

        _threads.each(sort, range(len(keys)), threads)
        return cls(keys, items)

    @property
    def n(self) -> int:
        """Number of items."""
        return self.keys.shape[1]

    def merged(self, other: "Run", shift: int = 0) -> "Run":
        """This run and another one, whose positions are shifted."""
        from gramian._jit.orders import merge

        items = other.items + np.int32(shift)
        if self.n == 0 or other.n == 0:
            return Run(other.keys, items) if self.n == 0 else self
        shape = len(self.keys), self.n + other.n
        out = Run(np.empty(shape, np.uint64), np.empty(shape, np.int32))
        merge(self.keys, self.items, other.keys, items, out.keys, out.items)
        return out

    def take(self, places: np.ndarray) -> "Run":
        """The items that have a new place, −1 for none, at it."""
        items = places[self.items]
        stay = items >= 0
        shape = len(items), int(stay[:1].sum())
        return Run(self.keys[stay].reshape(shape), items[stay].reshape(shape))


class SortedOrders:
    """The orders of all items, a column of an index: a value, into which an append merges what is new.

    What comes is merged into orders of the late items, 16 √n at most, and these into the large ones when they are full:
    an item that is added costs some √n of moved memory for each order, and none is sorted again.
    """

    def __init__(self, bits: np.ndarray, main: Run, late: Run, first: int = 0, n: int | None = None) -> None:
        self.bits, self.main, self.late, self.first = bits, main, late, first
        self.n = main.n + late.n if n is None else n

    @classmethod
    def of(cls, words: np.ndarray, bits: np.ndarray, threads: int = 1) -> "SortedOrders":
        """Orders of the rows of codes (n, n_words), by some bits (l, 64)."""
        return cls(bits, Run.sorted(keys_of(words, bits), threads), Run.empty(len(bits)))

    @property
    def rows(self) -> "SortedOrders":
        """Itself: there is no row for each item."""
        return self

    def append(self, new: "SortedOrders") -> "SortedOrders":
        """Column with more items."""
        main, late, n = self.main, self.late, self.n + new.n
        for run in (new.main, new.late):
            late = late.merged(run, self.n)
        if late.n > LATE * n**0.5:
            main, late = main.merged(late), Run.empty(len(self.bits))
        return SortedOrders(self.bits, main, late)

    def deepened(self, words: np.ndarray, bits: np.ndarray) -> "SortedOrders":
        """One more of the orders of some bits, of the codes of all items."""
        more = Run.sorted(keys_of(words, bits[len(self.bits) : len(self.bits) + 1]))
        whole = self.main.merged(self.late)
        main = Run(np.concatenate([whole.keys, more.keys]), np.concatenate([whole.items, more.items]))
        return SortedOrders(bits[: len(main.keys)], main, Run.empty(len(main.keys)))

    def take(self, index: np.ndarray) -> "SortedOrders":
        """Column of the chosen items, in the order given."""
        places = np.full(self.n, -1, np.int32)
        places[index] = np.arange(len(index), dtype=np.int32)
        return SortedOrders(self.bits, self.main.take(places), self.late.take(places))

    def part(self, start: int, stop: int) -> "SortedOrders":
        """A view of some items."""
        return SortedOrders(self.bits, self.main, self.late, self.first + start, stop - start)

    @property
    def runs(self) -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
        """Keys and items as the compiled loops take them."""
        return (self.main.keys, self.late.keys), (self.main.items, self.late.items)


def keys_of(words: np.ndarray, bits: np.ndarray) -> np.ndarray:
    """Permuted keys (l, n) of codes, the first bit of a permutation highest."""
    from gramian._jit.orders import permuted_keys

    keys = np.empty((len(bits), len(words)), np.uint64)
    permuted_keys(np.ascontiguousarray(words), bits, keys)
    return keys
