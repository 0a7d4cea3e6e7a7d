"""Algorithm 1 of Jain (2009, chapter 6): a kernel that meets the constraints and one that follows the data, in turn."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from gramian import _checks, linalg
from gramian.constraints import Constraints, Pairs
from gramian.divergences import LogDet
from gramian.manifold.families import Family
from gramian.solvers import Hard, Problem, Relative, Solver, rows_of


class Alternation(NamedTuple):
    """θ of M, B of K = ZBZᵀ, the objective after each half step, alternations, relative decrease in the last one."""

    theta: np.ndarray
    core: np.ndarray
    path: list[float]
    n_iter: int
    change: float


def alternate(
    family: Family,
    side: Constraints,
    gamma: float | None,
    solver: Solver,
    max_iter: int,
    tol: float,
    callback: Callable | None = None,
) -> Alternation:
    """Min D_ld(K, M) + slack (6.2): step A over K, step B over M, until the objective falls by less than ``tol``.

    Step A begins at the multipliers λ of the step A before: the optimum of (6.7), K⁻¹ = M⁻¹ + A(λ), moves little
    with M. Neither half step is taken when rounding would make the objective rise.
    """
    problem = step_a(family, side, gamma)
    theta, B = family.start, problem.prior
    path: list[float] = []
    change, n_iter = np.inf, 0
    while n_iter < max_iter and change > tol:
        found = solver.solve(problem)
        if not path or found.objective <= problem.objective(B):
            B = found.M
        path.append(problem.objective(B))
        trial = family.nearest(B, theta)
        after = replace(problem, prior=family.core(trial), start=found.dual)
        value = after.objective(B)
        if value <= path[-1]:
            theta, problem = trial, after
        path.append(min(value, path[-1]))
        change = (path[-3] - path[-1]) / (1 + abs(path[-1])) if len(path) > 2 else np.inf
        n_iter += 1
        if callback is not None:
            callback(n_iter, path[-1], change, B)
    return Alternation(theta, B, path, n_iter, change)


def step_a(family: Family, side: Constraints, gamma: float | None) -> Problem:
    """K for M at its start: the LogDet problem of ITML in the range of M (Jain 2009, (6.4))."""
    slack = Hard() if gamma is None else Relative(gamma)
    return Problem(rows_of(side, family.Z), side.bound, family.core(family.start), LogDet(), slack)


def pairs_of_labels(codes: np.ndarray, n_pairs: int | None, random_state: Any) -> Pairs | None:
    """Pairs of labeled points, −1 where unlabeled; None with fewer than two."""
    if (codes >= 0).sum() < 2:
        return None
    return Pairs.from_labels(codes, n_pairs, -1, _checks.random(random_state, "GeometryAwareKernel"))


def bounded(
    side: Constraints, start: np.ndarray, bounds: Any, percentiles: Any, gamma: float | None, resolution: float = 1e-14
) -> Constraints:
    """Constraints with bounds: their own, those given, or percentiles of the distances of the points ``start``.

    Points nearer than the share ``resolution`` of the largest distance are copies of each other.
    """

    def sqdist(rows: np.ndarray) -> np.ndarray:
        D = linalg.sqdist(start[rows])
        return np.where(resolution**2 * D.max(initial=0.0) < D, D, 0.0)

    if isinstance(side, Pairs) and side.bounds is None:
        fixed = Pairs(side.left, side.right, side.similar, bounds) if bounds is not None else None
        side = side.with_bounds(start, percentiles, sqdist=sqdist) if fixed is None else fixed
    side = side.check(start, "GeometryAwareKernel")
    if isinstance(side, Pairs) and gamma is not None:
        side = side.apart(start, "GeometryAwareKernel", rtol=resolution)
    if gamma is not None and (side.bound == 0).any():
        raise ValueError("GeometryAwareKernel: bounds must not be 0 with slack; drop such constraints or gamma=None.")
    return side
