"""The pyramid match: a kernel on sets of vectors with an explicit, sparse feature map."""

from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any

import numpy as np
from scipy import sparse

from gramian import linalg
from gramian._settings import Count, Index, Positive, Within
from gramian.kernels.base import ByVectors
from gramian.kernels.sets import one_set

_STEP = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class PyramidMatch(ByVectors):
    """How well the vectors of two sets can be paired, without pairing them.

    k(A, B) = Σ_i w_i N_i: how well the vectors of two sets can be paired (Grauman and Darrell 2005).

    A grid of side s·2^i divides the space at level i = 0 … L. I_i = Σ_bins min(#A, #B) pairs can be matched there,
    N_i = I_i − I_{i−1} of them for the first time, and a match in bins twice as wide counts half, w_i = 2^{-i}. So
    k = Σ_i (w_i − w_{i+1}) I_i with w_{L+1} = 0. A count m written in unary, m ones, turns each min into an inner
    product: φ(A) has one coordinate per level, occupied bin and unit of its count, √(w_i − w_{i+1}) each, and
    k(A, B) = φ(A)ᵀφ(B) exactly (Indyk and Thaper 2003). Bins are hashed to ``n_dims`` coordinates, so φ is
    a sparse vector of 10⁵–10⁶ dimensions with (L + 1)·|A| non-zeros, and no bin is ever enumerated.

    Points are sequences of arrays (m_i, d), sets of any size, an empty set included.

    Parameters
    ----------
    side : float
        Width s of the finest bins.
    n_levels : int
        L + 1; the coarsest bins are s·2^L wide.
    n_dims : int
        Number of hashed coordinates. Bins that collide add up, so the kernel stays positive semi-definite; it is the
        exact pyramid match but for some |A||B|(L+1)²/n_dims chance hits.
    normalize : bool
        Divide by √(k(A, A) k(B, B)), so that large sets are not favored.
    n_grids : int
        Average over this many randomly shifted grids, against accidents at the borders of bins.
    random_state : int
        Seed of the shifts and of the hash: a number, because a kernel is a value.

    See Also
    --------
    gramian.Correspondence : Best matches one by one.
    gramian.ProximityDistribution : For visual words in the plane.

    Examples
    --------
    >>> import numpy as np, gramian as gm
    >>> A, B = np.array([[0.1], [5.2]]), np.array([[0.3], [5.3], [9.9]])
    >>> gm.PyramidMatch(side=1.0, n_levels=5, normalize=False)([A], [B]).round(12).tolist()
    [[2.0]]
    >>> gm.PyramidMatch().embed([A, B]).shape
    (2, 1048576)
    """

    side: Positive = 1.0
    n_levels: Annotated[int, Within(1, 60)] = 8
    _: KW_ONLY
    n_dims: Annotated[int, Within(1, 2**31 - 1)] = 1 << 20
    normalize: bool = True
    n_grids: Count = 1
    random_state: Index = 0
    on_vectors = False

    def accept(self, X: Any, name: str = "X") -> list[np.ndarray]:
        """Return the sets as finite arrays (m_i, d) with one d."""
        sets = [one_set(A, name, "PyramidMatch") for A in X]
        widths = {A.shape[1] for A in sets if len(A)}
        if len(widths) > 1:
            raise ValueError(f"PyramidMatch: the vectors of {name} must have one length, got {sorted(widths)}.")
        return sets

    def _phi(self, sets: Any) -> sparse.csr_array:
        """φ(A) for each set, CSR (n, n_dims), with k(A, B) = φ(A)ᵀφ(B)."""
        filled = [A for A in sets if len(A)]
        owner = np.repeat(np.arange(len(sets)), [len(A) for A in sets])
        points = np.vstack(filled) if filled else np.zeros((0, 1))
        rows, columns, values = [owner[:0]], [owner[:0]], [np.zeros(0)]
        for grid in range(self.n_grids):
            for level in range(self.n_levels):
                rows.append(owner)
                columns.append(self._columns(points, owner, grid, level))
                last = level == self.n_levels - 1
                weight = 0.5**level if last else 0.5 ** (level + 1)  # w_i − w_{i+1}
                values.append(np.full(len(owner), np.sqrt(weight / self.n_grids)))
        entries = (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
        phi = sparse.coo_array(entries, shape=(len(sets), self.n_dims)).tocsr()
        return linalg.unit_rows(phi) if self.normalize else phi

    def _columns(self, points: np.ndarray, owner: np.ndarray, grid: int, level: int) -> np.ndarray:
        """Hashed coordinate of each vector at one level: its bin, and how many of its set came there before."""
        side = self.side * 2.0**level
        rng = np.random.default_rng([self.random_state, grid])
        shift = rng.uniform(0, self.side * 2.0**self.n_levels, points.shape[1])
        cells = np.floor((points + (shift if grid else 0)) / side)  # (n, d)
        if cells.size and np.abs(cells).max() > 2**52:
            raise ValueError("PyramidMatch: side is too small for the range of the vectors; use a wider one.")
        key = np.full(len(points), (self.random_state * 64 + grid) * 64 + level + 1, np.uint64)
        for column in cells.T.astype(np.int64).astype(np.uint64):
            key = splitmix(key * _STEP + column)
        turn = occurrences(owner, key) + np.uint64(1)
        return (splitmix(key + turn * _STEP) % np.uint64(self.n_dims)).astype(np.int64)


def occurrences(owner: np.ndarray, key: np.ndarray) -> np.ndarray:
    """How often each pair (owner, key) came before, (n,)."""
    order = np.lexsort((key, owner))  # (n,), the same pairs side by side
    new = np.ones(len(order), bool)
    new[1:] = (key[order][1:] != key[order][:-1]) | (owner[order][1:] != owner[order][:-1])
    start = np.maximum.accumulate(np.where(new, np.arange(len(order)), 0))  # where each run of equals begins
    keys = np.empty(len(order), np.uint64)
    keys[order] = np.arange(len(order)) - start
    return keys


def splitmix(x: np.ndarray) -> np.ndarray:
    """The finalizer of SplitMix64, a bijection of 64-bit words."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
