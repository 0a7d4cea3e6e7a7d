"""A hash index that can move to another metric at a fraction of the cost of hashing all items again.

Bit j of x is [h_jᵀ(x − μ) ≥ 0] with h_j = Gᵀr_j. Let h_j turn to h'_j, and let e be h'_j, scaled to be as near to h_j
as possible, less h_j. A positive scale flips nothing, so the bit can have flipped only where

    |h_jᵀ(x − μ)| ≤ |eᵀ(x − μ)| ≤ |Se| · |S⁻¹(x − μ)|          (Cauchy–Schwarz, S = Σ^{1/2} of the items)

The margin of a bit, the left side over |S h_j| |S⁻¹(x − μ)|, is kept as one byte, rounded down, and compared with
sin θ_j = |Se| / |S h_j|: a filter that misses no flip. In d dimensions eᵀ(x − μ) is mostly about √d times smaller than
its bound; ``likely`` compares with 2.5 such standard deviations instead and misses about one flip in 200.
"""

from typing import Any

import numpy as np

from gramian import linalg
from gramian.metrics import Mahalanobis
from gramian.search import codes
from gramian.search.columns import Dense, Tiles
from gramian.search.hashing import HashIndex
from gramian.search.second_level import SecondLevel

DETECTORS = ("likely", "margin", "second_level")
_FINEST = 127.5
"""Margin levels per standard deviation of a margin, 1/√d: a byte reaches two of them."""
_LIKELY = 2.5
_SAMPLE = 2000
"""Items that the covariance and the expected share of touched bits are read from."""
_TINY = np.finfo(np.float32).tiny


