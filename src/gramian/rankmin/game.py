"""The game behind RMP-MW and RMP-OCP: one player weighs the constraints, the oracle answers with a matrix.

A rule moves the weights; the answers are averaged. The average is checked at every step, so a run ends as soon as
it can, and now and then the averaging weights are chosen anew (:func:`correct`), which ends it much sooner.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from gramian import _checks
from gramian.rankmin.base import Callback, RankProblem, Record
from gramian.rankmin.mw import MultiplicativeWeights
from gramian.rankmin.ocp import OnlineGradient
from gramian.rankmin.oracles import Atom


class Rule(Protocol):
    """Moves the weights p on the constraints after each answer."""

    def update(self, p: np.ndarray, penalty: np.ndarray, atom: Atom, t: int) -> tuple[np.ndarray, float]:
        """The next weights, and the share of this answer in the average."""


def rule_of(problem: RankProblem, method: str, step: float | None, owner: str) -> Rule:
    """The rule of "mw" with δ = step, or of "ocp" with step as a factor; None is the rule's own step."""
    if step is not None:
        high = 0.5 if method == "mw" else np.inf
        step = _checks.number(step, owner, "step", low=0, high=high, open_low=True)
    return MultiplicativeWeights(step) if method == "mw" else OnlineGradient(problem, 1.0 if step is None else step)


@dataclass(frozen=True, eq=False)
class Played:
    """The answers, the convex weights ``mix`` that combine them, and the proofs found on the way."""

    atoms: list[Atom]
    mix: np.ndarray
    record: Record
    rank_bound: int
    certificate: np.ndarray | None


class Round(NamedTuple):
    """The weights asked, the answer (None: refused), its values, its share, and the least rank that it proves."""

    weights: np.ndarray
    atom: Atom | None
    values: np.ndarray
    step: float
    rank_bound: int


def rounds(problem: RankProblem, rule: Rule, max_iter: int) -> Iterator[Round]:
    """The loop of Algorithms 2 and 3 (Jain 2009): ask at the weights, measure the answer, move the weights."""
    p = np.full(len(problem.b), 1 / len(problem.b))
    for t in range(1, max_iter + 1):
        atom, bound = problem.ask(p)
        if atom is None:
            yield Round(p, None, np.zeros(0), 0.0, bound)
            return
        values = problem.A(*atom)
        following, step = rule.update(p, values - problem.b, atom, t)
        yield Round(p, atom, values, step, bound)
        p = following


def average(problem: RankProblem, rule: Rule, max_iter: int, callback: Callback = None) -> Played:
    """What Algorithms 2 and 3 return as printed: the mean of ``max_iter`` answers, whatever they violate."""
    played: list[Round] = []
    total = np.zeros(len(problem.b))
    for turn in rounds(problem, rule, max_iter):
        played.append(turn)
        if turn.atom is not None:
            total += turn.values
            if callback is not None:
                callback(len(played), problem.violation(total / len(played)))
    answered = sum(turn.atom is not None for turn in played)
    return _game(problem, played, np.full(answered, 1 / max(answered, 1)))


def play(problem: RankProblem, rule: Rule, max_iter: int, callback: Callback = None) -> Played:
    """Play until an average of the answers satisfies every constraint to ε, or weights are found that are refused."""
    played: list[Round] = []
    total = np.zeros(len(problem.b))
    share, check = 0.0, 1
    for t, turn in enumerate(rounds(problem, rule, max_iter), 1):
        played.append(turn)
        if turn.atom is None:
            return _game(problem, played, _corrected(problem, played).mix)
        total, share = total + turn.step * turn.values, share + turn.step
        best, violation = None, problem.violation(total / share)
        if violation > problem.epsilon and (t >= check or t == max_iter):
            best, check = _corrected(problem, played), t + 1 + t // 8
            violation = problem.violation(best.mix @ _values(played))
        if callback is not None:
            callback(t, violation)
        if violation <= problem.epsilon:
            break
        if best is not None and problem.ask(best.weights).atom is None:
            return _game(problem, [*played, Round(best.weights, None, np.zeros(0), 0.0, 0)], best.mix)
    return _game(problem, played, np.array([r.step / share for r in played]) if best is None else best.mix)


def _values(played: list[Round]) -> np.ndarray:
    return np.array([r.values for r in played if r.atom is not None])


def _corrected(problem: RankProblem, played: list[Round]) -> "Corrected":
    """The best convex weights on the answers, and on as few as do where they can be met."""
    values, m = _values(played), len(problem.b)
    if not len(values):
        return Corrected(np.zeros(0), np.full(m, 1 / m))
    best = correct(values, problem.b)
    if problem.violation(best.mix @ values) > problem.epsilon:
        return best
    return best._replace(mix=prune(problem, values, best.mix))


def _game(problem: RankProblem, played: list[Round], mix: np.ndarray) -> Played:
    """The record of what was played, with the proofs it holds."""
    answered, m = [r for r in played if r.atom is not None], len(problem.b)
    record = Record(
        np.reshape([r.weights for r in answered], (-1, m)),
        _values(played).reshape(-1, m),
        np.array([r.step for r in answered]),
    )
    atoms = [r.atom for r in answered if r.atom is not None]
    bound = max((r.rank_bound for r in answered), default=0)
    return Played(atoms, mix, record, bound, None if len(answered) == len(played) else played[-1].weights)


class Corrected(NamedTuple):
    """Convex weights: ``mix`` (T,) on the answers and ``weights`` (m,) on the constraints."""

    mix: np.ndarray
    weights: np.ndarray


def correct(values: np.ndarray, b: np.ndarray) -> Corrected:
    """Best play of both sides, max_λ min_w Σ_ti λ_t w_i (values_ti − b_i) over convex weights λ, w.

    A linear program; a vertex of it uses few answers, so this lowers the rank as well. Its dual w is where the answers
    so far do worst: if the problem is infeasible, these are soon weights that the oracle refuses.
    """
    from scipy.optimize import linprog

    T, m = values.shape
    scale = max(np.abs(values - b).max(), np.finfo(float).tiny)
    slack: Any = np.hstack([(b - values).T / scale, np.ones((m, 1))])
    simplex = np.append(np.ones(T), 0.0)[None, :]
    bounds = [(0, None)] * T + [(None, None)]
    found = linprog(-np.eye(T + 1)[-1], slack, np.zeros(m), simplex, [1.0], bounds, method="highs-ds")
    if found.x is None:
        return Corrected(np.full(T, 1 / T), np.full(m, 1 / m))
    return Corrected(_convex(found.x[:T]), _convex(-found.ineqlin.marginals))


def _convex(weights: np.ndarray) -> np.ndarray:
    weights = np.maximum(weights, 0)
    return weights / weights.sum()


def prune(problem: RankProblem, values: np.ndarray, mix: np.ndarray) -> np.ndarray:
    """Drop the answer of least weight, choose the weights anew, and go on while the constraints hold to ε."""
    while True:
        used = np.flatnonzero(mix)
        used = used[used != used[np.argmin(mix[used])]]
        if not len(used):
            return mix
        fewer = np.zeros_like(mix)
        fewer[used] = correct(values[used], problem.b).mix
        if problem.violation(fewer @ values) > problem.epsilon:
            return mix
        mix = fewer
