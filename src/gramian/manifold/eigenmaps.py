"""Embeddings of graphs: what all of them share, and Laplacian eigenmaps, the plainest one."""

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from gramian import _validate
from gramian._settings import Count, Seed, Size, whole
from gramian.manifold.eigen import Search
from gramian.manifold.geometry import Built, Geometry
from gramian.manifold.graph import Graph
from gramian.manifold.penalties import Spectrum
from gramian.metrics import Metric
from gramian.metrics.base import answer


class GraphEmbedding(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base: ``fit`` sets ``embedding_`` (n, k) and ``metric_``, whose coordinates of the training points these are."""

    embedding_: np.ndarray
    metric_: Metric

    def _points(self, X: Any, reset: bool) -> Any:
        return _validate.estimator_points(self, X, reset=reset, min_points=2 if reset else 1)

    def transform(self, X: Any) -> np.ndarray:
        """Coordinates of points (n, k), in which the Euclidean distance is the learned one.

        Training points have their row of ``embedding_``.
        """
        check_is_fitted(self, "metric_")
        coordinates: np.ndarray = answer(self.metric_.transform_of(self._points(X, reset=False)), X)
        return coordinates

    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        """Fit and return ``embedding_``."""
        embedding: np.ndarray = self.fit(X, y).embedding_.copy()
        return embedding

    def _store(self, built: Built, spectrum: Spectrum) -> None:
        """Keep what the eigenproblem of a penalty gave."""
        self.eigenvalues_ = spectrum.values
        self.embedding_ = spectrum.vectors
        self.n_iter_ = spectrum.n_iter
        self.n_connected_components_ = built.n_components
        self.metric_ = built.penalty.place(spectrum)

    @property
    def _n_features_out(self) -> int:
        return int(self.embedding_.shape[1])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


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
        self._store(built, built.penalty.solve(None, 1.0, k, search))
        return self
