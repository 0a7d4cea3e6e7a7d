"""Learned distances as immutable values."""

from gramian.metrics.base import WORDS, Metric
from gramian.metrics.distances import answer
from gramian.metrics.words import KernelMetric, Mahalanobis, SubspaceMahalanobis, leading_root

__all__ = ["WORDS", "KernelMetric", "Mahalanobis", "Metric", "SubspaceMahalanobis", "answer", "leading_root"]
