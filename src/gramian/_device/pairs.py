"""Sums over listed pairs of rows: distances, and weighted scatters of differences.

On CUDA the list is the pattern of a sparse matrix, so that no difference is ever written down; elsewhere pairs are
taken in blocks.
"""

import sys
import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from gramian._device.memory import PAIRS, block_bytes


@dataclass(frozen=True, eq=False)
class PairList:
    """Pairs (first, second) of rows below n, in the order of the first, on a device."""

    first: Any
    second: Any
    n: int

    @cached_property
    def pointers(self) -> Any:
        """Where the pairs of each row begin, (n + 1,)."""
        return np.searchsorted(self.first, np.arange(self.n + 1, like=self.first))

    def sums(self, values: Any) -> Any:
        """Sums (n, k) of values (m, k) over the pairs of each row."""
        m, k = values.shape
        # Sums along the last axis of rows that lie in one piece are fast, those down columns are not.
        rows = np.cumsum(np.reshape(np.ravel(values.T), (k, m)), axis=1)
        ends = np.concatenate([np.zeros((k, 1), like=values), rows], axis=1)[:, self.pointers].T
        return ends[1:] - ends[:-1]

    def sqdist(self, E: Any) -> Any:
        """Squared distances of the pairs, (m,)."""
        torch = _torch_on_cuda(E)
        if torch is None:
            found = np.empty(len(self.first), like=E)
            for rows in self._blocks(E):
                V = E[self.first[rows]] - E[self.second[rows]]
                found[rows] = np.sum(V * V, axis=1)
            return found
        norms = np.sum(E * E, axis=1)
        pattern = self._matrix(torch, torch.zeros(len(self.first), dtype=E.data.dtype, device=E.data.device))
        products = torch.sparse.sampled_addmm(pattern, E.data, E.data.T, beta=0.0).values()
        return np.maximum(norms[self.first] + norms[self.second] - 2 * E.wrap(products), 0)

    def scatter(self, Z: Any, weight: Any) -> Any:
        """Σ_t weight_t (z_first − z_second)(…)ᵀ, (d, d)."""
        torch = _torch_on_cuda(Z)
        if torch is None:
            total = np.zeros((Z.shape[1], Z.shape[1]), like=Z)
            for rows in self._blocks(Z):
                V = Z[self.first[rows]] - Z[self.second[rows]]
                total += V.T @ (V * weight[rows][:, None])
            return total
        degree = self.sums(weight[:, None])[:, 0]
        other = torch.zeros_like(degree.data).index_add_(0, self.second.data, weight.data)
        # Folded into one graph Laplacian, as in linalg.scatter.
        H = Z * ((degree + Z.wrap(other)) / 2)[:, None] - Z.wrap(self._matrix(torch, weight.data) @ Z.data)
        H = Z.T @ H
        return H + H.T

    def _blocks(self, E: Any) -> list[slice]:
        step = max(1, block_bytes(E, PAIRS) // (32 * max(E.shape[1], 1)))
        return [slice(start, start + step) for start in range(0, len(self.first), step)]

    @cached_property
    def _pattern(self) -> tuple[Any, Any]:
        return self.pointers.astype(np.int32).data, self.second.astype(np.int32).data

    def _matrix(self, torch: Any, values: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch calls its sparse matrices a beta
            return torch.sparse_csr_tensor(*self._pattern, values, size=(self.n, self.n), check_invariants=False)


def _torch_on_cuda(x: Any) -> Any:
    """The module torch where an array is one of its tensors on CUDA, otherwise None."""
    torch = sys.modules.get("torch")
    return torch if torch is not None and isinstance(x.data, torch.Tensor) and x.data.is_cuda else None
