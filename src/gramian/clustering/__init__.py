"""Several clusterings of the same data, each a distance of its own (Jain 2009, chapter 8)."""

from gramian.clustering.decorrelated import DecorrelatedKMeans
from gramian.clustering.penalty import largest_drop
from gramian.clustering.scores import Match, accuracy, match, redundancy, table

__all__ = ["DecorrelatedKMeans", "Match", "accuracy", "largest_drop", "match", "redundancy", "table"]
