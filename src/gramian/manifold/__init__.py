"""Distances and kernels that follow the geometry of unlabeled data."""

from gramian.manifold.eigenmaps import LaplacianEigenmaps
from gramian.manifold.extension import AlongGraph, ByGeodesics, ByWeights, Extension
from gramian.manifold.families import (
    Family,
    InductiveFamily,
    RBFFamily,
    SpectralFamily,
    diffusion_factor,
    graph_basis,
)
from gramian.manifold.gml import GeometryAwareKernel
from gramian.manifold.graph import (
    BallGraph,
    GaussianGraph,
    Graph,
    NeighborGraph,
    laplacian,
    n_connected_components,
    neighbors,
)
from gramian.manifold.kernel_sets import KernelSet
from gramian.manifold.metric import GraphMetric
from gramian.manifold.tdl import TDL

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
    "diffusion_factor",
    "graph_basis",
    "laplacian",
    "n_connected_components",
    "neighbors",
]
