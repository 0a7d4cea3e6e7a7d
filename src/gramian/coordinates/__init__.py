"""Coordinates z: points → rows of r numbers, the value that metrics, learners and indexes stand on."""

from gramian.coordinates.base import Coordinates, Rest
from gramian.coordinates.beside import BesideFeatures
from gramian.coordinates.kernel import KernelSpace
from gramian.coordinates.linear import Angles, Plain, Subspace, UnitRows, orthonormal

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
