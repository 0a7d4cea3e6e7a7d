"""Learners: estimators that turn side information into a metric."""

from gramian.learners.auto_metric import AutoMetric
from gramian.learners.base import Learner
from gramian.learners.contrastive import Contrastive
from gramian.learners.covariance import Covariance
from gramian.learners.dne import DNE
from gramian.learners.framework import Framework
from gramian.learners.gmml import GMML
from gramian.learners.itml import ITML
from gramian.learners.kernelized import Kernelized
from gramian.learners.lfda import LFDA
from gramian.learners.lmnn import LMNN
from gramian.learners.lsml import LSML
from gramian.learners.mcml import MCML
from gramian.learners.mlkr import MLKR
from gramian.learners.mmc import MMC
from gramian.learners.model_bridge import ModelBridge
from gramian.learners.nca import NCA
from gramian.learners.plda import PLDA
from gramian.learners.pola import POLA
from gramian.learners.posteriors import Posteriors
from gramian.learners.query_adapter import QueryAdapter
from gramian.learners.rca import RCA
from gramian.learners.scml import SCML
from gramian.learners.sdml import SDML
from gramian.learners.tuple_classifier import TupleClassifier

__all__ = [
    "DNE",
    "GMML",
    "ITML",
    "LFDA",
    "LMNN",
    "LSML",
    "MCML",
    "MLKR",
    "MMC",
    "NCA",
    "PLDA",
    "POLA",
    "RCA",
    "AutoMetric",
    "SCML",
    "SDML",
    "Contrastive",
    "Covariance",
    "Framework",
    "Kernelized",
    "Learner",
    "ModelBridge",
    "Posteriors",
    "QueryAdapter",
    "TupleClassifier",
]
