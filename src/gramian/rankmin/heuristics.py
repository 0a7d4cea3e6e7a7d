"""Convex stand-ins for the rank: the trace norm and the log-det heuristic (Jain 2009, §7.4.1).

Both minimize a linear function, min ⟨W, X⟩ s.t. ⟨A_i, X⟩ ≥ b_i − ε, X ⪰ 0, ‖X‖_F ≤ radius: W = I gives the trace norm
of Recht et al. (2007), and W ← (X + δI)⁻¹ again and again the linearized log det(X + δI) of Fazel et al. (2003).
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import minimize

from gramian import linalg
from gramian.rankmin.base import RankProblem
from gramian.rankmin.measurements import _dense
from gramian.rankmin.oracles import Atom, SchattenBall

Report = Callable[[int, float], Any] | None

SHARE = 0.95
"""Part of ε that the relaxation may use; the rest is room for rounding the spectrum."""


def radius(problem: RankProblem) -> float:
    """Radius of the Frobenius ball, the one set that the heuristics take."""
    ball = problem.oracle
    if not (isinstance(ball, SchattenBall) and ball.p == 2 and ball.psd):
        raise ValueError(f"RankMinimizer: the trace and logdet heuristics need SchattenBall(p=2), got {ball}.")
    return ball.radius


def trace_norm(problem: RankProblem, conic: bool = False, callback: Report = None) -> tuple[Atom, int]:
    """Least trace, and the number of eigendecompositions spent."""
    return _reweighted(problem, conic, 1, callback)


def log_det(problem: RankProblem, conic: bool = False, callback: Report = None, rounds: int = 8) -> tuple[Atom, int]:
    """Trace reweighted in rounds; the best round is kept."""
    return _reweighted(problem, conic, rounds, callback)


def _reweighted(
    problem: RankProblem, conic: bool, rounds: int, callback: Report, delta: float = 1e-2
) -> tuple[Atom, int]:
    """Rounds of min ⟨W, X⟩, beginning with W = I; δ is relative to the largest eigenvalue of X."""
    W, total = np.eye(problem.A.n), 0
    atoms: list[Atom] = []
    for t in range(1, rounds + 1):
        X, evaluations = _linear(problem, W, conic)
        total += evaluations
        atoms.append(truncate(problem, X))
        if callback is not None:
            callback(t, problem.violation(problem.A(*atoms[-1])))
        values, vectors = linalg.eigh(X)
        floor = delta * values[-1]
        W = (vectors * (floor / (np.maximum(values, 0) + floor))) @ vectors.T
    return min(atoms, key=lambda atom: len(atom.values)), total


def truncate(problem: RankProblem, X: np.ndarray) -> Atom:
    """The fewest leading eigenpairs of X that satisfy the constraints to ε (all of the positive ones if none do)."""
    values, vectors = linalg.eigh(linalg.symmetrize(X))
    keep = np.flatnonzero(values > 1e-10 * max(values[-1], 0))[::-1]
    values, vectors = values[keep], vectors[:, keep]
    low, high = 0, len(values)
    while low < high:
        rank = (low + high) // 2
        if problem.violation(problem.A(vectors[:, :rank], values[:rank])) <= problem.epsilon:
            high = rank
        else:
            low = rank + 1
    return Atom(vectors[:, :low], values[:low])


def _linear(problem: RankProblem, W: np.ndarray, conic: bool) -> tuple[np.ndarray, int]:
    return linear_conic(problem, W) if conic else linear_proximal(problem, W)


def linear_proximal(
    problem: RankProblem, W: np.ndarray, max_iter: int = 100, tol: float = 1e-3
) -> tuple[np.ndarray, int]:
    """Proximal point method, X ← argmin ⟨W, X⟩ + ‖X − X_k‖² / 2τ: each step is a smooth dual in λ ≥ 0, by L-BFGS-B."""
    size, goal = radius(problem), problem.b - SHARE * problem.epsilon
    lam, X, evaluations = np.zeros(len(goal)), np.zeros_like(W), 0
    tau = shortest = size / np.linalg.norm(W)
    for _ in range(max_iter):
        lam, following, spent = _proximal_step(problem, W, X, tau, goal, lam, size)
        evaluations += spent
        done = np.linalg.norm(following - X) <= tol * max(float(np.linalg.norm(following)), tol)
        X = following
        if done:
            break
        tau = min(1.5 * tau, 10 * shortest)  # longer steps make the duals too hard
    return X, evaluations


def _proximal_step(problem, W, X, tau, goal, lam, size) -> tuple[np.ndarray, np.ndarray, int]:
    """One regularized problem, from its dual: X(λ) = Π(X_k − τ (W − A(λ))) with Π onto PSD ∩ ball."""

    def primal(lam: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        Y = X - tau * (W - _dense(problem.A.adjoint(lam)))
        P = linalg.project_psd(Y)
        return Y, P * min(1.0, size / max(np.linalg.norm(P), np.finfo(float).tiny))

    def dual(lam: np.ndarray) -> tuple[float, np.ndarray]:
        Y, P = primal(lam)
        value = (np.sum((P - Y) ** 2) - np.sum(Y**2) + np.sum(X**2)) / (2 * tau) + lam @ goal
        return -value, _values(problem, P) - goal

    options = {"maxiter": 500, "maxfun": 1000, "ftol": 1e-14, "gtol": 0.01 * problem.epsilon}
    found = minimize(dual, lam, jac=True, method="L-BFGS-B", bounds=[(0, None)] * len(lam), options=options)
    return found.x, primal(found.x)[1], int(found.nfev)


def _values(problem: RankProblem, X: np.ndarray) -> np.ndarray:
    out = np.zeros(len(problem.b))
    for index, part in problem.A.parts:
        out[index] = part.of_matrix(X)
    return out


def linear_conic(problem: RankProblem, W: np.ndarray) -> tuple[np.ndarray, int]:
    """The same problem by an interior-point solver (the ``sdp`` extra), for small n."""
    try:
        import cvxpy as cp
    except ImportError as error:
        raise ImportError("RankMinimizer: conic=True needs cvxpy: pip install 'gramian[sdp]'.") from error
    X = cp.Variable(W.shape, PSD=True)
    eye = np.eye(len(problem.b))
    values = cp.hstack([cp.sum(cp.multiply(_dense(problem.A.adjoint(e)), X)) for e in eye])
    limits = [values >= problem.b - SHARE * problem.epsilon, cp.norm(X, "fro") <= radius(problem)]
    cp.Problem(cp.Minimize(cp.sum(cp.multiply(W, X))), limits).solve(solver="CLARABEL")
    return (np.zeros_like(W) if X.value is None else linalg.symmetrize(X.value)), 1
