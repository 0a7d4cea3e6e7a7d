"""The game behind RMP-MW and RMP-OCP: one player weighs the constraints, the oracle answers with a matrix.

A rule moves the weights; the answers are averaged. The average is checked at every step, so a run ends as soon as
it can, and now and then the averaging weights are chosen anew (:func:`correct`), which ends it much sooner.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from gramian.rankmin.base import RankProblem, Record
from gramian.rankmin.oracles import Atom


class Rule(Protocol):
    """Moves the weights p on the constraints after each answer."""

    def update(self, p: np.ndarray, penalty: np.ndarray, atom: Atom, t: int) -> tuple[np.ndarray, float]:
        """The next weights, and the share of this answer in the average."""


@dataclass(frozen=True, eq=False)
class Game:
    """The answers, the convex weights ``mix`` that combine them, and the proofs found on the way."""

    atoms: list[Atom]
    mix: np.ndarray
    record: Record
    rank_bound: int
    certificate: np.ndarray | None


def play(problem: RankProblem, rule: Rule, max_iter: int, callback: Callable | None = None) -> Game:
    """Play until an average of the answers satisfies every constraint to ε (Jain 2009, Algorithms 2 and 3)."""
    p = np.full(len(problem.b), 1 / len(problem.b))
    atoms, weights, values, steps = [], [], [], []
    bound, check, mix, certificate = 0, 1, None, None
    for t in range(1, max_iter + 1):
        atom, exact = _ask(problem, p)
        if atom is None:
            certificate = p
            break
        bound = max(bound, len(atom.values)) if exact else bound
        v = problem.A(*atom)
        following, step = rule.update(p, v - problem.b, atom, t)
        for store, item in zip((atoms, weights, values, steps), (atom, p, v, step)):
            store.append(item)
        mix = np.array(steps) / np.sum(steps)
        if problem.violation(mix @ np.array(values)) <= problem.epsilon:
            break
        if t >= check or t == max_iter:
            mix, check = correct(np.array(values), problem.b), t + 1 + t // 8
            if problem.violation(mix @ np.array(values)) <= problem.epsilon:
                mix = prune(problem, np.array(values), mix)
                break
        if callback is not None:
            callback(t, problem.violation(mix @ np.array(values)))
        p = following
    m = len(problem.b)
    record = Record(np.reshape(weights, (-1, m)), np.reshape(values, (-1, m)), np.array(steps))
    if certificate is not None and atoms:
        mix = correct(record.values, problem.b)
    return Game(atoms, np.zeros(0) if mix is None else mix, record, bound, certificate)


def _ask(problem: RankProblem, p: np.ndarray) -> tuple[Atom | None, bool]:
    """Query the oracle at (A(p), b(p)); when that is infeasible, at b(p) − ε, which is what we need."""
    A, b = problem.A.adjoint(p), float(p @ problem.b)
    atom = problem.oracle.solve(A, b)
    if atom is not None:
        return atom, True
    return problem.oracle.solve(A, b - problem.epsilon), False


def correct(values: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Convex weights on the answers that maximize the least slack: max_λ min_i Σ_t λ_t values_ti − b_i.

    A linear program; a vertex of it uses few answers, so this lowers the rank as well.
    """
    from scipy.optimize import linprog

    T, m = values.shape
    scale = max(np.abs(values - b).max(), np.finfo(float).tiny)
    slack: Any = np.hstack([(b - values).T / scale, np.ones((m, 1))])
    simplex = np.append(np.ones(T), 0.0)[None, :]
    bounds = [(0, None)] * T + [(None, None)]
    found = linprog(-np.eye(T + 1)[-1], slack, np.zeros(m), simplex, [1.0], bounds, method="highs-ds")
    if found.x is None:
        return np.full(T, 1 / T)
    mix = np.maximum(found.x[:T], 0)
    return mix / mix.sum()


def prune(problem: RankProblem, values: np.ndarray, mix: np.ndarray) -> np.ndarray:
    """Drop the answer of least weight, choose the weights anew, and go on while the constraints hold to ε."""
    while True:
        used = np.flatnonzero(mix)
        used = used[used != used[np.argmin(mix[used])]]
        if not len(used):
            return mix
        fewer = np.zeros_like(mix)
        fewer[used] = correct(values[used], problem.b)
        if problem.violation(fewer @ values) > problem.epsilon:
            return mix
        mix = fewer
