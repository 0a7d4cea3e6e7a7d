"""Kernels and distances of images as sets of local features that have a place."""

from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any

import numpy as np
from scipy import sparse

from gramian import _validate, linalg
from gramian._settings import Count, Index, Size, Within, check
from gramian.kernels.base import ByVectors
from gramian.persist import Stored

MOST = 1024
"""Counts above it are cut, so that each has a place of its own in φ."""


@dataclass(frozen=True)
class ProximityDistribution(ByVectors):
    """Images are alike when the same visual words lie near each other.

    k(A, B) = Σ_ijr min(H^A_ijr, H^B_ijr): which visual words have which others near them (Ling and Soatto 2007).

    H_ijr counts, over all features of word i, the features of word j among their r nearest in the image, r = 1 … R.
    A count m written in unary, m ones, turns each min into an inner product (as in :class:`PyramidMatch`), so that
    k(A, B) = φ(A)ᵀφ(B) with a sparse φ of n_words² · R · 1024 dimensions: the kernel of Jain 2009, §4.3.3, in the form
    that can be hashed.

    Points are sequences of arrays (m, 1 + p): one row a feature, its word (an integer below ``n_words``) and its place.

    Parameters
    ----------
    n_words : int
        Size of the codebook.
    n_ranks : int
        R, how many nearest features are looked at.
    normalize : bool
        Divide by √(k(A, A) k(B, B)), so that images with many features are not favored.

    See Also
    --------
    gramian.PyramidMatch : Matches vectors, not words.
    gramian.Correspondence : Best matches one by one.

    Examples
    --------
    >>> import numpy as np, gramian as gm
    >>> A = np.array([[0, 0.0, 0.0], [1, 0.0, 1.0], [2, 9.0, 9.0]])
    >>> B = np.array([[1, 5.0, 0.0], [0, 5.0, 1.0]])
    >>> gm.ProximityDistribution(3, n_ranks=1, normalize=False)([A], [B]).tolist()
    [[2.0]]
    """

    n_words: Annotated[int, Within(1, 10**5)]
    n_ranks: Count = 8
    _: KW_ONLY
    normalize: bool = True
    on_vectors = False

    def accept(self, X: Any, name: str = "X") -> list[np.ndarray]:
        """Return the sets as finite arrays with words in their first column."""
        sets = [one_set(A, name, "ProximityDistribution") for A in X]
        for A in sets:
            words = A[:, 0]
            if len(A) and not ((words == np.floor(words)) & (words >= 0) & (words < self.n_words)).all():
                raise ValueError(
                    f"ProximityDistribution: the first column of {name} must hold words below {self.n_words}, "
                    f"got {words.min():g} to {words.max():g}."
                )
        return sets

    def counts(self, A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The places (i, j, r) with H_ijr > 0, as one number each, and the counts, of one set that was checked."""
        words = A[:, 0].astype(np.int64)
        ranks = min(self.n_ranks, len(A) - 1)
        if ranks < 1:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        D = linalg.sqdist(np.ascontiguousarray(A[:, 1:]))
        np.fill_diagonal(D, np.inf)
        nearest_words = words[np.argsort(D, axis=1, kind="stable")[:, :ranks]]  # (n, ranks)
        pair = words[:, None] * self.n_words + nearest_words  # (i, j) as one number, (n, ranks)
        # A neighbor of rank s is among the r nearest for all r ≥ s.
        place = [pair[:, : r + 1] * self.n_ranks + r for r in range(ranks)]
        return np.unique(np.concatenate([p.ravel() for p in place]), return_counts=True)

    def _phi(self, sets: Any) -> sparse.csr_array:
        columns, lengths = [np.zeros(0, np.int64)], []
        for A in sets:
            place, count = self.counts(A)
            count = np.minimum(count, MOST)
            unit = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)  # 0, …, count − 1 of each place
            columns.append(np.repeat(place, count) * MOST + unit)
            lengths.append(count.sum())
        ends = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        entries = np.ones(ends[-1]), np.concatenate(columns), ends
        phi = sparse.csr_array(entries, shape=(len(lengths), self.n_words**2 * self.n_ranks * MOST))
        return linalg.unit_rows(phi) if self.normalize else phi


@dataclass(frozen=True)
class Correspondence(Stored):
    """How far the features of two images are from their best matches in the other (Zhang et al. 2006, "CORR").

    With the cost c of a pair of features::

        d²(A, B) = ½ mean_{a∈A} min_{b∈B} c(a, b) + ½ mean_{b∈B} min_{a∈A} c(a, b),
        c(a, b) = ‖descriptor_a − descriptor_b‖² + weight · ‖place_a − place_b‖².

    ``DistanceKernel(Correspondence(), g="origin", origin=A)`` is the kernel of Jain 2009, §4.3.3. It need not be
    positive semi-definite; ``Precomputed(K, spectrum="clip")`` repairs a matrix of it.

    Parameters
    ----------
    n_places : int
        The first so many columns of a feature are its place, the others its descriptor.
    weight : float
        Weight of places beside descriptors.

    See Also
    --------
    gramian.PyramidMatch : Faster matches of two sets.
    gramian.ProximityDistribution : Which words lie near which.

    Examples
    --------
    >>> import numpy as np, gramian as gm
    >>> A, B = np.array([[0.0, 0.0, 1.0]]), np.array([[0.0, 2.0, 1.0], [0.0, 0.0, 4.0]])
    >>> round(gm.Correspondence(n_places=2, weight=0.25)(A, B) ** 2, 9)
    3.0
    """

    n_places: Index = 2
    weight: Size = 1.0

    def __post_init__(self) -> None:
        check(self)

    def __call__(self, a: Any, b: Any) -> float:
        """Distance of two sets of features (m, n_places + d), neither of them empty."""
        return float(self.pairwise([a], [b])[0, 0])

    def pairwise(self, A: Any, B: Any) -> np.ndarray:
        """Distances of all sets of A to all of B, (n, m)."""
        left = [self._weighted(a) for a in A]
        right = left if B is A else [self._weighted(b) for b in B]
        D = np.zeros((len(left), len(right)))
        for i, a in enumerate(left):
            for j, b in enumerate(right):
                cost = linalg.sqdist(a, b)
                D[i, j] = (cost.min(axis=1).mean() + cost.min(axis=0).mean()) / 2
        return np.sqrt(D)

    def _weighted(self, A: Any) -> np.ndarray:
        """Features with places in units of descriptors."""
        A = one_set(A, "X", "Correspondence")
        if len(A) == 0 or A.shape[1] < self.n_places:
            raise ValueError(
                f"Correspondence: each set must hold features with {self.n_places} places, got shape {A.shape}."
            )
        units = np.ones(A.shape[1])
        units[: self.n_places] = np.sqrt(self.weight)
        return A * units


def one_set(A: Any, name: str, owner: str) -> np.ndarray:
    """A set of vectors as a finite array (m, d); an empty one is allowed."""
    A = np.asarray(A)
    if A.ndim == 2 and A.shape[0] == 0:
        return np.zeros((0, A.shape[1]))
    return _validate.points(A, owner, name=f"each set of {name}", allow_sparse=False).astype(np.float64)
