"""The public names of metric-learn 0.7 over our learners: ``import gramian.compat.metric_learn as metric_learn``.

Constructors, methods, attributes and messages are theirs; the problems are solved by ours. Where the two differ on
purpose a warning says so once (:class:`~gramian.compat.metric_learn.exceptions.DifferenceWarning`).
"""

from gramian.compat.metric_learn.constraints import Constraints
from gramian.compat.metric_learn.covariance import Covariance
from gramian.compat.metric_learn.itml import ITML, ITML_Supervised
from gramian.compat.metric_learn.lfda import LFDA
from gramian.compat.metric_learn.lmnn import LMNN
from gramian.compat.metric_learn.lsml import LSML, LSML_Supervised
from gramian.compat.metric_learn.mlkr import MLKR
from gramian.compat.metric_learn.mmc import MMC, MMC_Supervised
from gramian.compat.metric_learn.nca import NCA
from gramian.compat.metric_learn.rca import RCA, RCA_Supervised
from gramian.compat.metric_learn.scml import SCML, SCML_Supervised
from gramian.compat.metric_learn.sdml import SDML, SDML_Supervised

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
