"""Transductive distance learning: labels and the geometry of all points in one sparse eigenproblem."""

from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any, Literal

import numpy as np
from scipy import sparse
from sklearn.base import clone

from gramian import _memory, linalg
from gramian._settings import Count, Points, Seed, Share, Size, whole
from gramian.constraints import Constraints
from gramian.features import KernelFeatures
from gramian.features.landmarks import Choice
from gramian.kernels import Kernel
from gramian.manifold.eigen import Search
from gramian.manifold.geometry import Geometry, Named, symmetric
from gramian.manifold.graph import Graph, NeighborGraph
from gramian.manifold.penalties import KernelPenalty, Penalty, Spectrum, constraint_cost, cost_matrix, on_gram
from gramian.manifold.transductive import Several, Transductive, fit_part, is_partial

FACTORS = (100.0, 10.0, 1.0)
"""λ tried by default, in units of one over the eigenvalue of the penalty at the last component."""
SPAN = 4
"""Smoothest eigenvectors for each component that λ is sought in by default."""


@dataclass(eq=False, repr=False)
class TDL(Transductive):
    """Use few labels and many points without: coordinates that follow the shape of the data.

    min tr(Xᵀ(C' + λP')X) over orthonormal X orthogonal to the constant (Li, Yang and Wang 2007, (3)).

    C' = 2(diag(Ce) − C) with C the symmetrized cost (6): every labeled point wants its k nearest labeled points of
    the same class near and the k nearest of other classes far. P' keeps what is near in the geometry of all points,
    labeled or not, near. The rows of X are the new coordinates; the learned distance is Euclidean in them.

    Followed as printed, but for three readings: (6) is symmetrized, the constant vector is removed by deflation
    (C' + λP' may be indefinite), and columns are orthonormal, as in Algorithm 1, where (3) asks for Tr(XᵀX) = 1 alone
    (``normalization``). With ``penalty="normalized"`` the trivial vector is D^{1/2}e. New points, which the
    paper leaves to problem (7), are placed by (7) when the penalty is a Kernel, by the kernels of Isomap and locally
    linear embedding with these, otherwise along the graph (:class:`~gramian.manifold.AlongGraph`).

    Parameters
    ----------
    n_components : int or "auto"
        Number of eigenvectors, at most n − 1; "auto": one for each class, and at least two.
    lam : float, sequence of float, or "auto"
        λ. Of several, the one with the best cross-validated accuracy on the labeled points; ties go to the largest.
        "auto": 1, 10 or 100 over the eigenvalue of P' at ``n_components``, within a smooth span (``rank``).
    n_neighbors : int
        Neighbors in the default graph, and k of the cost unless ``cost_neighbors`` is given. Must be less than the
        number of points; the default, 20, takes all others where they are fewer.
    penalty : {"laplacian", "normalized", "lle", "isomap"}, Kernel, or matrix (n, n)
        P': L = D − A, the normalized Laplacian, (I − W)ᵀ(I − W) of locally linear embedding, K⁺ of Isomap's kernel,
        K⁺ of a kernel (on vectors or any other objects), or any symmetric matrix.
    cost : matrix (n, n) or callable, optional
        C of your own in place of (6), with tr(CD) to be small; ``cost(X, codes)`` gets codes of the labels, −1 where
        unknown. Pairs, triplets and other constraints are costs too: give them as y.
    cost_neighbors : int, optional
        k of the cost (6).
    graph : Graph or adjacency matrix, optional
        NeighborGraph(n_neighbors) when None. Its distance is used for the cost as well.
    smoothness : float or matrix (n, n)
        With a Kernel: P' = K⁺ + HMH, the manifold term of Theorem 4, with M = smoothness · (D − A) or M itself.
    rank : int, optional
        With a Kernel: number of landmark coordinates; None is all, and 300 beyond 5,000 points.
        With "laplacian" or "normalized": X is
        sought in the span of that many smoothest eigenvectors (two or three times ``n_components``), so that labeled
        points stay with their neighbors however small λ is, and a grid of λ costs one eigenproblem in all; None is four
        times ``n_components`` when λ is found automatically, and no such span when it is given.
    basis : str or points
        With a Kernel and ``rank``: how landmarks are chosen, see :class:`KernelFeatures`; "kmeans" when None, and
        "random-cholesky" for objects that are no vectors.
    features : KernelFeatures, optional
        With a Kernel: the coordinates themselves, in place of ``rank`` and ``basis``.
    anchor : float in [0, 1] or "auto"
        Weight of the plain distance in the votes of ``predict``; 0 is the learned distance alone, as in the paper.
        "auto": by the labels, together with λ, of 0, 0.5, 0.75, 0.9 and 1; the plain distance (1) stays unless another
        gets clearly more held-out labels right, or as many while its votes cut at most half as many edges of the graph.
        0 where λ is one number. ``metric_`` is not anchored.
    n_votes : int
        Labeled neighbors that vote in ``predict``.
    normalization : {"orthonormal", "trace"}
        XᵀX = I, or Tr(XᵀX) = 1 as (3) prints it. The optimum under the trace has rank one: all its columns are
        multiples of the smallest eigenvector, which alone is kept.
    tol : float
        Accuracy of the Lanczos iteration for more than 1,000 points.
    max_iter : int, optional
        Its limit.
    random_state : int or generator, optional
        Draws its start, landmarks, and the folds for λ.

    Attributes
    ----------
    embedding_ : array (n, n_components)
        Coordinates of the training points.
    eigenvalues_ : array (n_components,)
        Ascending; some may be negative.
    classes_ : array
        The labels, each once.
    codes_ : array (n,)
        Labels as places in ``classes_``, −1 where unknown.
    metric_ : GraphMetric or KernelMetric
        The learned distance, on training and new points.
    lam_ : float
        λ used.
    anchor_ : float
        Anchor used.
    evidence_ : dict
        Share of held-out labels that were right by the "learned" distance (anchored at most 0.9), the "plain" one and
        label "spreading"; NaN where nothing was chosen.
    transduction_ : array (n,) or None
        Places in ``classes_`` of the labels of all training points, where votes are anchored.
    voters_ : Voters
        The labeled points, as they vote.
    n_iter_ : int
        Matrix-vector products of the eigensolver; 1 when it was dense.
    n_connected_components_ : int
        Of the graph.
    part_ : array or None
        Rows whose geometry was learned, where there are more than 30,000 points and labels: that of a part, unless
        ``graph`` is given or λ is one number, and all others are placed as new points are.

    See Also
    --------
    gramian.GeometryAwareKernel : From pairs as well.
    gramian.LaplacianEigenmaps : Without labels.

    Examples
    --------
    >>> import numpy as np, gramian as gm
    >>> moons = gm.datasets.moons(120, noise=0.05, random_state=0)
    >>> y = np.where(np.arange(120) < 12, moons.y, -1)  # a tenth of the labels
    >>> labels = gm.TDL(2, lam=10.0, n_neighbors=10).fit(moons.X, y).predict()
    >>> bool(np.mean(labels == moons.y) > 0.95)
    True
    """

    n_components: Literal["auto"] | Count = "auto"
    lam: Literal["auto"] | Several = "auto"
    _: KW_ONLY
    n_neighbors: Count = 20
    penalty: Named | Kernel | np.ndarray = "laplacian"
    cost: Callable[..., Any] | np.ndarray | None = None
    cost_neighbors: Count | None = None
    graph: Graph | np.ndarray | None = None
    smoothness: Size | np.ndarray = 0.0
    rank: Count | None = None
    basis: Choice | Points | None = None
    features: KernelFeatures | None = None
    anchor: Literal["auto"] | Share = "auto"
    n_votes: Count = 1
    normalization: Literal["orthonormal", "trace"] = "orthonormal"
    tol: Size = 1e-4
    max_iter: Count | None = None
    random_state: Seed = None

    @whole
    def fit(self, X: Any, y: Any = None) -> "TDL":
        """Embed all points; y holds labels of any type, −1 where unknown, or constraints to pay for.

        A cost of your own needs no y.
        """
        if y is None and self.cost is not None:
            y = np.full(linalg.count(X), -1)
        X, side = self._door(X, y)
        self._require_neighbors(linalg.count(X))
        if self._is_partial(X, side):
            graph = NeighborGraph(self.n_neighbors)
            fit_part(self, X, self.penalty, "graph=NeighborGraph(…)", graph=graph)
            return self
        k = self._n_components()
        search = Search(self.tol, self.max_iter, self.random_state)
        built = self._geometry(k).penalty(X, search, "TDL")
        penalty = built.penalty
        # Objects that are no vectors are near by their kernel coordinates.
        plain = penalty.Z if self._on_objects and isinstance(penalty, KernelPenalty) else X

        def solutions(codes: np.ndarray | None, grid: list[float]) -> Iterator[Spectrum]:
            C = self._cost(plain, codes, side)  # once for all λ
            columns = k if self.normalization == "orthonormal" else 1
            return (penalty.solve(C, lam, columns, search) for lam in grid)

        def embeddings(codes: np.ndarray, grid: list[float]) -> Iterator[np.ndarray]:
            return (spectrum.vectors for spectrum in solutions(codes, grid))

        grid = self._lambdas(penalty, k, search)
        choice = self._choose("lam", grid, plain, built.adjacency, embeddings)
        self.lam_ = choice.value
        self._store(built, next(solutions(self.codes_, [choice.value])))
        self._appoint(choice, plain)
        return self

    def _require_neighbors(self, n: int) -> None:
        if self.graph is None and self.n_neighbors >= n and self.n_neighbors != type(self).n_neighbors:
            raise ValueError(f"TDL: n_neighbors must be less than the number of points {n}, got {self.n_neighbors}.")

    def _is_partial(self, X: Any, side: Constraints | None) -> bool:
        """Whether a part of the points is learned from, and the others are placed as new ones."""
        free = self.graph is None and self.cost is None
        return free and not self._whole(X) and is_partial(self, side, self.penalty)

    def _whole(self, X: Any) -> bool:
        """Whether all points are learned from: one sparse eigenproblem that fits into memory, as λ is one number."""
        one = isinstance(self.lam, Real) and isinstance(self.penalty, str) and self.penalty != "isomap"
        n, k = linalg.count(X), self._n_components()
        # twice the neighbors of each point, the Krylov vectors of ARPACK, and copies of both
        needed = n * (100.0 * self.n_neighbors + 16.0 * (k + max(k, 40)) + 16.0 * k)
        return one and needed < 0.5 * _memory.available()

    def _n_components(self) -> int:
        if isinstance(self.n_components, str):
            return 2 if self.classes_ is None else max(2, len(self.classes_))
        return int(self.n_components)

    def _lambdas(self, penalty: Penalty, k: int, search: Search) -> list[float]:
        """λ to choose from, the largest first."""
        if not isinstance(self.lam, str):
            return self._grid("lam")[::-1]
        rough = penalty.solve(None, 1.0, k, search).values  # eigenvalues of P' alone
        unit = float(rough[-1]) if len(rough) and rough[-1] > 1e-10 * np.abs(rough).max() else 1.0
        return [factor / unit for factor in (FACTORS if self.codes_ is not None else FACTORS[1:2])]

    @property
    def _on_objects(self) -> bool:
        return isinstance(self.penalty, Kernel) and not self.penalty.on_vectors

    def _points(self, X: Any, reset: bool) -> Any:
        if isinstance(self.penalty, Kernel) and self._on_objects:
            return self.penalty.check(X)
        return super()._points(X, reset)

    def _plain(self, X: Any) -> Any:
        return self.metric_.coordinates.z(X) if self._on_objects else X

    def _labeled(self, X: Any, y: Any) -> tuple[Any, Any]:
        return (self._points(X, reset=True), y) if self._on_objects else super()._labeled(X, y)

    def _geometry(self, k: int) -> Geometry:
        rank = self.rank
        features = None
        if isinstance(self.penalty, Kernel):
            features = self._features()
        elif rank is not None:
            rank = max(int(rank), k)
        elif isinstance(self.lam, str):
            rank = SPAN * k
        return Geometry(self.penalty, self.n_neighbors, self.graph, rank, features, self.smoothness)

    def _features(self) -> KernelFeatures:
        """Coordinates of the kernel, centered: those given, all, or those of landmarks."""
        if self.features is not None:
            features: KernelFeatures = clone(self.features).set_params(kernel=self.penalty, center=True)
            return features
        basis = self.basis
        if basis is None:
            landmarks = "random-cholesky" if self._on_objects else "kmeans"
            basis = "cholesky" if self.rank is None else landmarks
        return KernelFeatures(self.penalty, rank=self.rank, basis=basis, center=True, random_state=self.random_state)

    def _cost(self, X: Any, codes: Any, side: Constraints | None) -> Any:
        """C' of your own cost, of the constraints, or of (6) for the given codes."""
        n = X.shape[0]
        if callable(self.cost):
            return on_gram(sparse.csr_array(symmetric(self.cost(X, codes), n, "TDL", "cost")))
        if self.cost is not None:
            return on_gram(sparse.csr_array(symmetric(self.cost, n, "TDL", "cost")))
        if side is not None:
            return constraint_cost(side.check(X, "TDL"), n)
        k = self.n_neighbors if self.cost_neighbors is None else self.cost_neighbors
        search = {name: getattr(self.graph, name, None) for name in ("distance", "shortlist")}
        return on_gram(cost_matrix(X, codes, int(k), **search))
