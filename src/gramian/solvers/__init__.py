"""Solvers of the framework problem."""

from gramian.solvers.base import InfeasibleError, Problem, Solution, Solver
from gramian.solvers.bregman import BregmanProjections
from gramian.solvers.dual import DualAscent
from gramian.solvers.slack import Hard, Hinge, Quadratic, Relative

__all__ = [
    "BregmanProjections",
    "DualAscent",
    "Hard",
    "Hinge",
    "InfeasibleError",
    "Problem",
    "Quadratic",
    "Relative",
    "Solution",
    "Solver",
]
