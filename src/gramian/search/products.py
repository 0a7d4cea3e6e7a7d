"""Which items are worth an exact comparison, from bits of the items and real projections of the query.

The directions r_j of the bits are axes of a random rotation of R^D (``orthonormal_directions``). An item o of length
one has the code ō = Σ_j ± r_j / √b, a vector of length one too, with ⟨ō, o⟩ = Σ_j |r_jᵀo| / √b = c, which is kept. The
rotations that leave o where it is leave the law of ō unchanged, so given c

    ⟨ō, q⟩ = c x + √(1 − c²) √(1 − x²) ε,   x = ⟨o, q⟩,

where ε is a coordinate of a uniform point on the unit sphere of R^{D−1} (Gao and Long 2024, RaBitQ, whose constant
this is in the form of an exact law). An item within d² ≤ D² of the query has x ≥ x_min, which its norm tells; it
is left out only if ⟨ō, q⟩ is below the least value that ε ≥ −z allows it, an event of probability 1 − recall.

The pass over all codes has the projections t_j = |r_jᵀq| rounded to small multiples a_j of a unit, up or down at
random so that they are right on average: the estimate is a Hamming distance with weights a_j. By Hoeffding the
roundings add up to more than √(b log(1/δ) / 2) units with probability at most δ. Nine tenths of 1 − recall are for ε,
one tenth is δ. What the pass lets through is estimated again with the t_j themselves.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gramian.search import codes
from gramian.search.candidates import Candidates, Found, norm_classes
from gramian.search.encoding import Asked, Encoder
from gramian.search.items import Items

PLANES = 4
"""Bits of a rounded projection."""
_ROUNDED = 0.1
"""Part of the misses that is left to the rounding."""
_LOWEST = 0.02
"""Share of the items with the lowest c, which are a class of their own."""
_LARGEST = 65534


@dataclass(frozen=True)
class ProductLaw:
    """What the estimates of an index obey: dimension D of the rotation, bits, recall, the seed of the roundings."""

    dimension: int
    n_bits: int
    recall: float
    seed: int

    @property
    def limits(self) -> tuple[float, float]:
        """z, and the roundings that are allowed for, in units."""
        miss = 1 - self.recall
        z = codes.sphere_quantile(max(self.dimension - 1, 2), (1 - _ROUNDED) * miss)
        return z, float(np.sqrt(self.n_bits * np.log(1 / (_ROUNDED * miss)) / 2))

    @property
    def planes(self) -> int:
        """Bits of a weight, fewer when all of them would not add up to a distance of 16 bits."""
        return int(min(PLANES, np.log2(_LARGEST / self.n_bits + 1)))

    def rounded(self, T: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Weights T (m, b) as planes of bits (m, planes · words), highest first, and (unit, Σ a_j) of each row."""
        top = 2**self.planes - 1
        dither = np.random.default_rng([self.seed, 1]).random(self.n_bits, dtype=np.float32)
        unit = np.maximum(T.max(axis=1), np.float32(1e-30)) / top
        A = np.minimum(T / unit[:, None] + dither, top).astype(np.uint8)
        layers = [np.packbits((A >> t) & 1, axis=1, bitorder="little") for t in reversed(range(self.planes))]
        planes = np.concatenate([codes.words(layer) for layer in layers], axis=1)
        return planes, np.column_stack([unit, A.sum(axis=1)]).astype(np.float64)


class ProductCandidates(Candidates):
    """Candidates by products of bits with projections."""

    def __init__(self, items: Items, encoder: Encoder, unit: bool, mask: np.ndarray | None, law: ProductLaw) -> None:
        super().__init__(items, encoder, unit, mask)
        self.law = law
        tiles, n, allowed, sqnorms, _, _ = self.coded
        alignments = items["alignments"]
        classes = items.cached("aligned", lambda: aligned_classes(sqnorms, alignments))
        self.aligned = tiles, n, allowed, sqnorms, alignments, classes

    def _weights(self, asked: Asked) -> tuple[Any, ...]:
        weights = np.abs(asked.projections)
        planes, units = self.law.rounded(weights)
        return codes.words(asked.packed), planes, weights, units

    def scan(self, asked: Asked, k: int, keep: int, limits: np.ndarray, budget: int) -> Found:
        """What the products leave plausible; the ``budget`` nearest codes are those of the plain Hamming distance."""
        from gramian._jit.products import scan_products

        if budget > 0:
            return super().scan(asked, k, keep, limits, budget)
        found = self._room(len(asked.sizes), keep)
        query = asked.weights, asked.sizes, asked.outside, self.unit
        coded = self.aligned, self._weights(asked), asked.sqnorms, asked.blurs
        scan_products(*coded, self.kept, *query, self.law.limits, k, *found)
        return found

    def within(self, asked: Asked, q: int, bound: float, limits: np.ndarray) -> np.ndarray:
        """Positions of the items that are plausible within a squared distance of query q."""
        from gramian._jit.products import estimated_within

        words, planes, weights, units = (part[0] for part in self._weights(asked.only(q)))
        bound = asked.blurred(q, bound)
        return estimated_within(self.aligned, words, planes, weights, units, asked.sqnorms[q], bound, self.law.limits)


def aligned_classes(sqnorms: np.ndarray, alignments: np.ndarray) -> tuple[np.ndarray, ...]:
    """Classes by norm, and one of the lowest c: least and largest |x|², least c, and masks (tiles, classes)."""
    edges, masks = norm_classes(sqnorms)
    lowest = alignments <= np.quantile(alignments, _LOWEST)
    apart = codes.words(np.packbits(lowest, bitorder="little")[None])[0]
    masks = np.column_stack([masks & ~apart[:, None], apart])
    least = alignments[~lowest].min(initial=1.0)
    low, high = np.append(edges[:-1], edges[0]), np.append(edges[1:], edges[-1])
    return low, high, np.append(np.full(len(edges) - 1, least), alignments.min()).astype(np.float64), masks
