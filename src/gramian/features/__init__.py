"""Coordinates of a kernel: the one map behind every kernelized learner."""

from gramian.features.cholesky import PivotedCholesky, pivoted_cholesky
from gramian.features.nystrom import KernelFeatures

__all__ = ["KernelFeatures", "PivotedCholesky", "pivoted_cholesky"]
