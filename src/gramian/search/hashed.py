"""What hashed indexes share: settings, the seed, packed codes that follow the center of the items."""

from abc import abstractmethod
from functools import cached_property
from typing import Any

import numpy as np

from gramian import _checks
from gramian.metrics import Metric
from gramian.search import codes
from gramian.search.base import Index
from gramian.search.columns import Tiles
from gramian.search.orders import MOST_ORDERS, SortedOrders, n_candidates

EPSILON = 1.5
SPARE = 8
"""Neighbors kept beyond k until their distances are computed from the differences, against ties of rounding."""
_QUANTILES = (0, 0.01, 0.1, 0.5, 1)
_SAMPLE = 2000
"""Items that the classes of norms are read from."""


class HashedIndex(Index):
    """An index with ``n_bits`` hash bits per item.

    Subclasses give ``_hash(X) -> (packed, sqnorms)``, the bits and squared norms of centered points, ``_recenter(X)``,
    which settles the center on the items X, and ``_candidates(Q, k) -> (rows, sqdist, compared)``.
    """

    def __init__(
        self,
        metric: Metric,
        n_bits: int = 256,
        *,
        mode: str = "distance",
        searcher: str = "scan",
        recall: float = 0.99,
        epsilon: float | None = None,
        n_orders: int | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(metric)
        owner = self._owner
        self.n_bits = _whole_bytes(n_bits, owner)
        self.mode = _checks.one_of(mode, owner, "mode", ("distance", "similarity"))
        self.searcher = _checks.one_of(searcher, owner, "searcher", ("scan", "orders"))
        self.recall = _checks.number(recall, owner, "recall", low=0, high=1 - 1e-12, open_low=True)
        self.epsilon = None if epsilon is None else _checks.number(epsilon, owner, "epsilon", low=0)
        self.n_orders = None if n_orders is None else _checks.number(n_orders, owner, "n_orders", low=1, integer=True)
        self.seed = _draw_seed(random_state, owner)
        self._centered_on = 0

    @abstractmethod
    def _hash(self, X: Any) -> tuple[np.ndarray, np.ndarray]: ...

    @abstractmethod
    def _recenter(self, X: Any) -> None: ...

    @abstractmethod
    def _candidates(self, Q: Any, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]: ...

    def hash(self, X: Any) -> np.ndarray:
        """Packed bits of points, uint8 (n, n_bits / 8), lowest bit first."""
        return self._hash(self._check(X))[0]

    def compared(self, X: Any, k: int = 10) -> np.ndarray:
        """Number of items that a query with each point compares exactly, (m,)."""
        k = min(_checks.number(k, self._owner, "k", low=1, integer=True), len(self))
        return self._candidates(self._check(X), k)[2]

    def _derive(self, X: Any) -> dict[str, Any]:
        packed, sqnorms = self._hash(X)
        return {"codes": Tiles.empty(-(-self.n_bits // 64)).append(codes.words(packed)), "sqnorms": sqnorms}

    def _grow(self, new: dict[str, Any]) -> None:
        """Append; when the items have doubled since the center was settled, settle it anew and hash all again."""
        n, old = len(self) + len(new["ids"]), self._columns
        if self.mode == "distance" and n >= 2 * self._centered_on:
            self._recenter(old["points"].append(new["points"]).rows if old else new["points"])
            self._centered_on = n
            if old:
                self._rederive()
        super()._grow(new)

    @cached_property
    def _limits(self) -> np.ndarray:
        return codes.angle_limits(self.n_bits, self.recall)

    @property
    def _budget(self) -> int:
        """Number of candidates, 0 for as many as the recall needs."""
        if self.epsilon is None and self.searcher == "scan":
            return 0
        return n_candidates(len(self), EPSILON if self.epsilon is None else self.epsilon)

    @property
    def _norm_classes(self) -> tuple[np.ndarray, np.ndarray]:
        """Edges (c + 1,) of classes of squared norms of the centered items, and which items are in each."""
        from gramian._jit.hamming import class_masks

        if "classes" not in self._cache:
            sqnorms = self._rows("sqnorms") if self.mode == "distance" else np.ones(len(self))
            edges = np.quantile(sqnorms[:: max(1, len(self) // _SAMPLE)], _QUANTILES)
            edges[0], edges[-1] = sqnorms.min(), sqnorms.max()
            self._cache["classes"] = edges, class_masks(sqnorms, edges)
        return self._cache["classes"]

    @property
    def _orders(self) -> SortedOrders:
        if "orders" not in self._cache:
            l = self.n_orders or max(min(self._budget // 2, MOST_ORDERS), 1)
            self._cache["orders"] = SortedOrders(self._rows("codes").view(np.uint8), self.n_bits, l, self.seed)
        return self._cache["orders"]

    def _settings(self) -> dict[str, Any]:
        names = ("n_bits", "mode", "searcher", "recall", "epsilon", "n_orders")
        return {**{name: getattr(self, name) for name in names}, "random_state": self.seed}

    def _state(self) -> dict[str, Any]:
        return {**super()._state(), "settings": self._settings(), "centered_on": self._centered_on}


def best(rows: np.ndarray, values: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The k smallest values of each line with their rows, ties by row."""
    order = np.lexsort((rows, values))[:, :k]
    return np.take_along_axis(rows, order, axis=1), np.take_along_axis(values, order, axis=1)


def _whole_bytes(n_bits: Any, owner: str) -> int:
    n_bits = _checks.number(n_bits, owner, "n_bits", low=8, high=32768, integer=True)
    if n_bits % 8:
        raise ValueError(f"{owner}: n_bits must be a multiple of 8, got {n_bits}.")
    return n_bits


def _draw_seed(random_state: Any, owner: str) -> int:
    """A stored integer seed, so that an index hashes alike wherever it is loaded."""
    if isinstance(random_state, int | np.integer) and not isinstance(random_state, bool):
        return _checks.number(random_state, owner, "random_state", low=0, high=2**63 - 1, integer=True)
    if isinstance(random_state, np.random.Generator) or random_state is None:
        return int(np.random.default_rng(random_state).integers(2**63))
    return int(_checks.random(random_state, owner).randint(2**31))
