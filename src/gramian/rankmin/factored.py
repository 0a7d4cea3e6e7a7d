"""The factored method X = FFᵀ (Burer and Monteiro 2003) with a growing rank, and the compression it gives.

At a fixed rank r the constraints are a smooth problem in F, min_F ½ Σ_i max(0, b_i − ε/2 − ⟨A_i, X(F)⟩)² with
X(F) = FFᵀ / max(1, N(FFᵀ)) and N the gauge of 𝒞. There is no objective beside it, so the multipliers of an augmented
Lagrangian would be multiples of the residuals and move no stationary point: the plain penalty is the same method.
Singular value projection (Meka, Jain and Dhillon 2009) steps in X itself, and cuts it back to the rank after each step.
"""

from collections.abc import Callable
from itertools import count
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

from gramian import linalg
from gramian.rankmin.base import Callback, RankProblem, compact
from gramian.rankmin.measurements import operator
from gramian.rankmin.oracles import complement, leading

LONGER, SHORTER = 1.5, 0.5
"""What a step that lowers the penalty, and one that does not, make of the step size."""


def shrink(problem: RankProblem, F: np.ndarray) -> np.ndarray:
    """F scaled so that FFᵀ lies in the set."""
    size = problem.oracle.gauge(F)[0]  # type: ignore[index]
    inside: np.ndarray = F / np.sqrt(max(1.0, size))
    return inside


