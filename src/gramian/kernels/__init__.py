"""Kernels as immutable values that add and multiply."""

from gramian.kernels.alignment import align, alignment
from gramian.kernels.base import Kernel
from gramian.kernels.basic import Cosine, Gaussian, Laplacian, Linear, Polynomial
from gramian.kernels.bhattacharyya import Bhattacharyya
from gramian.kernels.combinations import Weighted, polynomials, scaled_gaussians
from gramian.kernels.distance import DistanceKernel, Hamming
from gramian.kernels.histogram import ChiSquared, Intersection
from gramian.kernels.objects import FunctionKernel, Precomputed
from gramian.kernels.pyramid import PyramidMatch
from gramian.kernels.sets import Correspondence, ProximityDistribution
from gramian.kernels.tangent import TangentDistance

__all__ = [
    "Bhattacharyya",
    "ChiSquared",
    "Correspondence",
    "Cosine",
    "DistanceKernel",
    "FunctionKernel",
    "Gaussian",
    "Hamming",
    "Intersection",
    "Kernel",
    "Laplacian",
    "Linear",
    "Polynomial",
    "Precomputed",
    "ProximityDistribution",
    "PyramidMatch",
    "TangentDistance",
    "Weighted",
    "align",
    "alignment",
    "polynomials",
    "scaled_gaussians",
]
