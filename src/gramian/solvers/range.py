"""Priors of low rank: a problem in the range of its prior."""

from dataclasses import replace
from typing import Any

from gramian._arrays import namespace
from gramian.solvers.base import Problem, Solution

ROUNDING = 1e-14
"""Eigenvalues of a prior below this share of the largest are zero."""


def in_range(problem: Problem) -> tuple[Problem, Any]:
    """The problem for B of M = V B Vᵀ with V (d, r), where D(M, M₀) is finite only in the range of M₀ = V Λ Vᵀ.

    The problem itself, and None for V, where that is not so.
    D(V B Vᵀ, V Λ Vᵀ) = D(B, Λ) for spectral divergences (Kulis et al. 2006, for LogDet and von Neumann), and
    ⟨A_i, V B Vᵀ⟩ = ⟨Vᵀ A_i V, B⟩.
    """
    V, values = _range(problem)
    if V is None:
        return problem, None
    xp = namespace(values)
    prior = xp.eye(values.shape[0], dtype=values.dtype, device=values.device) * values
    return replace(problem, rows=problem.rows.mapped(V), prior=prior), V


def lifted(solution: Solution, V: Any) -> Solution:
    """The answer for M = V B Vᵀ from that for B."""
    return solution if V is None else replace(solution, M=V @ solution.M @ V.T)


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
