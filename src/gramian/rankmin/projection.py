"""Singular value projection (Meka, Jain and Dhillon 2009): gradient steps in X, cut back to the rank after each."""

import numpy as np

from gramian import linalg
from gramian.rankmin.base import Callback, RankProblem
from gramian.rankmin.eigen import leading
from gramian.rankmin.factored import Restored, hinge_of, shrink
from gramian.rankmin.parts import operator

LONGER, SHORTER = 1.5, 0.5
"""What a step that lowers the penalty, and one that does not, make of the step size."""


def project(problem: RankProblem, F: np.ndarray, max_iter: int = 300, callback: Callback = None) -> Restored:
    """X ← P(X + η A(w ∘ h)), h_i = max(0, b_i − ε/2 − ⟨A_i, X⟩), until the constraints hold to ε or nothing is gained.

    P is the projection onto the PSD matrices of the rank of F in the Frobenius ball: the leading eigenpairs, shortened.
    For equations of unit norm, h_i without the max, this is the method of the paper; w_i = 1/‖A_i‖² brings others to
    it. η starts at 1/‖𝒜‖² in these units, with which the penalty ½ Σ w_i h_i² cannot rise, and grows as long as it
    falls. ``callback(step, violation)`` hears every step.
    """
    F, rank = shrink(problem, F), F.shape[1]
    weight = 1 / np.maximum(problem.A.norms, np.finfo(float).tiny) ** 2
    values = problem.A(F)
    h = hinge_of(problem, values)
    eta = safe = _steady(problem, weight)
    for step in range(1, max_iter + 1):
        if callback is not None:
            callback(step, problem.violation(values))
        if problem.violation(values) <= problem.epsilon:
            break
        trial = cut(problem, F, weight * h, eta, rank)
        following = problem.A(trial)
        rest = hinge_of(problem, following)
        if weight @ rest**2 < weight @ h**2 * (1 - 1e-9):
            F, values, h, eta = trial, following, rest, LONGER * eta
        elif eta <= safe:
            break
        else:
            eta = max(SHORTER * eta, safe)
    return Restored(F, problem.violation(values), h)


def _steady(problem: RankProblem, weight: np.ndarray) -> float:
    """One over the squared norm of X → √w ∘ 𝒜(X)."""
    root = np.sqrt(weight)
    return 1 / max(float(linalg.eigh(root[:, None] * problem.A.gram * root)[0][-1]), np.finfo(float).tiny)


def cut(problem: RankProblem, F: np.ndarray, w: np.ndarray, eta: float, rank: int) -> np.ndarray:
    """The factor of P(FFᵀ + η A(w))."""
    A = problem.A.adjoint(w)
    moved = operator(len(F), lambda x: F @ (F.T @ x) + eta * (A @ x))
    values, vectors = leading(moved, rank)
    return shrink(problem, vectors[:, :rank] * np.sqrt(np.maximum(values[:rank], 0)))
