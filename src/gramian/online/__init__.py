"""Online metric learning: one constraint at a time, a metric at any time."""

from gramian.online.base import KINDS, OnlineRule
from gramian.online.lego import LEGO, LegoRule, OnlineITML, OnlineITMLRule, loss_bound
from gramian.online.pola import OnlinePOLA, PolaRule
from gramian.online.vonneumann import OnlineVonNeumann, VonNeumannRule

__all__ = [
    "KINDS",
    "LEGO",
    "LegoRule",
    "OnlineITML",
    "OnlineITMLRule",
    "OnlinePOLA",
    "OnlineRule",
    "OnlineVonNeumann",
    "PolaRule",
    "VonNeumannRule",
    "loss_bound",
]
