"""Sums of pairs that can forget: exact, so that what was taken out leaves no trace."""

from collections.abc import Callable, Iterable

import numpy as np

BITS = 20
"""Bits of a coordinate of a pair, beside its sign, relative to the largest pair."""
CHUNK = 1 << 12
"""Pairs in one product: all partial sums stay below 2^(2·BITS + 12) < 2^53, so double precision adds them exactly."""
_NOTHING = -(1 << 14)


class PairSums:
    """Σ v vᵀ over pair differences v, in whole numbers.

    Coordinate j of every pair is rounded to a multiple of 2^(e_j − 20), with 2^e_j the smallest power of two above
    all |v_j|. Sums of whole numbers do not depend on their order, and subtracting a pair gives exactly the sum without
    it. So the value is a function of the pairs that are in it, whatever came and went before.

    Attributes
    ----------
    n : int
        Number of pairs.
    """

    def __init__(self, n_features: int) -> None:
        self.n = 0
        self.exponents = np.full(n_features, _NOTHING)
        self._largest = np.zeros(n_features, np.int64)  # pairs whose coordinate j has the exponent e_j
        self._total = np.zeros((n_features, n_features), np.int64)

    @classmethod
    def of(cls, V: np.ndarray) -> "PairSums":
        """Sums of the rows of V (m, d)."""
        return cls.of_batches(lambda: [V], V.shape[1])

    @classmethod
    def of_batches(cls, batches: Callable[[], Iterable[np.ndarray]], n_features: int) -> "PairSums":
        """The same of the rows of several arrays, which are asked for twice: for the grid, and for the sums."""
        sums = cls(n_features)
        for V in batches():
            sums.exponents = np.maximum(sums.exponents, _exponents(V).max(axis=0, initial=_NOTHING))
        for V in batches():
            sums._take(V, 1)
        return sums

    def add(self, V: np.ndarray) -> bool:
        """Take in pairs; False, and nothing done, when one is too large for the grid: begin anew with :meth:`of`."""
        if len(V) and (_exponents(V) > self.exponents).any():
            return False
        return self._count(V, 1)

    def forget(self, V: np.ndarray) -> bool:
        """Take out pairs that are in; False, and nothing done, when the grid becomes finer without them."""
        return self._count(V, -1)

    def _count(self, V: np.ndarray, sign: int) -> bool:
        largest = self._largest + sign * (_exponents(V) == self.exponents).sum(axis=0)
        if (largest <= 0).any() and self.n + sign * len(V) > 0:
            return False
        self._take(V, sign)
        return True

    def _take(self, V: np.ndarray, sign: int) -> None:
        steps = np.exp2(np.where(self.exponents > _NOTHING, self.exponents, 0) - BITS)
        for start in range(0, len(V), CHUNK):
            whole = np.rint(V[start : start + CHUNK] / steps)
            self._total += sign * (whole.T @ whole).astype(np.int64)
        self._largest = self._largest + sign * (_exponents(V) == self.exponents).sum(axis=0)
        self.n += sign * len(V)

    @property
    def mean(self) -> np.ndarray:
        """Mean of v vᵀ, (d, d); zero without pairs."""
        steps = np.exp2(np.where(self.exponents > _NOTHING, self.exponents, 0) - BITS)
        return self._total * np.outer(steps, steps) / max(self.n, 1)


def _exponents(V: np.ndarray) -> np.ndarray:
    """The smallest e with |v| < 2^e for every entry; that of zero is below all others."""
    return np.where(V == 0, _NOTHING, np.frexp(V)[1])
