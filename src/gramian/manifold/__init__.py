"""Distances and kernels that follow the geometry of unlabeled data."""

from gramian.manifold.eigenmaps import LaplacianEigenmaps
from gramian.manifold.extension import GraphMetric
from gramian.manifold.gml import GeometryAwareKernel
from gramian.manifold.graph import BallGraph, GaussianGraph, Graph, NeighborGraph, laplacian, n_pieces
from gramian.manifold.neighbors import neighbors
from gramian.manifold.spectral_kernels import diffusion_factor, graph_basis, order_constrained_factor
from gramian.manifold.tdl import TDL

__all__ = [
    "TDL",
    "BallGraph",
    "GaussianGraph",
    "GeometryAwareKernel",
    "Graph",
    "GraphMetric",
    "LaplacianEigenmaps",
    "NeighborGraph",
    "diffusion_factor",
    "graph_basis",
    "laplacian",
    "n_pieces",
    "neighbors",
    "order_constrained_factor",
]
