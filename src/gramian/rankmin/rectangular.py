"""Rank minimization over matrices that are neither symmetric nor square, through the PSD matrices of twice the size."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from gramian import _checks
from gramian.rankmin.base import RankResult
from gramian.rankmin.minimizer import OWNER, RankMinimizer
from gramian.rankmin.oracles import SchattenBall


@dataclass(frozen=True, eq=False)
class RectangularResult:
    """X = left rightᵀ of shape (p, q), and what is known about it.

    Attributes
    ----------
    left, right : arrays (p, r), (q, r)
    rank : int
    values : array (m,)
        ⟨A_i, X⟩.
    violation : float
    feasible : bool
    dilated : RankResult
        The result on symmetric matrices, with its proofs.
    """

    left: np.ndarray
    right: np.ndarray
    rank: int
    values: np.ndarray
    violation: float
    feasible: bool
    dilated: RankResult

    @property
    def matrix(self) -> np.ndarray:
        """X as a (p, q) array."""
        return self.left @ self.right.T


def solve_rectangular(minimizer: RankMinimizer, A: Any, b: Any) -> RectangularResult:
    """min rank(X) s.t. ⟨A_i, X⟩ ≥ b_i, ‖X‖ ≤ radius, X of any shape (p, q) (Jain 2009, RMP in general).

    X̃ = [[P, X], [Xᵀ, Q]] ⪰ 0 of size p + q has ⟨Ã_i, X̃⟩ = ⟨A_i, X⟩ for Ã_i = ½ [[0, A_i], [A_iᵀ, 0]]. Its rank is at
    least that of X, and the same for P = (XXᵀ)^{1/2}, Q = (XᵀX)^{1/2}; and singular values obey 2 σ_j(X) ≤ λ_j(X̃), with
    equality there. So the least rank over ‖X̃‖_p ≤ 2 · radius is the least rank over ‖X‖_p ≤ radius.

    Parameters
    ----------
    minimizer : RankMinimizer
        With a :class:`SchattenBall` of PSD matrices (the unit Frobenius ball when None) as its set: its norm and radius
        are those of X.
    A : sequence of m matrices (p, q), dense or sparse
    b : array (m,)

    Examples
    --------
    >>> import numpy as np, gramian as gm
    >>> from gramian.rankmin import SchattenBall, solve_rectangular
    >>> rng = np.random.default_rng(0)
    >>> X = np.outer(rng.normal(size=5), rng.normal(size=4))
    >>> A = rng.normal(size=(30, 5, 4))
    >>> ball = SchattenBall(radius=2 * np.linalg.norm(X))
    >>> found = solve_rectangular(gm.RankMinimizer("factored", 0.05, oracle=ball), A, np.tensordot(A, X, 2))
    >>> found.matrix.shape, found.rank, found.feasible
    ((5, 4), 1, True)
    """
    ball = SchattenBall() if minimizer.oracle is None else minimizer.oracle
    if not (isinstance(ball, SchattenBall) and ball.psd):
        raise ValueError(f"{OWNER}: rectangular problems need a SchattenBall of PSD matrices, got {ball}.")
    matrices = [_checks.points(a, OWNER, name=f"A[{i}]").astype(float, copy=False) for i, a in enumerate(A)]
    shapes = {a.shape for a in matrices}
    if len(shapes) != 1:
        raise ValueError(f"{OWNER}: the matrices of A must have one size, got {sorted(shapes)}.")
    settings = {name: getattr(minimizer, name) for name in minimizer.__dataclass_fields__}
    twice = RankMinimizer(**settings | {"oracle": SchattenBall(ball.p, 2 * ball.radius)})
    found = twice.solve([dilation(a) for a in matrices], b)
    p = matrices[0].shape[0]
    left, right = found.factor[:p], found.factor[p:]
    return RectangularResult(left, right, found.rank, found.values, found.violation, found.feasible, found)


def dilation(A: Any) -> Any:
    """½ [[0, A], [Aᵀ, 0]], (p + q, p + q), sparse where A is."""
    if sparse.issparse(A):
        p, q = A.shape
        corners = [[sparse.csr_array((p, p)), A / 2], [A.T / 2, sparse.csr_array((q, q))]]
        return sparse.csr_array(sparse.block_array(corners))
    p, q = A.shape
    whole = np.zeros((p + q, p + q))
    whole[:p, p:] = A / 2
    whole[p:, :p] = A.T / 2
    return whole
