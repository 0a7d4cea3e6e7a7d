"""Data sets by name, and small synthetic problems.

>>> import gramian as gm
>>> gm.datasets.load("iris").X.shape
(150, 4)
"""

from gramian.datasets.loaders import Dataset, load, names

__all__ = ["Dataset", "load", "names"]
