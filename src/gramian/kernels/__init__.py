"""Kernels as immutable values that add and multiply."""

from gramian.kernels.base import Kernel
from gramian.kernels.basic import Cosine, Gaussian, Laplacian, Linear, Polynomial
from gramian.kernels.objects import FunctionKernel, Precomputed

__all__ = ["Cosine", "FunctionKernel", "Gaussian", "Kernel", "Laplacian", "Linear", "Polynomial", "Precomputed"]
