"""Priors of low rank: a problem in the range of its prior."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from gramian._array import namespace
from gramian.solvers.base import Problem, Solution, Solver

ROUNDING = 1e-14
"""Eigenvalues of a prior below this share of the largest are zero."""


def solve_in_range(solver: Solver, problem: Problem, callback: Callable | None = None) -> Solution:
    """Solve; when D(M, M₀) is finite only in the range of a singular M₀ = V Λ Vᵀ, solve for B of M = V B Vᵀ there.

    D(V B Vᵀ, V Λ Vᵀ) = D(B, Λ) for spectral divergences (Kulis et al. 2006, for LogDet and von Neumann), and
    ⟨A_i, V B Vᵀ⟩ = ⟨Vᵀ A_i V, B⟩.
    """
    V, values = _range(problem)
    if V is None:
        return solver.solve(problem, callback)
    xp = namespace(values)
    inner = replace(
        problem,
        rows=problem.rows.mapped(V),
        prior=xp.eye(values.shape[0], dtype=values.dtype, device=values.device) * values,
    )
    solver.check(inner)
    solution = solver.solve(inner, callback)
    return replace(solution, M=V @ solution.M @ V.T)


def _range(problem: Problem) -> tuple[Any, Any]:
    """Eigenvectors V (d, r) and eigenvalues (r,) of a singular prior that counts, otherwise (None, None)."""
    if not problem.divergence.keeps_range:
        return None, None
    xp = namespace(problem.prior)
    values, V = xp.linalg.eigh(problem.prior)
    kept = values > ROUNDING * values[-1]
    if bool(xp.all(kept)):
        return None, None
    rows = xp.nonzero(kept)[0]
    return xp.take(V, rows, axis=1), xp.take(values, rows)
