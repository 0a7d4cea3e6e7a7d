"""Pairs (point, target) and (anchor, other) of points as one sparse graph: distances, sums and scatters over them."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from gramian import linalg
from gramian._device.pairs import PairList

CACHE_BYTES = 1 << 20
DENSE = 1 / 16
"""From this share of all pairs on, matrices over all pairs cost less than lists of them."""


@dataclass(frozen=True, eq=False)
class PairGraph:
    """Targets near (n, k) of each point, and m pairs in the order of their anchors."""

    near: Any
    anchor: Any
    other: Any

    def sqdist(self, E: Any) -> Any:
        """Squared distances of the m pairs of rows of E, (m,)."""
        if self.places is not None:
            return linalg.sqdist(E).take(self.places)
        far = np.empty(len(self.anchor))
        for rows in linalg.blocks(len(far), 24 * E.shape[1], CACHE_BYTES):
            V = E.take(self.anchor[rows], axis=0)
            V -= E.take(self.other[rows], axis=0)
            far[rows] = linalg.row_norms(V)
        return far

    def sums(self, values: Any) -> Any:
        """Sums (n, k) of values (m, k) over the pairs of each anchor."""
        return self.by_anchor @ values

    def scatter(self, Z: Any, pull: Any, push: Any) -> Any:
        """Σ w vvᵀ over all pairs, with weights ``pull`` (n, k) of the targets and ``push`` (m,) of the others."""
        n = len(self.near)
        if self.places is not None:
            W = np.zeros((n, n))
            np.put(W, self.places, push)
            np.put_along_axis(W, self.near, pull, axis=1)
            return linalg.scatter(Z, W)
        order, columns, pointers = self.pattern
        weights = np.concatenate([pull.ravel(), push])[order]
        return linalg.scatter(Z, sparse.csr_array((weights, columns, pointers), shape=(n, n)))

    @cached_property
    def pattern(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Order, columns and row pointers of the sparse matrix that holds target pairs and the others."""
        n, k = self.near.shape
        rows = np.concatenate([np.repeat(np.arange(n), k), self.anchor])
        order = np.argsort(rows, kind="stable")
        columns = np.concatenate([self.near.ravel(), self.other])[order]
        return order, columns, np.searchsorted(rows[order], np.arange(n + 1))

    @cached_property
    def by_anchor(self) -> sparse.csr_array:
        """The matrix (n, m) that sums over the pairs of each anchor."""
        m, n = len(self.anchor), len(self.near)
        pointers = np.searchsorted(self.anchor, np.arange(n + 1))
        return sparse.csr_array((np.ones(m), np.arange(m), pointers), shape=(n, m))

    @cached_property
    def places(self) -> np.ndarray | None:
        """Places of the pairs in an n × n matrix, where that is the cheaper way; otherwise None."""
        n = len(self.near)
        return self.anchor * n + self.other if len(self.anchor) >= DENSE * n**2 else None


class DevicePairGraph(PairGraph):
    """The same on a device."""

    @cached_property
    def listed(self) -> PairList:
        """The m pairs."""
        return PairList(self.anchor, self.other, len(self.near))

    def sqdist(self, E: Any) -> Any:
        """Squared distances of the m pairs of rows of E, (m,)."""
        return self.listed.sqdist(E)

    def sums(self, values: Any) -> Any:
        """Sums (n, k) of values (m, k) over the pairs of each anchor."""
        return self.listed.sums(values)

    def scatter(self, Z: Any, pull: Any, push: Any) -> Any:
        """Σ w vvᵀ over all pairs."""
        return linalg.neighbor_scatter(Z, self.near, pull) + self.listed.scatter(Z, push)
