"""Convex stand-ins for the rank: the trace norm and the log-det heuristic (Jain 2009, §7.4.1).

Both minimize a linear function, min ⟨W, X⟩ s.t. ⟨A_i, X⟩ ≥ b_i − ε, X ⪰ 0, ‖X‖_F ≤ radius: W = I gives the trace norm
of Recht et al. (2007), and W ← (X + δI)⁻¹ again and again the linearized log det(X + δI) of Fazel et al. (2003).
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from gramian import linalg
from gramian.rankmin.base import Callback, RankProblem
from gramian.rankmin.measurements import Measurements, dense
from gramian.rankmin.oracles import Atom, SchattenBall

SHARE = 0.95
"""Part of ε that the relaxation may use; the rest is room for rounding the spectrum."""


def radius(problem: RankProblem) -> float:
    """Radius of the Frobenius ball, the one set that the heuristics take."""
    ball = problem.oracle
    if not (isinstance(ball, SchattenBall) and ball.p == 2 and ball.psd):
        raise ValueError(f"RankMinimizer: the trace and logdet heuristics need SchattenBall(p=2), got {ball}.")
    return ball.radius


def trace_norm(problem: RankProblem, conic: bool = False, callback: Callback = None) -> tuple[Atom, int]:
    """Least trace, and the number of eigendecompositions spent."""
    return _reweighted(problem, conic, 1, callback)


def log_det(problem: RankProblem, conic: bool = False, callback: Callback = None, rounds: int = 8) -> tuple[Atom, int]:
    """Trace reweighted in rounds; the best round is kept."""
    return _reweighted(problem, conic, rounds, callback)


def _reweighted(
    problem: RankProblem, conic: bool, rounds: int, callback: Callback, delta: float = 1e-2
) -> tuple[Atom, int]:
    """Rounds of min ⟨W, X⟩, beginning with W = I; δ is relative to the largest eigenvalue of X."""
    W, total, linear = np.eye(problem.A.n), 0, linear_conic if conic else linear_proximal
    answers: list[tuple[float, int, Atom]] = []
    for t in range(1, rounds + 1):
        X, evaluations = linear(problem, W)
        total += evaluations
        atom = truncate(problem, X)
        violation = problem.violation(problem.A(*atom))
        answers.append((max(violation, problem.epsilon), len(atom.values), atom))
        if callback is not None:
            callback(t, violation)
        values, vectors = linalg.eigh(X)
        floor = delta * values[-1]  # δλ₁
        if floor <= 0:
            break
        # W = δλ₁ (X + δλ₁I)⁻¹, the slope of log det up to its unit
        W = (vectors * (floor / (np.maximum(values, 0) + floor))) @ vectors.T
    return min(answers, key=lambda answer: answer[:2])[2], total


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


def linear_proximal(
    problem: RankProblem, W: np.ndarray, max_iter: int = 100, tol: float = 1e-3
) -> tuple[np.ndarray, int]:
    """Proximal point method, X ← argmin ⟨W, X⟩ + ‖X − X_k‖² / 2τ: each step is a smooth dual in λ ≥ 0, by L-BFGS-B."""
    linear, unit = _scaled(problem, W)
    lam, X, tau, evaluations = np.zeros(len(problem.b)), np.zeros_like(W), 30.0, 0
    for _ in range(max_iter):
        lam, following, spent = linear.step(X, tau, lam)
        evaluations += spent
        size = float(np.linalg.norm(following))
        done = np.linalg.norm(following - X) <= tol * max(size, tol)
        X = following
        if done:
            break
        tau = min(max(1.5 * tau, size), 10 * max(size, 1.0))  # longer steps make the duals too hard
    return unit * X, evaluations


@dataclass(frozen=True, eq=False)
class Linear:
    """min ⟨W, X⟩ s.t. factor · 𝒜(X) ≥ goal, X ⪰ 0, ‖X‖_F ≤ size, and the accuracy in the constraints."""

    A: Measurements
    factor: float
    W: np.ndarray
    goal: np.ndarray
    size: float
    accuracy: float

    def primal(self, X: np.ndarray, tau: float, lam: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Y = X − τ (W − A(λ)), and its projection onto PSD ∩ ball."""
        Y = X - tau * (self.W - self.factor * dense(self.A.adjoint(lam)))
        P = linalg.project_psd(Y)
        return Y, P / max(1.0, float(np.linalg.norm(P)) / self.size)

    def step(self, X: np.ndarray, tau: float, lam: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
        """The multipliers and the X of one regularized problem, from its dual, and the evaluations spent."""

        def dual(lam: np.ndarray) -> tuple[float, np.ndarray]:
            Y, P = self.primal(X, tau, lam)  # (n, n) each
            value = (np.sum((P - Y) ** 2) - np.sum(Y**2) + np.sum(X**2)) / (2 * tau) + lam @ self.goal
            return -value, self.factor * self.A.of_matrix(P) - self.goal

        options = {"maxiter": 500, "maxfun": 1000, "ftol": 1e-14, "gtol": self.accuracy}
        end = minimize(dual, lam, jac=True, method="L-BFGS-B", bounds=[(0, None)] * len(lam), options=options)
        return end.x, self.primal(X, tau, end.x)[1], int(end.nfev)


def _scaled(problem: RankProblem, W: np.ndarray) -> tuple[Linear, float]:
    """The problem in units in which all of it is of order one, and the unit of X: the least norm that can do."""
    goal, norms = problem.b - SHARE * problem.epsilon, np.maximum(problem.A.norms, np.finfo(float).tiny)
    values = float(np.abs(goal).max())
    unit = min(float((goal / norms).max()), radius(problem))  # ⟨A_i, X⟩ ≤ ‖A_i‖ ‖X‖
    linear = Linear(
        problem.A,
        unit / values,
        W / np.linalg.norm(W),
        goal / values,
        radius(problem) / unit,
        0.01 * problem.epsilon / values,
    )
    return linear, unit


def linear_conic(problem: RankProblem, W: np.ndarray) -> tuple[np.ndarray, int]:
    """The same problem by an interior-point solver (the ``sdp`` extra), for small n."""
    try:
        import cvxpy as cp
    except ImportError as error:
        raise ImportError("RankMinimizer: conic=True needs cvxpy: pip install 'gramian[sdp]'.") from error
    X = cp.Variable(W.shape, PSD=True)
    eye = np.eye(len(problem.b))  # A(e_i) = A_i
    values = cp.hstack([cp.sum(cp.multiply(dense(problem.A.adjoint(e)), X)) for e in eye])
    limits = [values >= problem.b - SHARE * problem.epsilon, cp.norm(X, "fro") <= radius(problem)]
    cp.Problem(cp.Minimize(cp.sum(cp.multiply(W, X))), limits).solve(solver="CLARABEL")
    return (np.zeros_like(W) if X.value is None else linalg.symmetrize(X.value)), 1
