"""Several clusterings of the same data, each a distance of its own (Jain 2009, chapter 8)."""

from gramian.clustering.baselines import feature_removal, orthogonal_projection
from gramian.clustering.convolutional import ConvolutionalEM
from gramian.clustering.cvq import CooperativeVQ
from gramian.clustering.decorrelated import DecorrelatedKMeans
from gramian.clustering.mcvq import MultipleCauseVQ
from gramian.clustering.penalty import largest_drop, parting
from gramian.clustering.scores import Match, accuracy, match, redundancy, table
from gramian.clustering.selection import Selection, select_clusterings

__all__ = [
    "ConvolutionalEM",
    "CooperativeVQ",
    "DecorrelatedKMeans",
    "Match",
    "MultipleCauseVQ",
    "Selection",
    "accuracy",
    "feature_removal",
    "largest_drop",
    "match",
    "orthogonal_projection",
    "parting",
    "redundancy",
    "select_clusterings",
    "table",
]
