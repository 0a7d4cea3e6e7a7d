"""Low-rank kernel learning with the LogDet ("Burg") divergence, which keeps the range of the initial kernel."""

from typing import Any

import numpy as np

from gramian.constraints import Pairs
from gramian.divergences import LogDet
from gramian.solvers import DualAscent, Problem, Relative, Rows, Solution


def burg(
    coordinates: np.ndarray, pairs: Pairs, gamma: float, max_iter: int, tol: float, callback: Any = None
) -> Solution:
    """min_B D_ld(B, I) + slack   s.t. the pair bounds on K = C B Cᵀ, for an initial kernel K₁ = CCᵀ of rank r.

    Kulis et al. (2006), the BurgKernel of Jain 2009, §7.4.2. D_ld(K, K₁) is finite only when K has the range of K₁, and
    then it is D_ld(B, I) in the r coordinates C: the full-rank problem of the framework, solved as such.
    """
    V = coordinates[pairs.left] - coordinates[pairs.right]
    keep = np.einsum("ij,ij->i", V, V) > 0
    if not keep.any():
        return Solution(M=np.eye(coordinates.shape[1]), objective=0.0, residual=0.0, tol=tol)
    problem = Problem(
        rows=Rows(V[keep], pairs.sign[keep, None]),
        bound=pairs.bound[keep],
        prior=np.eye(coordinates.shape[1]),
        divergence=LogDet(),
        slack=Relative(gamma),
    )
    return DualAscent(max_iter=max_iter, tol=tol).solve(problem, callback)
