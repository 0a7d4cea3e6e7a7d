"""Rank minimization over polyhedra, and low-rank kernels (Jain 2009, chapter 7)."""

from gramian.rankmin.base import RankResult
from gramian.rankmin.kernel_methods import Burg, Descent, Game, KernelMethod, Projection
from gramian.rankmin.lowrank_kernel import LowRankKernel
from gramian.rankmin.measurements import LowRank, Measurements
from gramian.rankmin.minimizer import RankMinimizer, RectangularResult, solve_rectangular
from gramian.rankmin.oracles import Atom, Ellipsoid, EntrywiseBall, Oracle, SchattenBall

__all__ = [
    "Atom",
    "Burg",
    "Descent",
    "Ellipsoid",
    "EntrywiseBall",
    "Game",
    "KernelMethod",
    "LowRank",
    "LowRankKernel",
    "Measurements",
    "Oracle",
    "Projection",
    "RankMinimizer",
    "RankResult",
    "RectangularResult",
    "SchattenBall",
    "solve_rectangular",
]
