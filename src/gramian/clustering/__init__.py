"""Several clusterings of the same data, each a distance of its own (Jain 2009, chapter 8)."""

from gramian.clustering.additive import CooperativeVQ
from gramian.clustering.convolutional import ConvolutionalEM
from gramian.clustering.decorrelated import DecorrelatedKMeans
from gramian.clustering.mcvq import MultipleCauseVQ
from gramian.clustering.penalty import largest_drop, parting
from gramian.clustering.scores import Match, Selection, accuracy, match, redundancy, select_clusterings, table

__all__ = [
    "ConvolutionalEM",
    "CooperativeVQ",
    "DecorrelatedKMeans",
    "Match",
    "MultipleCauseVQ",
    "Selection",
    "accuracy",
    "largest_drop",
    "match",
    "parting",
    "redundancy",
    "select_clusterings",
    "table",
]
