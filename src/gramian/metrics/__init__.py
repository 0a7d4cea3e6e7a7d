"""Learned distances as immutable values."""

from gramian.metrics.base import Metric
from gramian.metrics.named import KernelMetric, Mahalanobis, SubspaceMahalanobis

__all__ = ["KernelMetric", "Mahalanobis", "Metric", "SubspaceMahalanobis"]
