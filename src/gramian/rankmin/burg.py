"""Low-rank kernel learning with the LogDet ("Burg") divergence, which keeps the range of the initial kernel."""

from typing import Any

import numpy as np

from gramian.divergences import LogDet
from gramian.rankmin.kernel_problem import KernelProblem
from gramian.solvers import PrimalNewton, Problem, Relative, Solution


def burg(problem: KernelProblem, G: np.ndarray, gamma: float, max_iter: int, callback: Any = None) -> Solution:
    """min_B D_ld(B, I) + slack   s.t. the constraints on K = C B Cᵀ, for an initial kernel K₁ = CCᵀ with C = ZG.

    Kulis et al. (2006), the BurgKernel of Jain 2009, §7.4.2. D_ld(K, K₁) is finite only when K has the range of K₁, and
    then it is D_ld(B, I) in the r coordinates C: the full-rank problem of the framework, solved as such.
    """
    rows = problem.rows.mapped(G)
    size = rows.size()
    # A constraint on copies says nothing; the slack knows no scale, so what differs by rounding would be heard too.
    keep = size > np.finfo(float).eps ** 2 * size.max(initial=0)
    prior = np.eye(G.shape[1])
    if not keep.any():
        return Solution(M=prior, objective=0.0, residual=0.0, tol=problem.tol)
    whole = Problem(rows.take(keep), problem.bound[keep], prior, LogDet(), Relative(gamma))
    return PrimalNewton(max_iter=max_iter, tol=problem.tol).solve(whole, callback)
