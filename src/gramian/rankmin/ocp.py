"""RMP-OCP: online gradient descent in the convex hull of the constraints (Jain 2009, Algorithm 3 and Theorem 11)."""

import numpy as np

from gramian.rankmin.base import RankProblem
from gramian.rankmin.eigen import leading
from gramian.rankmin.oracles import Atom


class OnlineGradient:
    """The rule of RMP-OCP: z ← Π_K(z − η_t (X^t/D, −1)) on K = conv{(D A_i, b_i)}, η_t = step · ‖K‖ / (2 G √t).

    D is the largest norm in 𝒞 if that is below 1, and 1 otherwise: the thesis assumes sets that reach 1. A point
    of K is kept as its weights p, so the projection is the simplex QP min_p ½ pᵀGp − pᵀc with the Gram matrix
    G_ij = D² ⟨A_i, A_j⟩ + b_i b_j and c = G p^t − η_t M^t. ‖K‖ is the diameter of K, and the G of the step the largest
    gradient √(‖X^t‖²/D² + 1) so far: Theorem 11 writes Δ and D for them, which forgets the last coordinate of the
    gradient and a factor of up to two in the diameter.

    With step = 1 the proof behind Theorem 2 gives R(T) ≤ 3/2 · G ‖K‖ √T: ‖K‖²/(2η_T) contributes the printed
    G ‖K‖ √T, and the gradients another half of it.
    """

    def __init__(self, problem: RankProblem, step: float = 1.0):
        self.reach = _reach(problem)
        self.gram = self.reach**2 * problem.A.gram + np.outer(problem.b, problem.b)
        squares = self.gram.diagonal()
        self.diameter = float(np.sqrt(np.maximum(squares[:, None] + squares - 2 * self.gram, 0).max()))
        self.smoothness = 1.001 * float(leading(self.gram, 1)[0][0])  # Lanczos comes from below
        self.step, self.gradient = step, 1.0

    def update(self, p: np.ndarray, penalty: np.ndarray, atom: Atom, t: int) -> tuple[np.ndarray, float]:
        """One projected gradient step; every answer has the same share."""
        # ‖X‖_F² = Σ_ij d_i d_j (v_i·v_j)², the vectors need not be orthonormal.
        overlap = atom.vectors.T @ atom.vectors
        d = atom.values / self.reach
        self.gradient = max(self.gradient, float(np.sqrt(d @ overlap**2 @ d + 1)))
        eta = self.step * self.diameter / (2 * self.gradient * np.sqrt(t))
        return project_hull(self.gram, self.gram @ p - eta * penalty, p, self.smoothness), 1.0


def _reach(problem: RankProblem) -> float:
    try:
        return min(1.0, problem.oracle.reach(problem.A.n))
    except NotImplementedError:
        return 1.0


def project_simplex(v: np.ndarray) -> np.ndarray:
    """Nearest point of {p ≥ 0, Σ p = 1}."""
    u = np.sort(v)[::-1]
    excess = (np.cumsum(u) - 1) / np.arange(1, len(u) + 1)
    return np.maximum(v - excess[np.flatnonzero(u > excess)[-1]], 0)


def project_hull(gram: np.ndarray, c: np.ndarray, p: np.ndarray, smoothness: float, tol: float = 1e-9) -> np.ndarray:
    """Minimize ½ pᵀGp − cᵀp over the simplex, to a fixed point of a gradient step within ``tol``.

    Few weights of the answer are positive, so it is sought among those of p and then, as long as the gradient g of
    another is below the level ν = pᵀg, which no weight is at the optimum, among these and the lowest such as well.
    """
    if smoothness <= 0:
        return p
    among = np.flatnonzero(p)
    while True:
        found = np.zeros_like(p)
        found[among] = _descend(gram[np.ix_(among, among)], c[among], p[among], smoothness, tol)
        slope = gram[:, among] @ found[among] - c
        below = np.setdiff1d(np.flatnonzero(slope < found @ slope - tol * smoothness), among)
        if not len(below):
            return found
        lowest = below[np.argsort(slope[below])[: max(10, len(among) // 2)]]
        p, among = found, np.union1d(among, lowest)


def _descend(
    gram: np.ndarray, c: np.ndarray, p: np.ndarray, smoothness: float, tol: float, max_iter: int = 2000
) -> np.ndarray:
    """The same over given weights, by accelerated projected gradient with restarts."""
    y, momentum = p, 1.0
    for _ in range(max_iter):
        following = project_simplex(y - (gram @ y - c) / smoothness)
        move = following - p
        if np.abs(following - y).max() <= tol:
            return following
        faster = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        if (y - following) @ move > 0:
            y, momentum = following, 1.0
        else:
            y, momentum = following + (momentum - 1) / faster * move, faster
        p = following
    return p
