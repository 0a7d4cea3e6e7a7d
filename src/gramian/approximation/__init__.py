"""Distances to a whole set from distances to a few of its members."""

from gramian.approximation.selection import select_subset
from gramian.approximation.subset import SubsetDistance

__all__ = ["SubsetDistance", "select_subset"]
