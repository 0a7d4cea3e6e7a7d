"""Kernels as immutable values that add and multiply."""

from gramian.kernels.base import Kernel
from gramian.kernels.basic import Cosine, Gaussian, Laplacian, Linear, Polynomial

__all__ = ["Cosine", "Gaussian", "Kernel", "Laplacian", "Linear", "Polynomial"]
