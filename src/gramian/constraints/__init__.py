"""Side information as sets of linear constraints on the learned kernel."""

from gramian.constraints.base import Constraints, Labels, Terms
from gramian.constraints.chunklets import Chunklets
from gramian.constraints.pairs import Pairs
from gramian.constraints.probabilities import Probabilities
from gramian.constraints.similarities import Similarities
from gramian.constraints.triplets import Triplets

__all__ = [
    "Chunklets",
    "Constraints",
    "Labels",
    "Pairs",
    "Probabilities",
    "Similarities",
    "Terms",
    "Triplets",
]
