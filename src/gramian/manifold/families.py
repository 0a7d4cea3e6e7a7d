"""Sets 𝓜 of kernels that follow the data, for geometry-aware learning (Jain 2009, §6.1).

A family holds settings; ``build(X)`` makes of it a :class:`KernelSet` on given points. There each kernel is
M(θ) = Z C(θ) Zᵀ with fixed coordinates Z (n, m), and so is the learned one, K = Z B Zᵀ. The divergence is then
D(B, C(θ)) in m dimensions, and a set says only: Z, where θ starts, C(θ), which θ is nearest to a given B (step B of
Algorithm 1 there), and how coordinates go on to new points.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np

from gramian import _validate, linalg
from gramian._settings import Count, Positive, Size, check, checked
from gramian.features import KernelFeatures
from gramian.kernels import Gaussian, Kernel
from gramian.kernels.basic import median_scale
from gramian.manifold.eigen import Eigenvectors, Search, smallest_eigenvectors
from gramian.manifold.extension import AlongGraph
from gramian.manifold.geometry import Geometry, Named, connect
from gramian.manifold.graph import Graph, NeighborGraph, laplacian
from gramian.manifold.kernel_sets import KernelSet, Ordered, Regularized, Widths
from gramian.manifold.metric import graph_metric
from gramian.manifold.penalties import KernelPenalty, Spectrum

OWNER = "GeometryAwareKernel"


class Family(ABC):
    """Settings of a set 𝓜; one of your own can be given to :class:`~gramian.GeometryAwareKernel`."""

    __post_init__ = check

    @abstractmethod
    def build(self, X: Any, random_state: Any = None) -> KernelSet:
        """The set on the points X."""


@dataclass(frozen=True, eq=False)
class SpectralFamily(Family):
    """{Σ α_i v_i v_iᵀ : α₁ ≥ … ≥ α_r ≥ 0} on the smoothest vectors v_i of a geometry (Jain 2009, (6.3)).

    Parameters
    ----------
    geometry : {"laplacian", "normalized", "isomap", "lle"} or array
        Whose vectors: those of the graph Laplacian, also the normalized one, of Isomap, of locally linear embedding, of
        a symmetric matrix (n, n), or orthonormal vectors (n, r) of your own, the smoothest first.
    n_eigenvectors : int
        r.
    n_neighbors : int
    graph : Graph or adjacency matrix, optional
        NeighborGraph(n_neighbors) when None.
    diffusion : float
        t of the diffusion kernel, α_i = exp(−t μ_i), that M starts from; Isomap's own kernel with "isomap".
    keep_volume : bool, optional
        Minimize over M of fixed determinant. Without an upper pull the printed problem (6.4) has a trivial solution, K
        and M both shrunk until every similar pair is near enough; this removes it, and step B stays in closed form.
        None: only when no constraint keeps points apart.
    """

    geometry: Named | np.ndarray = "laplacian"
    n_eigenvectors: Count = 20
    _: KW_ONLY
    n_neighbors: Count = 10
    graph: Graph | np.ndarray | None = None
    diffusion: Size = 0.1
    keep_volume: bool | None = None

    def build(self, X: Any, random_state: Any = None) -> Ordered:
        """The set on the points X."""
        r = int(self.n_eigenvectors)
        if np.ndim(self.geometry) == 2 and np.shape(self.geometry)[1] != X.shape[0]:
            return self._on_vectors(X)
        search = Search(random_state=random_state)
        built = Geometry(self.geometry, self.n_neighbors, self.graph).penalty(X, search, OWNER)
        spectrum = built.penalty.solve(None, 1.0, r, search)
        if isinstance(built.penalty, KernelPenalty):
            start = spectrum.values[:1] / spectrum.values  # of the kernel itself, the largest one 1
        else:
            start = diffusion(spectrum.values, self.diffusion)
        return Ordered(spectrum.vectors, start, built.penalty.place, self.keep_volume, basis=spectrum, graph=built)

    def _on_vectors(self, X: Any) -> Ordered:
        """On vectors of the user's, which new points join as the mean of their neighbors."""
        V = _validate.points(self.geometry, OWNER, allow_sparse=False, name="geometry").astype(float)
        if len(V) != X.shape[0] or not np.allclose(V.T @ V, np.eye(V.shape[1]), atol=1e-6):
            raise ValueError(f"{OWNER}: geometry must have {X.shape[0]} rows and orthonormal columns, got {V.shape}.")
        basis = Spectrum(np.arange(V.shape[1], dtype=float), V, 1)
        rule = AlongGraph(NeighborGraph(self.n_neighbors))
        start = np.ones(V.shape[1])  # α = 1: all vectors alike
        return Ordered(V, start, lambda f: graph_metric(X, f.vectors, rule), self.keep_volume, basis=basis)


