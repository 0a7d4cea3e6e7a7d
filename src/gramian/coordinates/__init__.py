"""Coordinates z: points → rows of r numbers, the value that metrics, learners and indexes stand on."""

from gramian.coordinates.base import Coordinates, Rest
from gramian.coordinates.beside import BesideFeatures
from gramian.coordinates.hellinger import Hellinger
from gramian.coordinates.kernel import KernelSpace
from gramian.coordinates.linear import Angles, Plain, Subspace, UnitRows, orthonormal
from gramian.coordinates.probabilities import (
    ForestProbabilities,
    HeldProbabilities,
    KernelProbabilities,
    LinearProbabilities,
    Probabilities,
    probabilities,
)

__all__ = [
    "Angles",
    "BesideFeatures",
    "Coordinates",
    "ForestProbabilities",
    "HeldProbabilities",
    "KernelProbabilities",
    "Hellinger",
    "KernelSpace",
    "LinearProbabilities",
    "Plain",
    "Probabilities",
    "Rest",
    "Subspace",
    "UnitRows",
    "orthonormal",
    "probabilities",
]
