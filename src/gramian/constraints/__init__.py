"""Side information as sets of linear constraints on the learned kernel."""

from gramian.constraints.base import Constraints, Mixed, Terms
from gramian.constraints.chunklets import Chunklets
from gramian.constraints.comparisons import Comparisons, Quadruplets, Triplets
from gramian.constraints.feedback import Feedback
from gramian.constraints.labels import Labels
from gramian.constraints.pairs import Pairs
from gramian.constraints.probabilities import Probabilities
from gramian.constraints.similarities import RelativeSimilarities, Similarities

__all__ = [
    "Chunklets",
    "Comparisons",
    "Constraints",
    "Feedback",
    "Labels",
    "Mixed",
    "Pairs",
    "Probabilities",
    "Quadruplets",
    "RelativeSimilarities",
    "Similarities",
    "Terms",
    "Triplets",
]
