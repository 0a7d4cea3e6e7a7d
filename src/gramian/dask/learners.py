"""Learners whose look at the points is another one when these lie in blocks; all others are taken as they are."""

import copy
from typing import Any

from gramian import _checks
from gramian.clustering import DecorrelatedKMeans
from gramian.dask.automatic import BlockedAutoMetric
from gramian.dask.blocks import OWNER
from gramian.dask.clusterings import BlockedKMeans
from gramian.dask.features import BlockedKernelFeatures
from gramian.dask.margins import BlockedLMNN
from gramian.dask.references import ReferenceMCML, ReferenceNCA
from gramian.features import KernelFeatures
from gramian.learners import LMNN, MCML, MLKR, NCA, SCML, AutoMetric, Contrastive, Kernelized, TupleClassifier
from gramian.learners.base import MetricLearner

BLOCKED: dict[type, type] = {
    NCA: ReferenceNCA,
    MCML: ReferenceMCML,
    LMNN: BlockedLMNN,
    AutoMetric: BlockedAutoMetric,
    KernelFeatures: BlockedKernelFeatures,
    DecorrelatedKMeans: BlockedKMeans,
}
IN_MEMORY = (Contrastive, Kernelized, MLKR, SCML, TupleClassifier)
IN_MEMORY_REMEDY = "fit it on a sample, or fit KernelFeatures here and a linear learner on the transform of it"


def inner_of(learner: Any) -> Any:
    """A copy of the learner that works on blocks."""
    if isinstance(learner, IN_MEMORY):
        raise TypeError(f"{OWNER}: {type(learner).__name__} needs all points in memory; {IN_MEMORY_REMEDY}.")
    if not isinstance(learner, MetricLearner) and type(learner) not in BLOCKED:
        wanted = "a MetricLearner, KernelFeatures or DecorrelatedKMeans"
        raise TypeError(f"{OWNER}: learner must be {wanted}, got {_checks.shown(learner)}.")
    if getattr(learner, "class_weight", None) is not None:
        raise ValueError(f"{OWNER}: class_weight is for points in memory; {IN_MEMORY_REMEDY}.")
    own = copy.copy(learner)
    own.__class__ = BLOCKED.get(type(learner), type(learner))
    return own
