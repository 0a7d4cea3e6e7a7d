"""Out of sample: an embedding of training points carried to new ones along the graph."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from gramian.coordinates import Plain
from gramian.metrics import WORDS, Metric


@dataclass(frozen=True, eq=False)
class GraphSpace(Plain):
    """z(x) = f(x): rows of an embedding F (n, k) on training points, carried to new ones along a graph.

    A new vertex x with edge weights w_j to the training points must satisfy its own row of the eigenproblem
    L f = ν f, which gives

        f(x) = Σ_j w_j f_j / (d − ν)                        for L = D − A, with d = Σ_j w_j,
        f(x) = d^{−1/2} Σ_j w_j d_j^{−1/2} f_j / (1 − ν)    for the normalized Laplacian:

    Nyström's formula for Laplacian eigenmaps. ν is held at half of the pole at most. A training point has
    its own row of F, and a point without edges has the mean.
    """

    points: Any = None
    embedding: np.ndarray = None  # type: ignore[assignment]
    graph: Any = None
    shift: np.ndarray = None  # type: ignore[assignment]
    degree: np.ndarray | None = None

    @property
    def size(self) -> int:
        """Number of coordinates of the embedding."""
        return self.embedding.shape[1]

    def back(self, Z: np.ndarray) -> None:  # type: ignore[override]
        """No points of a graph are known but its own."""
        return

    def difference(self, X: Any, Y: Any) -> np.ndarray:
        """f(x) − f(y)."""
        return self.z(X) - self.z(Y)

    def z(self, X: Any) -> np.ndarray:
        """f(x)."""
        known = same_rows(self.points, X)
        out = self.embedding[known]
        new = np.flatnonzero(known < 0)
        if len(new):
            out[new] = self._extend(X[new])
        return out

    def _extend(self, X: Any) -> np.ndarray:
        W = self.graph.link(self.points, X)
        d = np.asarray(W.sum(axis=1)).ravel()
        inverse = np.divide(1.0, d, out=np.zeros_like(d), where=d > 0)
        if self.degree is None:
            F = inverse[:, None] * np.asarray(W @ self.embedding)
            pole = 1 - inverse[:, None] * self.shift
        else:
            half = np.divide(1.0, np.sqrt(self.degree), out=np.zeros_like(self.degree), where=self.degree > 0)
            F = np.sqrt(inverse)[:, None] * np.asarray(W @ (half[:, None] * self.embedding))
            pole = 1 - np.broadcast_to(self.shift, F.shape)
        F = F / np.maximum(pole, 0.5)
        F[d == 0] = self.embedding.mean(axis=0)
        return F


class GraphMetric(Metric):
    """Euclidean distance in a spectral embedding F (n, k), defined on training points and on new ones.

    Parameters
    ----------
    points : array (n, d)
    embedding : array (n, k)
        F.
    graph : Graph
        Gives the weights of new points.
    shift : array (k,)
        ν, the eigenvalue over λ.
    degree : array (n,), optional
        d_j for the normalized Laplacian; None for L = D − A.
    """

    def __init__(self, points: Any, embedding: Any, graph: Any, shift: Any, degree: Any = None) -> None:
        super().__init__(GraphSpace(points.shape[1], points, embedding, graph, shift, degree), np.eye(len(shift)))


WORDS[GraphSpace] = GraphMetric


def same_rows(points: Any, X: Any) -> np.ndarray:
    """For each row of X the first equal row of ``points``, −1 when there is none."""
    first: dict[bytes, int] = {}
    for i, key in enumerate(_keys(points)):
        first.setdefault(key, i)
    return np.array([first.get(key, -1) for key in _keys(X)], dtype=np.intp)


def _keys(X: Any) -> list[bytes]:
    from hashlib import blake2b

    if sparse.issparse(X):
        X = sparse.csr_array(X, copy=True)
        X.sort_indices()
        cuts = zip(X.indptr[:-1], X.indptr[1:])
        rows = (X.indices[a:b].astype(np.int64).tobytes() + X.data[a:b].astype(float).tobytes() for a, b in cuts)
    else:
        rows = (np.ascontiguousarray(row, dtype=np.float64).tobytes() for row in X)
    return [blake2b(row, digest_size=16).digest() for row in rows]
