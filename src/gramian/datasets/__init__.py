"""Data sets by name, and small synthetic problems.

>>> import gramian as gm
>>> gm.datasets.load("iris").X.shape
(150, 4)
"""

from gramian.datasets.loaders import Dataset, load, names
from gramian.datasets.synthetic import moons, nuisance, rings, stretched, two_views, xor

__all__ = ["Dataset", "load", "moons", "names", "nuisance", "rings", "stretched", "two_views", "xor"]
