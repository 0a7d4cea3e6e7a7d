"""The factored method X = FFᵀ (Burer and Monteiro 2003) with a growing rank, and the compression it gives.

At a fixed rank r the constraints are a smooth problem in F, min_F ½ Σ_i max(0, b_i − ε/2 − ⟨A_i, X(F)⟩)² with
X(F) = FFᵀ / max(1, N(FFᵀ)) and N the gauge of 𝒞. There is no objective beside it, so the multipliers of an augmented
Lagrangian would be multiples of the residuals and move no stationary point: the plain penalty is the same method.
"""

from collections.abc import Callable
from itertools import count
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

from gramian.rankmin.base import Callback, RankProblem, compact
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
    hinge = hinge_of(problem, values)
    grad = -2 / size * (problem.A.adjoint(hinge) @ F)
    if size > 1:
        grad += 2 / size * (hinge @ values) * slope
    return 0.5 * float(hinge @ hinge), grad, values


def hinge_of(problem: RankProblem, values: np.ndarray) -> np.ndarray:
    """How far each ⟨A_i, X⟩ is below the middle of what is allowed, b_i − ε/2."""
    return np.maximum(problem.b - problem.epsilon / 2 - values, 0)


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
    return np.sqrt(high) * F


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
        best = min(best, _descend(problem, shorter, max_iter, report), key=lambda found: found.violation)
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
    found = minimize(evaluate, F.ravel(), jac=True, method="L-BFGS-B", callback=enough, options=options)
    end = problem.A(shrink(problem, found.x.reshape(shape)))
    return Restored(shrink(problem, best.F), best.violation, hinge_of(problem, end))


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


def grow(problem: RankProblem, callback: Callback = None) -> Grown:
    """Raise the rank until the constraints hold to ε.

    The oracle is asked at the hinge residuals h of each rank, as the games ask at their weights, and its answers prove
    the same: a refusal that there is no X, an answer that there is none of lower rank.
    """
    n, m = problem.A.n, len(problem.b)
    F, bound = np.zeros((n, 0)), 0
    h = hinge_of(problem, np.zeros(m))
    h = h / h.sum()
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
    A = problem.A.adjoint(h)
    if F.shape[1]:
        Q = np.linalg.qr(F)[0]
        return 0.1 * np.linalg.norm(F, 2) * leading(complement(A, Q), k)[1][:, :k]
    vectors = leading(A, k)[1][:, :k]
    unit = problem.oracle.gauge(vectors)[0]  # type: ignore[index]
    return along(problem, vectors / np.sqrt(max(unit, np.finfo(float).tiny)))
