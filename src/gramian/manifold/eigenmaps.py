"""Laplacian eigenmaps."""

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from gramian._settings import Count, Seed, Size, whole
from gramian.manifold.base import GraphEmbedding
from gramian.manifold.eigen import Search
from gramian.manifold.geometry import Geometry
from gramian.manifold.graph import Graph


@dataclass(eq=False, repr=False)
class LaplacianEigenmaps(GraphEmbedding):
    """Find coordinates that change slowly from neighbor to neighbor.

    min tr(XᵀLX) over orthonormal X orthogonal to the trivial vector: the smoothest coordinates on a graph.

    Belkin and Niyogi (2003); :class:`TDL` without labels, or with its cost set to zero, is exactly this.

    Parameters
    ----------
    n_components : int
        Number of eigenvectors, at most n − 1.
    n_neighbors : int
        Neighbors of each point in the default graph (binary, symmetric by union).
    normalized : bool
        L = I − D^{−1/2}AD^{−1/2} instead of D − A. The trivial vector is then D^{1/2}e.
    graph : Graph or adjacency matrix (n, n), optional
        NeighborGraph(n_neighbors) when None.
    tol : float
        Accuracy of the Lanczos iteration for more than 1,000 points.
    max_iter : int, optional
        Its limit.
    random_state : int or generator, optional
        Draws its start.

    Attributes
    ----------
    embedding_ : array (n, n_components)
        Coordinates of the training points.
    eigenvalues_ : array (n_components,)
        Their eigenvalues, which say how fast each changes along the graph.
    metric_ : GraphMetric
        Euclidean distance in the embedding, for training and new points.
    n_iter_ : int
        Matrix-vector products of the eigensolver; 1 when it was dense.
    n_connected_components_ : int
        Of the graph. Zero eigenvalues beyond the trivial one come first and stay.

    See Also
    --------
    gramian.TDL : With a few labels.
    gramian.KernelFeatures : Coordinates of a kernel.

    Examples
    --------
    >>> import numpy as np, gramian as gm
    >>> X = np.linspace(0, 1, 50)[:, None]
    >>> first = gm.LaplacianEigenmaps(1, n_neighbors=2).fit_transform(X)[:, 0]
    >>> bool(abs(np.corrcoef(first, X[:, 0])[0, 1]) > 0.98)
    True
    """

    n_components: Count = 2
    n_neighbors: Count = 20
    _: KW_ONLY
    normalized: bool = False
    graph: Graph | np.ndarray | None = None
    tol: Size = 1e-4
    max_iter: Count | None = None
    random_state: Seed = None

    @whole
    def fit(self, X: Any, y: Any = None) -> "LaplacianEigenmaps":
        """Embed the points; y is ignored."""
        owner = "LaplacianEigenmaps"
        X = self._points(X, reset=True)
        k = int(self.n_components)
        kind = "normalized" if self.normalized else "laplacian"
        search = Search(self.tol, self.max_iter, self.random_state)
        built = Geometry(kind, self.n_neighbors, self.graph).penalty(X, search, owner)
        found = built.penalty.solve(None, 1.0, k, search)
        self.eigenvalues_ = found.values
        self.embedding_ = found.vectors
        self.n_iter_ = found.n_iter
        self.n_connected_components_ = built.n_components
        self.metric_ = built.penalty.place(found)
        return self