def penalty(problem: RankProblem, F: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """½ Σ hinge², its gradient in F, and 𝒜(X(F))."""
    size, slope = problem.oracle.gauge(F)  # type: ignore[misc]
    size = max(1.0, size)
    values = problem.A(F) / size
    hinge = hinge_of(problem, values)
    # ∇F of ½ Σ h_i² is −2 A(h) F, and what the scaling adds
    grad = -2 / size * (problem.A.adjoint(hinge) @ F)
    if size > 1:
        grad += 2 / size * (hinge @ values) * slope
    return 0.5 * float(hinge @ hinge), grad, values


def hinge_of(problem: RankProblem, values: np.ndarray) -> np.ndarray:
    """How far each ⟨A_i, X⟩ is below the middle of what is allowed, b_i − ε/2."""
    hinge: np.ndarray = np.maximum(problem.b - problem.epsilon / 2 - values, 0)  # (m,)
    return hinge


def along(problem: RankProblem, F: np.ndarray) -> np.ndarray:
    """The multiple of F of least penalty among those up to F itself, for FFᵀ on the boundary of the set or inside.

    X(F) does not change with the length of F outside of the set, so a descent that has left it cannot come back in.
    """
    values, goal, low, high = problem.A(F), problem.b - problem.epsilon / 2, 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        if np.maximum(goal - middle * values, 0) @ values > 0:
            low = middle
        else:
            high = middle
    multiple: np.ndarray = np.sqrt(high) * F
    return multiple


class Restored(NamedTuple):
    """A factor with FFᵀ in the set, its worst violation, and the hinge residuals where the descent ended."""

    F: np.ndarray
    violation: float
    hinge: np.ndarray


def restore(problem: RankProblem, F: np.ndarray, max_iter: int = 300, callback: Callback = None) -> Restored:
    """Move F until X(F) satisfies the constraints to ε, or a minimum is reached.

    ``callback(step, violation)`` hears every iteration and the end.
    """
    steps = count(1)

    def report(violation: float) -> None:
        if callback is not None:
            callback(next(steps), violation)

    best = _descend(problem, F, max_iter, report)
    shorter = along(problem, best.F)
    if best.violation > problem.epsilon and np.linalg.norm(shorter) < 0.9 * np.linalg.norm(best.F):
        best = min(best, _descend(problem, shorter, max_iter, report), key=lambda end: end.violation)
    report(best.violation)
    return best


def _descend(problem: RankProblem, F: np.ndarray, max_iter: int, report: Callable[[float], None]) -> Restored:
    """L-BFGS on the penalty; the iterate of least violation."""
    shape, best = F.shape, Restored(F, np.inf, problem.b)
    # In units of ε the penalty is above one until it does not matter, so that ftol is relative to it.
    scale = max(problem.epsilon, 1e-9 * float(np.abs(problem.b).max())) ** -2

    def evaluate(f: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal best
        value, grad, values = penalty(problem, f.reshape(shape))
        violation = problem.violation(values)
        if violation < best.violation:
            best = best._replace(F=f.reshape(shape).copy(), violation=violation)
        return scale * value, scale * grad.ravel()

    def enough(intermediate_result: object) -> None:
        if best.violation <= problem.epsilon:
            raise StopIteration
        report(best.violation)

    options = {"maxiter": max_iter, "maxfun": 2 * max_iter, "ftol": 1e-12, "gtol": 1e-12}
    end = minimize(evaluate, F.ravel(), jac=True, method="L-BFGS-B", callback=enough, options=options)
    values = problem.A(shrink(problem, end.x.reshape(shape)))
    return Restored(shrink(problem, best.F), best.violation, hinge_of(problem, values))


def compress(problem: RankProblem, F: np.ndarray) -> np.ndarray:
    """Lower the rank of a feasible X = FFᵀ by bisection: cut the spectrum, restore the constraints, keep what works."""
    F, low = compact(F), 0
    while F.shape[1] - low > 1:
        rank = (low + F.shape[1]) // 2
        trial = restore(problem, fold(F, rank))
        if trial.violation <= problem.epsilon:
            F = compact(trial.F)
        else:
            low = rank
    return F


def fold(F: np.ndarray, rank: int, share: float = 0.1) -> np.ndarray:
    """The first columns, with a little of the others mixed in at random.

    Plain truncation would often begin at a saddle: ∇ = −2 A(h) F is zero at the points that only the others reach.
    """
    mix = np.random.RandomState(0).standard_normal((F.shape[1] - rank, rank))
    folded: np.ndarray = F[:, :rank] + share / np.sqrt(rank) * F[:, rank:] @ mix  # (n, rank)
    return folded


class Grown(NamedTuple):
    """The factor F, a certificate of infeasibility or None, the least rank that was proved, and the rounds played."""

    F: np.ndarray
    certificate: np.ndarray | None
    rank_bound: int
    rounds: int


def grow(problem: RankProblem, callback: Callback = None) -> Grown:
    """Raise the rank until the constraints hold to ε.

    The oracle is asked at the hinge residuals h of each rank, as the games ask at their weights, and its answers prove
    the same: a refusal that there is no X, an answer that there is none of lower rank.
    """
    n, m = problem.A.n, len(problem.b)
    F, bound = np.zeros((n, 0)), 0
    h = hinge_of(problem, np.zeros(m))
    h = h / h.sum()  # weights on the constraints, as a game has them
    for rounds in range(1, n + 2):
        answer = problem.ask(h)
        bound = max(bound, answer.rank_bound)
        if answer.atom is None:
            return Grown(F, h, bound, rounds)
        F = np.hstack([F, _directions(problem, h, F, min(max(1, F.shape[1] // 3), n - F.shape[1]))])
        F, violation, hinge = restore(problem, F)
        if callback is not None:
            callback(rounds, violation)
        if violation <= problem.epsilon:
            F = compress(problem, F)  # a rank that failed on the way up may do on the way down
        if violation <= problem.epsilon or F.shape[1] == n:
            return Grown(F, None, bound, rounds)
        h = hinge / hinge.sum()
    raise AssertionError("unreachable: the rank grows at every round")


def _directions(problem: RankProblem, h: np.ndarray, F: np.ndarray, k: int) -> np.ndarray:
    """New columns: the k leading eigenvectors of A(h) off the span of F, where the penalty falls fastest.

    On that span it does not fall: F is stationary there, held by the boundary of the set if not by the constraints.
    """
    A = problem.A.adjoint(h)  # A(h) = Σ_i h_i A_i
    if F.shape[1]:
        Q = np.linalg.qr(F)[0]  # (n, r), the span of F
        columns: np.ndarray = 0.1 * np.linalg.norm(F, 2) * leading(complement(A, Q), k)[1][:, :k]
        return columns
    vectors = leading(A, k)[1][:, :k]
    unit = problem.oracle.gauge(vectors)[0]  # type: ignore[index]
    return along(problem, vectors / np.sqrt(max(unit, np.finfo(float).tiny)))


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
    root = np.sqrt(weight)  # (m,)
    return 1 / max(float(linalg.eigh(root[:, None] * problem.A.gram * root)[0][-1]), np.finfo(float).tiny)


def cut(problem: RankProblem, F: np.ndarray, w: np.ndarray, eta: float, rank: int) -> np.ndarray:
    """The factor of P(FFᵀ + η A(w))."""
    A = problem.A.adjoint(w)
    moved = operator(len(F), lambda x: F @ (F.T @ x) + eta * (A @ x))  # FFᵀ + η A(w)
    values, vectors = leading(moved, rank)
    return shrink(problem, vectors[:, :rank] * np.sqrt(np.maximum(values[:rank], 0)))
