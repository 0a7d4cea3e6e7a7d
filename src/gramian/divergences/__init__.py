"""Regularizers of the framework: Bregman matrix divergences and linear objectives."""

from gramian.divergences.base import Divergence
from gramian.divergences.frobenius import Frobenius
from gramian.divergences.linear import LinearFrobenius, LinearLogDet
from gramian.divergences.logdet import LogDet
from gramian.divergences.spectral import Spectral, VonNeumann

__all__ = ["Divergence", "Frobenius", "LinearFrobenius", "LinearLogDet", "LogDet", "Spectral", "VonNeumann"]
