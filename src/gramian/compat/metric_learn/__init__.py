"""The public names of metric-learn 0.7 over our learners: ``import gramian.compat.metric_learn as metric_learn``.

Constructors, methods, attributes and messages are theirs; the problems are solved by ours. Where the two differ on
purpose a warning says so once (:class:`~gramian.compat.metric_learn.exceptions.DifferenceWarning`).
"""

from gramian.compat.metric_learn.comparison_learners import LSML, SCML, LSML_Supervised, SCML_Supervised
from gramian.compat.metric_learn.constraints import Constraints
from gramian.compat.metric_learn.pair_learners import ITML, MMC, SDML, ITML_Supervised, MMC_Supervised, SDML_Supervised
from gramian.compat.metric_learn.point_learners import LFDA, LMNN, MLKR, NCA, RCA, Covariance, RCA_Supervised

__version__ = "0.7.0"
"""The version whose names these are."""

__all__ = [
    "ITML",
    "LFDA",
    "LMNN",
    "LSML",
    "MLKR",
    "MMC",
    "NCA",
    "RCA",
    "SCML",
    "SDML",
    "Constraints",
    "Covariance",
    "ITML_Supervised",
    "LSML_Supervised",
    "MMC_Supervised",
    "RCA_Supervised",
    "SCML_Supervised",
    "SDML_Supervised",
    "__version__",
]
