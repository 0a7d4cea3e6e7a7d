"""Pivoted (incomplete) Cholesky factorization of a kernel matrix, one column at a time."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from gramian import _checks


@dataclass(frozen=True, eq=False)
class PivotedCholesky:
    """K ≈ factor factorᵀ: ``factor`` (n, r), ``pivots`` (r,) into X, and the trace left, ``residual``."""

    factor: np.ndarray
    pivots: np.ndarray
    residual: float
    trace: float


def pivoted_cholesky(
    kernel: Any,
    X: Any,
    rank: int | None = None,
    tol: float = 1e-2,
    pivots: str = "greedy",
    random_state: Any = None,
) -> PivotedCholesky:
    """Factor K ≈ C Cᵀ, stopping when tr(K − C Cᵀ) ≤ tol · tr(K) or at the given rank (Teixeira et al., §2).

    Each step evaluates one kernel column and needs n × r memory; K is never formed.

    Parameters
    ----------
    kernel : Kernel
    X : points
    rank : int, optional
        Largest rank; n when None.
    tol : float
        Trace error to stop at, relative to the trace of K.
    pivots : {"greedy", "random"}
        Next pivot: the largest residual, or drawn in proportion to it.
    random_state : int or generator, optional

    Examples
    --------
    >>> import numpy as np, gramian as gm
    >>> X = np.linspace(0, 1, 50)[:, None]
    >>> gm.pivoted_cholesky(gm.Gaussian(0.5), X, tol=1e-6).factor.shape[1] < 10
    True
    """
    _checks.one_of(pivots, "pivoted_cholesky", "pivots", ("greedy", "random"))
    X = kernel.check(X)
    left = np.array(kernel.diag(X), dtype=float)
    n, trace = len(left), float(left.sum())
    rank = n if rank is None else min(_checks.number(rank, "pivoted_cholesky", "rank", low=1, integer=True), n)
    rng = check_random_state(random_state)
    factor, chosen = np.zeros((n, min(rank, 64))), []
    floor = 1e-13 * max(left.max(initial=0.0), 0.0)
    while len(chosen) < rank and left.sum() > tol * trace and left.max() > floor:
        j = len(chosen)
        if j == factor.shape[1]:
            factor = np.hstack([factor, np.zeros((n, min(j, rank - j)))])
        p = int(left.argmax()) if pivots == "greedy" else int(rng.choice(n, p=left / left.sum()))
        column = kernel(X, X[p : p + 1])[:, 0] - factor[:, :j] @ factor[p, :j]
        factor[:, j] = column / np.sqrt(left[p])
        factor[chosen, j] = 0.0
        left = np.maximum(left - factor[:, j] ** 2, 0)
        left[p] = 0.0
        chosen.append(p)
    return PivotedCholesky(factor[:, : len(chosen)].copy(), np.array(chosen, np.intp), float(left.sum()), trace)
