"""Coordinates of a kernel: the one map behind every kernelized learner."""

from gramian.features.cholesky import PivotedCholesky, pivoted_cholesky
from gramian.features.kernel_features import KernelFeatures

__all__ = ["KernelFeatures", "PivotedCholesky", "pivoted_cholesky"]