class AnchoredIndex(HashIndex):
    """Hash index under the metric GᵀG with directions H = RG (b, d) given, movable by :meth:`move`.

    ``anchor`` are the directions of the codes, ``base`` those that the margins refer to, and ``reach`` (b,) the largest
    sin θ between the base and any anchor since.
    """

    _owner = "OnlineHashIndex"

    def __init__(self, metric: Mahalanobis, rows: np.ndarray, detector: str, **settings: Any) -> None:
        super().__init__(metric, **settings)
        self.detector = detector
        self.scale = np.eye(metric.coordinates.size)
        self._stand(rows)

    def _stand(self, rows: np.ndarray) -> None:
        """Take directions as anchor and base."""
        self.base = self.anchor = rows
        self.reach = np.zeros(len(rows))
        self.projection = rows.T

    def cosines(self, rows: np.ndarray, others: np.ndarray) -> np.ndarray:
        """Cosines between directions, as the items see them: in the norm |S·|."""
        A, B = rows @ self.scale, others @ self.scale
        norms = np.sqrt(linalg.row_norms(A) * linalg.row_norms(B))
        return np.clip(np.einsum("ij,ij->i", A, B) / np.maximum(norms, _TINY), -1, 1)

    def flip_share(self, rows: np.ndarray) -> float:
        """Expected share of bits that differ between these directions and the anchor, the mean of θ/π."""
        return float(np.mean(np.arccos(self.cosines(rows, self.anchor))) / np.pi)

    def _recenter(self, X: np.ndarray) -> None:
        """Settle the center, and with it the spread S of the items."""
        super()._recenter(X)
        V = X[:: max(1, len(X) // _SAMPLE)] - self.center
        S = V.T @ V / len(V)
        spread = np.trace(S) / len(S)
        self.scale = linalg.psd_sqrt(S + 1e-3 * spread * np.eye(len(S))) if spread > 0 else np.eye(len(S))

    def _derive(self, X: np.ndarray) -> dict[str, Any]:
        derived = super()._derive(X)
        if self.detector != "second_level":
            derived["margins"] = self._margins(X)
        return derived

    def _margins(self, X: np.ndarray) -> np.ndarray:
        """Margin levels (n, b) against the base; one part in a thousand less covers the rounding of the products."""
        from gramian._jit.upkeep import margin_levels

        typical = np.sqrt(np.mean(self.scale**2))
        size = np.maximum(np.sqrt(linalg.row_norms(self.base @ (self.scale / typical))), _TINY)
        factors = np.hstack([self.base.T / size, np.linalg.inv(self.scale / typical)]).astype(np.float32)
        b, levels = self.n_bits, np.empty((len(X), self.n_bits), np.uint8)
        unit = 0.999 * _FINEST * np.sqrt(X.shape[1])
        for block in linalg.blocks(len(X), 4 * factors.shape[1], 16 << 20):
            P = ((X[block] - self.center) / typical).astype(np.float32) @ factors
            norms = np.sqrt(linalg.row_norms(P[:, b:]))
            # An item at the center has margin 0: its bits are always computed.
            scales = np.divide(unit, norms, out=np.zeros_like(norms), where=norms > 1e-18)
            margin_levels(P[:, :b], scales, levels[block])
        return levels

    def move(self, metric: Mahalanobis, rows: np.ndarray, share: float) -> dict[str, int]:
        """Bring codes and norms to another metric; hash all items again when more than ``share`` of the bits may flip.

        Returns counts: bits ``touched`` and ``flipped``, and whether all were hashed again (``rehashed``).
        """
        self.metric, self.anchor = metric, rows
        if len(self) == 0:
            self._stand(rows)
            return {"touched": 0, "flipped": 0, "rehashed": 0}
        tiles = self._columns["codes"].tiles.copy()
        counts = (self._by_second_level if self.detector == "second_level" else self._by_margin)(tiles, share)
        if counts is None:
            return self._rehash()
        self._columns.update(codes=Tiles(tiles, len(self)), sqnorms=Dense(self._sqnorms()))
        self._cache = {name: value for name, value in self._cache.items() if name == "second"}
        return {**counts, "rehashed": 0}

    def _rehash(self) -> dict[str, int]:
        before = self._columns["codes"].rows
        self._stand(self.anchor)
        self._rederive()
        flipped = int(np.bitwise_count(before ^ self._columns["codes"].rows).sum())
        return {"touched": len(self) * self.n_bits, "flipped": flipped, "rehashed": 1}

    def _now(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Items, directions and offsets h_jᵀμ in the precision of the items."""
        X = self._rows("points")
        return X, self.anchor.astype(X.dtype), (self.anchor @ self.center).astype(X.dtype)

    def _by_margin(self, tiles: np.ndarray, share: float) -> dict[str, int] | None:
        from gramian._jit.upkeep import refresh_bits

        cosine, margins = self.cosines(self.anchor, self.base), self._rows("margins")
        self.reach = np.maximum(self.reach, np.where(cosine > 0, np.sqrt(1 - cosine**2), np.inf))
        spread = _LIKELY if self.detector == "likely" else np.sqrt(self.metric.coordinates.size)
        levels = np.minimum(self.reach * spread * _FINEST, 255).astype(np.uint8)
        if (margins[:: max(1, len(self) // _SAMPLE)] <= levels).mean() > share:
            return None
        touched, flipped = refresh_bits(margins, levels, *self._now(), tiles)
        self.projection = self.anchor.T
        return {"touched": touched, "flipped": flipped}

    def _by_second_level(self, tiles: np.ndarray, share: float) -> dict[str, int] | None:
        from gramian._jit.upkeep import refresh_listed

        if "second" not in self._cache:
            self._cache["second"] = SecondLevel(self._rows("points"), self.center, self.base, self.seed)
        second = self._cache["second"]
        found = {j: second.candidates(j, self.anchor[j]) for j in second.bits}
        touched = sum(map(len, found.values()))
        if touched > share * len(self) * len(found):
            return None
        now = self._now()
        flipped = sum(refresh_listed(items, j, *now, tiles) for j, items in found.items())
        # Bits outside of the subset keep their old directions, for items and queries alike.
        self.projection = self.projection.copy()
        self.projection[:, second.bits] = self.anchor[second.bits].T
        return {"touched": touched, "flipped": flipped}

    def _sqnorms(self) -> np.ndarray:
        X, norms = self._rows("points"), np.empty(len(self))
        factor, center = self.metric.components.T.astype(X.dtype), self.center.astype(X.dtype)
        for block in linalg.blocks(len(X), 8 * X.shape[1], 16 << 20):
            norms[block] = linalg.row_norms((X[block] - center) @ factor)
        return norms

    def _state(self) -> dict[str, Any]:
        own = {name: getattr(self, name) for name in ("base", "reach", "anchor", "scale", "detector")}
        return {**super()._state(), **own, "rows": np.ascontiguousarray(self.projection.T)}

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> "AnchoredIndex":
        index = cls(state["metric"], state["base"], state["detector"], **state["settings"])
        index.reach, index.anchor, index.scale = state["reach"], state["anchor"], state["scale"]
        index.projection = state["rows"].T
        index.center, index._centered_on = state["center"], state["centered_on"]
        return index._restore(state)


def draw_rows(seed: int, d: int, n_bits: int) -> np.ndarray:
    """Random directions R (b, d) of an index with this seed."""
    return np.ascontiguousarray(codes.directions(seed, np.arange(d), n_bits).T)
