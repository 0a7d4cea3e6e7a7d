"""Coordinates z: points → rows of r numbers, the value that metrics, learners and indexes stand on."""

from gramian.coordinates.angles import Angles
from gramian.coordinates.base import Coordinates
from gramian.coordinates.beside import BesideFeatures
from gramian.coordinates.kernel import KernelSpace
from gramian.coordinates.linear import Plain, Subspace, UnitRows, orthonormal
from gramian.coordinates.rest import Rest

__all__ = [
    "Angles",
    "BesideFeatures",
    "Coordinates",
    "KernelSpace",
    "Plain",
    "Rest",
    "Subspace",
    "UnitRows",
    "orthonormal",
]