@dataclass(frozen=True, eq=False)
class InductiveFamily(Family):
    """{(S⁻¹ + T)⁻¹ : T = Σ θ_i v_i v_iᵀ + θ_{r+1}(I − VVᵀ), 0 ≤ θ₁ ≤ … ≤ θ_{r+1}}, for new points too (6.5).

    The thesis prints θ₁ ≥ … ≥ θ_r, but names (6.3) as the limit S⁻¹ → 0, where α_i = 1/θ_i must fall: the order
    is reversed here. It then has to go on: without θ_{r+1}, one number for all vectors rougher than the r-th, these
    alone would be free, and a kernel S of high rank would follow them instead of the graph.

    Parameters
    ----------
    kernel : Kernel, optional
        S; a Gaussian with the median distance as its scale when None.
    rank : int
        Landmark coordinates of S.
    n_eigenvectors, n_neighbors, graph, diffusion
        As in :class:`SpectralFamily`.
    normalized : bool
        Vectors of the normalized Laplacian.
    variant : {"reversed", "as_printed"}
        "as_printed" has θ₁ ≥ … ≥ θ_r ≥ 0 and no θ_{r+1}.
    """

    kernel: Kernel | Callable[..., Any] | None = None
    rank: Count = 200
    _: KW_ONLY
    n_eigenvectors: Count = 20
    n_neighbors: Count = 10
    graph: Graph | np.ndarray | None = None
    diffusion: Size = 0.1
    normalized: bool = False
    variant: Literal["reversed", "as_printed"] = "reversed"

    def build(self, X: Any, random_state: Any = None) -> Regularized:
        """The set on the points X."""
        printed = self.variant == "as_printed"
        r = int(self.n_eigenvectors)
        search = Search(random_state=random_state)
        connected = connect(self.graph, self.n_neighbors, X, OWNER)
        L, trivial = laplacian(connected.adjacency, self.normalized)
        basis = Spectrum(*smallest_eigenvectors(L, r, trivial, search))
        kernel = Gaussian(median_scale(X)) if self.kernel is None else self.kernel
        features = KernelFeatures(kernel, rank=self.rank, center=True, random_state=random_state)
        Z = features.fit_transform(X)  # (n, m)
        theta = 1 / diffusion(basis.values, self.diffusion)  # θ_i = 1/α_i
        if printed:
            start = np.full(len(theta), theta.mean())
        else:
            # All rougher vectors begin at the mean of their eigenvalues, which the trace of L gives.
            rest = (L.trace() - basis.values.sum()) / max(X.shape[0] - 1 - r, 1)
            start = np.append(theta, max(1 / diffusion(rest, self.diffusion), theta[-1]))
        W = basis.vectors.T @ Z  # (r, m)
        return Regularized(Z, start, W, printed, features, basis=basis, graph=connected)


@dataclass(frozen=True, eq=False)
class RBFFamily(Family):
    """{α exp(−‖x_i − x_j‖² / 2σ²)}: scale and width of a Gaussian kernel (Jain 2009, (6.6)). Memory is n².

    Parameters
    ----------
    scale : float, optional
        σ that M starts from; the median distance when None.
    """

    scale: Positive | None = None

    def build(self, X: Any, random_state: Any = None) -> Widths:
        """The set on the points X."""
        scale = median_scale(X) if self.scale is None else float(self.scale)
        return Widths(X, linalg.sqdist(X.astype(np.float64)), np.array([1.0, scale]))


def diffusion(values: Any, t: float) -> np.ndarray:
    """The diffusion kernel's α_i = exp(−t μ_i), nonincreasing because eigenvalues ascend, and never 0."""
    return np.exp(-np.clip(t * np.asarray(values), 0, 30))


@checked
def graph_basis(A: Any, n_eigenvectors: Count = 200, *, normalized: bool = False) -> Eigenvectors:
    """The smoothest eigenvectors of a graph's Laplacian, constant left out, to share between kernels made of them."""
    L, trivial = laplacian(A, normalized)
    return smallest_eigenvectors(L, n_eigenvectors, trivial)


@checked
def diffusion_factor(A: Any, t: Size = 0.1, *, n_eigenvectors: Count = 200, normalized: bool = False) -> np.ndarray:
    """F (n, r) with FFᵀ = exp(−tL) on the smoothest eigenvectors, constant left out (Kondor and Lafferty, 2002).

    ``A`` is an adjacency matrix, or its :func:`graph_basis`.
    """
    values, V = smoothest(A, n_eigenvectors, normalized)
    factor: np.ndarray = V * np.sqrt(diffusion(values, t))
    return factor


def smoothest(A: Any, r: int, normalized: bool) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues (r,) and eigenvectors (n, r) of a graph, or of its :func:`graph_basis`."""
    values, V, _ = A if isinstance(A, Eigenvectors) else graph_basis(A, r, normalized=normalized)
    return values[:r], V[:, :r]


FAMILIES: dict[str, Family] = {
    "spectral": SpectralFamily(),
    "inductive": InductiveFamily(),
    "rbf": RBFFamily(),
    "isomap": SpectralFamily("isomap"),
    "lle": SpectralFamily("lle"),
}
