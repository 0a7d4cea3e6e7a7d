"""A cosine with a promise: how many wrong pairs lie above it, with confidence, from queries that were held out."""

from dataclasses import dataclass

import numpy as np
from scipy.stats import beta

from gramian.persist import Stored

LOOKED_AT = 500
"""Queries, and documents, whose cosines are looked at."""
STEPS = 400
"""Cosines that are asked about."""


@dataclass(frozen=True, eq=False)
class WrongPairs(Stored):
    """For ascending ``cosines`` (t,), the share of wrong pairs above each, and the pairs that it is worth.

    Pairs of one query, and those of one document, go together, so that many pairs say no more than an effective number
    of independent ones (Korn and Graubard 1998): p (1 − p) over the variance of the share, with clusters both ways.
    """

    cosines: np.ndarray
    shares: np.ndarray
    sizes: np.ndarray

    @classmethod
    def of(cls, parts: list[tuple[np.ndarray, np.ndarray]]) -> "WrongPairs":
        """From cosines (q, m) of held-out queries and documents of each fold, and which pairs are wrong."""
        wrong = np.concatenate([S[mask] for S, mask in parts])
        grid = np.unique(np.quantile(wrong, 1 - np.geomspace(1, 1 / max(len(wrong), 2), STEPS)))
        grid = np.append(grid, np.nextafter(grid[-1], 2.0))
        shares, sizes = np.empty(len(grid)), np.empty(len(grid))
        count = sum(int(mask.sum()) for _, mask in parts)
        clusters = min(sum(len(S) for S, _ in parts), parts[0][0].shape[1])
        for i, cosine in enumerate(grid):
            above = [(cosine <= S) & mask for S, mask in parts]
            p = sum(int(a.sum()) for a in above) / count
            shares[i], sizes[i] = p, clusters
            if 0 < p < 1:
                rest = [a - p * mask for a, (_, mask) in zip(above, parts)]
                by_query = sum(float((r.sum(axis=1) ** 2).sum()) for r in rest)
                by_document = float((sum(r.sum(axis=0) for r in rest) ** 2).sum())
                alone = sum(float((r * r).sum()) for r in rest)
                variance = max(by_query + by_document - alone, alone) / count**2
                sizes[i] = min(p * (1 - p) / variance, count)
        return cls(grid, shares, sizes)

    def threshold(self, share: float, confidence: float) -> float:
        """The lowest cosine above which the share of wrong pairs is at most so much, at this confidence.

        Infinity where so few queries cannot promise it (Clopper and Pearson's upper limit of the share).
        """
        hits = self.shares * self.sizes
        upper = beta.ppf(confidence, hits + 1, np.maximum(self.sizes - hits, 1e-9))
        good = upper <= share
        first = len(good) - int(np.argmin(good[::-1])) if not good.all() else 0  # all from there on keep it
        return float(self.cosines[first]) if first < len(good) else np.inf
