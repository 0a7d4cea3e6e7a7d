"""Learners whose look at the points is another one when these lie in blocks; all others are taken as they are."""

import copy
from typing import Any

from gramian.clustering import DecorrelatedKMeans
from gramian.dask.automatic import BlockedAutoMetric
from gramian.dask.blocks import OWNER
from gramian.dask.clusterings import BlockedKMeans
from gramian.dask.features import BlockedKernelFeatures
from gramian.dask.references import ReferenceMCML, ReferenceNCA
from gramian.features import KernelFeatures
from gramian.learners import MCML, NCA, AutoMetric, Kernelized
from gramian.learners.base import MetricLearner

BLOCKED: dict[type, type] = {
    NCA: ReferenceNCA,
    MCML: ReferenceMCML,
    AutoMetric: BlockedAutoMetric,
    KernelFeatures: BlockedKernelFeatures,
    DecorrelatedKMeans: BlockedKMeans,
}


def inner_of(learner: Any) -> Any:
    """A copy of the learner that works on blocks."""
    if isinstance(learner, Kernelized):
        raise TypeError(
            f"{OWNER}: Kernelized takes points in memory; fit KernelFeatures here, and a learner on transform of it."
        )
    if not isinstance(learner, MetricLearner) and type(learner) not in BLOCKED:
        raise TypeError(f"{OWNER}: learner must be a MetricLearner, KernelFeatures or DecorrelatedKMeans, got {learner!r}.")
    own = copy.copy(learner)
    own.__class__ = BLOCKED.get(type(learner), type(learner))
    return own
