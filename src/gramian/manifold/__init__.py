"""Distances and kernels that follow the geometry of unlabeled data."""

from gramian.manifold.eigenmaps import LaplacianEigenmaps
from gramian.manifold.extension import AlongGraph, ByGeodesics, ByWeights, Extension
from gramian.manifold.families import Family, InductiveFamily, RBFFamily, SpectralFamily
from gramian.manifold.gml import GeometryAwareKernel
from gramian.manifold.graph import (
    BallGraph,
    GaussianGraph,
    Graph,
    NeighborGraph,
    laplacian,
    n_connected_components,
)
from gramian.manifold.kernel_sets import KernelSet
from gramian.manifold.metric import GraphMetric
from gramian.manifold.neighbors import neighbors
from gramian.manifold.spectral_kernels import (
    diffusion_factor,
    gaussian_process_factor,
    graph_basis,
    maximal_alignment_factor,
    order_constrained_factor,
)
from gramian.manifold.tdl import TDL
from gramian.manifold.unfolding import colored_unfolding_factor

__all__ = [
    "RBFFamily",
    "TDL",
    "AlongGraph",
    "BallGraph",
    "ByGeodesics",
    "ByWeights",
    "Extension",
    "Family",
    "GaussianGraph",
    "GeometryAwareKernel",
    "Graph",
    "GraphMetric",
    "InductiveFamily",
    "KernelSet",
    "LaplacianEigenmaps",
    "NeighborGraph",
    "SpectralFamily",
    "colored_unfolding_factor",
    "diffusion_factor",
    "gaussian_process_factor",
    "graph_basis",
    "laplacian",
    "maximal_alignment_factor",
    "n_connected_components",
    "neighbors",
    "order_constrained_factor",
]
