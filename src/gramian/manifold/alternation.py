"""Algorithm 1 of Jain (2009, chapter 6): a kernel that meets the constraints and one that follows the data, in turn."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from gramian import _validate, linalg
from gramian.constraints import Constraints, Pairs
from gramian.constraints.pairs import apart
from gramian.divergences import LogDet
from gramian.divergences.base import Divergence
from gramian.manifold.kernel_sets import KernelSet
from gramian.solvers import (
    BregmanProjections,
    DualAscent,
    Hard,
    PrimalNewton,
    Problem,
    Relative,
    Solver,
    rows_of,
)

ROUNDING = 1e-9
"""A relative decrease below it is none."""
MOST_PAIRS = 20_000
"""Pairs that are drawn from labels at most, where their number is left open."""


class Alternation(NamedTuple):
    """θ of M, B of K = ZBZᵀ, multipliers λ, the objective after each half step, alternations, the last decrease."""

    theta: np.ndarray
    core: np.ndarray
    dual: np.ndarray
    path: list[float]
    n_iter: int
    change: float

    @classmethod
    def unmoved(cls, kernels: KernelSet) -> "Alternation":
        """With nothing known, K is the M it starts from."""
        return cls(kernels.start, kernels.core(kernels.start), np.zeros(0), [], 1, 0.0)


class Rules(NamedTuple):
    """How Algorithm 1 is run: divergence, weight of the slack (None: hard), solver of step A, limit, and tolerance.

    A solver that is None suits the problem.
    """

    divergence: Divergence
    gamma: float | None
    solver: Solver | None
    max_iter: int
    tol: float


def alternate(
    kernels: KernelSet, side: Constraints, rules: Rules, callback: Callable[..., Any] | None = None
) -> Alternation:
    """Min D(K, M) + slack (6.2): step A over K, step B over M, until the objective falls by less than ``tol``.

    Step A begins at the multipliers λ of the step A before: the optimum of (6.7), K⁻¹ = M⁻¹ + A(λ), moves little
    with M. Neither half step is taken when rounding would make the objective rise.
    """
    problem = step_a(kernels, side, rules)
    solver = rules.solver or suitable(problem)
    theta = kernels.start
    B = problem.prior
    path: list[float] = []
    change, n_iter = np.inf, 0
    while n_iter < rules.max_iter and change > max(rules.tol, ROUNDING):
        solution = solver.solve(problem)  # step A, K = ZBZᵀ
        if not path or solution.objective <= problem.objective(B):
            B = solution.M
        path.append(problem.objective(B))
        trial = kernels.nearest(B, theta)  # step B
        after = replace(problem, prior=kernels.core(trial), start=solution.dual)
        value = after.objective(B)
        if value <= path[-1]:
            theta, problem = trial, after
        path.append(min(value, path[-1]))
        change = (path[-3] - path[-1]) / (1 + abs(path[-1])) if len(path) > 2 else np.inf
        n_iter += 1
        if callback is not None:
            callback(n_iter, path[-1], change, B)
    return Alternation(theta, B, solution.dual, path, n_iter, change)


def suitable(problem: Problem) -> Solver:
    """The usual solver of step A; with more constraints than numbers in B, Newton's method on B, if it can be had."""
    if len(problem.rows) > problem.prior.size and PrimalNewton.suits(problem):
        return PrimalNewton(tol=1e-6)
    logdet = isinstance(problem.divergence, LogDet)
    return BregmanProjections(max_iter=500, tol=1e-6) if logdet else DualAscent(tol=1e-6)


def step_a(kernels: KernelSet, side: Constraints, rules: Rules) -> Problem:
    """K for M at its start: the problem of ITML in the range of M (Jain 2009, (6.4))."""
    slack = Hard() if rules.gamma is None else Relative(rules.gamma)
    prior = kernels.core(kernels.start)  # C(θ) of the start
    return Problem(rows_of(side, kernels.Z), side.bound, prior, rules.divergence, slack)


def pairs_of_labels(codes: np.ndarray, n_pairs: int | None, random_state: Any) -> Pairs | None:
    """Pairs of labeled points, −1 where unlabeled; None with fewer than two."""
    n_labeled = int((codes >= 0).sum())
    if n_labeled < 2:
        return None
    n_pairs = MOST_PAIRS if n_pairs is None and 5 * n_labeled > MOST_PAIRS else n_pairs
    return Pairs.from_labels(
        codes, n_pairs, unknown=-1, random_state=_validate.random(random_state, "GeometryAwareKernel")
    )


def bounded(
    side: Constraints, kernels: KernelSet, bounds: Any, percentiles: Any, gamma: float | None
) -> tuple[Constraints, np.ndarray]:
    """Constraints with bounds: their own, those given, or percentiles of the distances of the starting kernel.

    With slack those of identical points are left out; the second value says which stayed, (m,).
    """
    owner = "GeometryAwareKernel"
    start = kernels.Z @ linalg.psd_sqrt(kernels.core(kernels.start))  # (n, m): their inner products are M

    def sqdist(rows: np.ndarray) -> np.ndarray:
        D = linalg.sqdist(start[rows])
        # copies differ by rounding
        return np.where(kernels.resolution**2 * D.max(initial=0.0) < D, D, 0.0)

    if isinstance(side, Pairs) and side.bounds is None:
        if bounds is None:
            side = side.with_bounds(start, percentiles, sqdist=sqdist)
        else:
            side = replace(side, bounds=bounds)
    side = side.check(start, owner)
    differ = np.ones(len(side), bool)
    if isinstance(side, Pairs) and gamma is not None:
        differ = apart(side, start, owner, tol=kernels.resolution)
        side = side if differ.all() else side[differ]
    if gamma is not None and (side.bound == 0).any():
        raise ValueError(f"{owner}: bounds must not be 0 with slack; drop such constraints or gamma=None.")
    return side, differ
