"""The factored method X = FFᵀ (Burer and Monteiro 2003) with a growing rank, and the compression it gives.

At a fixed rank r the constraints are a smooth problem in F, min_F ½ Σ_i max(0, b_i − ε/2 − ⟨A_i, X(F)⟩)² with
X(F) = FFᵀ / max(1, N(FFᵀ)) and N the gauge of 𝒞. There is no objective beside it, so the multipliers of an augmented
Lagrangian would be multiples of the residuals and move no stationary point: the plain penalty is the same method.
"""

from collections.abc import Callable
from itertools import count
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize

from gramian.rankmin.base import RankProblem, compact
from gramian.rankmin.eigen import complement, leading


def shrink(problem: RankProblem, F: np.ndarray) -> np.ndarray:
    """F scaled so that FFᵀ lies in the set."""
    size = problem.oracle.gauge(F)[0]  # type: ignore[index]
    return F / np.sqrt(max(1.0, size))


def penalty(problem: RankProblem, F: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """½ Σ hinge², its gradient in F, and 𝒜(X(F))."""
    size, slope = problem.oracle.gauge(F)  # type: ignore[misc]
    size = max(1.0, size)
    values = problem.A(F) / size
    hinge = np.maximum(problem.b - problem.epsilon / 2 - values, 0)
    grad = -2 / size * (problem.A.adjoint(hinge) @ F)
    if size > 1:
        grad += 2 / size * (hinge @ values) * slope
    return 0.5 * float(hinge @ hinge), grad, values


class Restored(NamedTuple):
    """A factor with FFᵀ in the set, and its worst violation."""

    F: np.ndarray
    violation: float


def restore(
    problem: RankProblem, F: np.ndarray, max_iter: int = 300, callback: Callable[[int, float], Any] | None = None
) -> Restored:
    """Move F until X(F) satisfies the constraints to ε, or a minimum is reached.

    ``callback(step, violation)`` hears every iteration and the end.
    """
    shape, best, steps = F.shape, Restored(F, np.inf), count(1)
    report = callback or (lambda step, violation: None)
    scale = 1 / max(float(np.max(problem.A(F) ** 2)), float(np.max(problem.b**2)), np.finfo(float).tiny)

    def evaluate(f: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal best
        value, grad, values = penalty(problem, f.reshape(shape))
        violation = problem.violation(values)
        if violation < best.violation:
            best = Restored(f.reshape(shape).copy(), violation)
        return scale * value, scale * grad.ravel()

    def enough(intermediate_result: object) -> None:
        if best.violation <= problem.epsilon:
            raise StopIteration
        report(next(steps), best.violation)

    options = {"maxiter": max_iter, "maxfun": 2 * max_iter, "ftol": 1e-12, "gtol": 1e-12}
    minimize(evaluate, F.ravel(), jac=True, method="L-BFGS-B", callback=enough, options=options)
    report(next(steps), best.violation)
    return best._replace(F=shrink(problem, best.F))


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
    return F[:, :rank] + share / np.sqrt(rank) * F[:, rank:] @ mix


class Grown(NamedTuple):
    """The factor F, a certificate of infeasibility or None, the least rank that was proved, and the rounds played."""

    F: np.ndarray
    certificate: np.ndarray | None
    rank_bound: int
    rounds: int


def grow(problem: RankProblem, callback: Callable[[int, float], Any] | None = None) -> Grown:
    """Raise the rank until the constraints hold to ε.

    The oracle is asked at the hinge residuals h of each rank, as the games ask at their weights, and its answers prove
    the same: a refusal that there is no X, an answer that there is none of lower rank.
    """
    n, m = problem.A.n, len(problem.b)
    F, h, bound = np.zeros((n, 0)), np.full(m, 1 / m), 0
    for rounds in range(1, n + 2):
        answer = problem.ask(h)
        bound = max(bound, answer.rank_bound)
        if answer.atom is None:
            return Grown(F, h, bound, rounds)
        F = np.hstack([F, _directions(problem, h, F, min(max(1, F.shape[1] // 3), n - F.shape[1]))])
        F, violation = restore(problem, F)
        if callback is not None:
            callback(rounds, violation)
        if violation <= problem.epsilon:
            F = compress(problem, F)  # a rank that failed on the way up may do on the way down
        if violation <= problem.epsilon or F.shape[1] == n:
            return Grown(F, None, bound, rounds)
        hinge = np.maximum(problem.b - problem.epsilon / 2 - problem.A(F), 0)
        h = hinge / hinge.sum()
    raise AssertionError("unreachable: the rank grows at every round")


def _directions(problem: RankProblem, h: np.ndarray, F: np.ndarray, k: int) -> np.ndarray:
    """New columns: the k leading eigenvectors of A(h) off the span of F, where the penalty falls fastest.

    On that span it does not fall: F is stationary there, held by the boundary of the set if not by the constraints.
    """
    A = problem.A.adjoint(h)
    if F.shape[1]:
        Q = np.linalg.qr(F)[0]
        return 0.1 * np.linalg.norm(F, 2) * leading(complement(A, Q), k)[1][:, :k]
    vectors = leading(A, k)[1][:, :k]
    unit = problem.oracle.gauge(vectors)[0]  # type: ignore[index]
    return vectors / np.sqrt(max(unit, np.finfo(float).tiny))
