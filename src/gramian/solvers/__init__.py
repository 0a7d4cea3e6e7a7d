"""Solvers of the framework problem."""

from gramian.solvers.barrier import InteriorPoint
from gramian.solvers.base import InfeasibleError, Problem, Result, Solution, Solver, ended
from gramian.solvers.bregman import BregmanProjections
from gramian.solvers.dual import DualAscent
from gramian.solvers.primal import PrimalNewton
from gramian.solvers.rows import Rows, Stacked, rows_of
from gramian.solvers.slack import Convex, Hard, Hinge, Quadratic, Relative, Slack

__all__ = [
    "BregmanProjections",
    "Convex",
    "DualAscent",
    "Hard",
    "Hinge",
    "InfeasibleError",
    "InteriorPoint",
    "PrimalNewton",
    "Problem",
    "Quadratic",
    "Relative",
    "Result",
    "Rows",
    "Slack",
    "Solution",
    "Solver",
    "Stacked",
    "ended",
    "rows_of",
]
