"""The game behind RMP-MW and RMP-OCP: one player weighs the constraints, the oracle answers with a matrix.

A rule moves the weights: multiplicative weights (Jain 2009, Algorithm 2 and Theorem 10), or online gradient descent in
the convex hull of the constraints (Algorithm 3 and Theorem 11). The answers are averaged. The average is checked at
every step, so a run ends as soon as it can, and now and then the averaging weights are chosen anew (:func:`correct`),
which ends it much sooner.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np

from gramian import _validate
from gramian.rankmin.base import Callback, RankProblem, Record
from gramian.rankmin.oracles import Atom, leading


class Rule(Protocol):
    """Moves the weights p on the constraints after each answer."""

    def update(self, p: np.ndarray, penalty: np.ndarray, atom: Atom, t: int) -> tuple[np.ndarray, float]:
        """The next weights, and the share of this answer in the average."""


def mult_update(p: np.ndarray, penalty: np.ndarray, rho: float, delta: float) -> np.ndarray:
    """MultUpdate of Algorithm 2: a satisfied constraint loses weight, a violated one gains.

    The display in Jain 2009, §2.3, has the wrong sign in its second case; this is the one of Algorithm 2.
    """
    scaled = penalty / rho  # in [−1, 1]
    p = p * np.where(scaled >= 0, (1 - delta) ** scaled, (1 + delta) ** -scaled)
    shares: np.ndarray = p / p.sum()
    return shares


@dataclass(frozen=True)
class MultiplicativeWeights:
    """The rule of RMP-MW.

    With penalties M ∈ [−ρ, ρ] and shares γ_t = δ_t / ρ_t in the average, every expert k satisfies
    Σ_t γ_t p^t·M^t ≤ Σ_t γ_t M^t_k + Σ_t δ_t γ_t |M^t_k| + ln m, for all δ_t ≤ 1/2 and ρ_t ≥ max |M^t|. With
    constant ρ and δ = min(ε/4ρ, 1/2) and T = 16 ρ² ln m / ε² this is Jain 2009, Theorem 1. Algorithm 2 prints
    ρ = max M, which bounds the penalties from one side only; here ρ_t = max |M|.

    Parameters
    ----------
    delta : float or None
        δ_t; None: min(1/2, √(ln m / t)), which needs no horizon.
    rho : float or None
        ρ_t; None: max_i |M_i| at each step.
    """

    delta: float | None = None
    rho: float | None = None

    def update(self, p: np.ndarray, penalty: np.ndarray, atom: Atom, t: int) -> tuple[np.ndarray, float]:
        """One MultUpdate, and the share δ/ρ of this answer."""
        delta = min(0.5, np.sqrt(np.log(max(len(p), 2)) / t)) if self.delta is None else self.delta
        rho = max(np.abs(penalty).max(), np.finfo(float).tiny) if self.rho is None else self.rho
        return mult_update(p, penalty, rho, delta), delta / rho


@dataclass(frozen=True)
class PrintedWeights:
    """MultUpdate of Algorithm 2 as it is printed: ρ_t = max_i M_i and δ_t = min(ε/4ρ_t, ½), anew at each answer.

    This ρ bounds the penalties from above only. Where it is 0 the letter divides by zero, and the weights stay: the
    oracle sees to it that Σ p_i M_i ≥ 0, so that no constraint is violated then.
    """

    epsilon: float

    def update(self, p: np.ndarray, penalty: np.ndarray, atom: Atom, t: int) -> tuple[np.ndarray, float]:
        """One MultUpdate; every answer has the same share."""
        rho = float(penalty.max())
        if rho <= 0:
            return p, 1.0
        return mult_update(p, penalty, rho, min(self.epsilon / (4 * rho), 0.5)), 1.0


def theory(problem: RankProblem) -> tuple[MultiplicativeWeights, int]:
    """The rule and the number of rounds T of Theorem 10, with ρ = max_i (D ‖A_i‖ + |b_i|)."""
    D, eps = problem.oracle.reach(problem.A.n), problem.epsilon
    rho = float((D * problem.A.norms + np.abs(problem.b)).max())
    rounds = int(np.ceil(16 * rho**2 * np.log(max(len(problem.b), 2)) / eps**2))
    return MultiplicativeWeights(min(eps / (4 * rho), 0.5), rho), rounds


class OnlineGradient:
    """The rule of RMP-OCP: z ← Π_K(z − η_t (X^t/D, −1)) on K = conv{(D A_i, b_i)}, η_t = step · ‖K‖ / (2 G √t).

    D is the largest norm in 𝒞 if that is below 1, and 1 otherwise: the thesis assumes sets that reach 1. A point
    of K is kept as its weights p, so the projection is the simplex QP min_p ½ pᵀGp − pᵀc with the Gram matrix
    G_ij = D² ⟨A_i, A_j⟩ + b_i b_j and c = G p^t − η_t M^t. ‖K‖ is the diameter of K, and the G of the step the largest
    gradient √(‖X^t‖²/D² + 1) so far: Theorem 11 writes Δ and D for them, which forgets the last coordinate of the
    gradient and a factor of up to two in the diameter.

    ``printed`` has the letter of Algorithm 3 in their place: η_t = Δ/(2D√t) with Δ = max_i ‖A_i‖_F + |b_i| and D, which
    the thesis takes to be at least 1, on (A, b) as they are.

    With step = 1 the proof behind Theorem 2 gives R(T) ≤ 3/2 · G ‖K‖ √T: ‖K‖²/(2η_T) contributes the printed
    G ‖K‖ √T, and the gradients another half of it.
    """

    def __init__(self, problem: RankProblem, step: float = 1.0, printed: bool = False):
        self.reach = 1.0 if printed else _reach(problem)
        self.gram = self.reach**2 * problem.A.gram + np.outer(problem.b, problem.b)
        squares = self.gram.diagonal()  # ‖(D A_i, b_i)‖²
        self.diameter = float(np.sqrt(np.maximum(squares[:, None] + squares - 2 * self.gram, 0).max()))
        self.smoothness = 1.001 * float(leading(self.gram, 1)[0][0])  # Lanczos comes from below
        self.step, self.gradient, self.fixed = step, 1.0, 0.0
        if printed:
            delta = float((problem.A.norms + np.abs(problem.b)).max())
            self.fixed = delta / max(1.0, problem.oracle.reach(problem.A.n))  # Δ/D

    def update(self, p: np.ndarray, penalty: np.ndarray, atom: Atom, t: int) -> tuple[np.ndarray, float]:
        """One projected gradient step; every answer has the same share."""
        # ‖X‖_F² = Σ_ij d_i d_j (v_i·v_j)², the vectors need not be orthonormal.
        overlap = atom.vectors.T @ atom.vectors
        d = atom.values / self.reach  # X/D
        self.gradient = max(self.gradient, float(np.sqrt(d @ overlap**2 @ d + 1)))
        eta = (self.fixed or self.step * self.diameter / self.gradient) / (2 * np.sqrt(t))
        return project_hull(self.gram, self.gram @ p - eta * penalty, p, self.smoothness), 1.0


def _reach(problem: RankProblem) -> float:
    try:
        return min(1.0, problem.oracle.reach(problem.A.n))
    except NotImplementedError:
        return 1.0


def project_simplex(v: np.ndarray) -> np.ndarray:
    """Nearest point of {p ≥ 0, Σ p = 1}."""
    u = np.sort(v)[::-1]  # descending
    excess = (np.cumsum(u) - 1) / np.arange(1, len(u) + 1)
    p: np.ndarray = np.maximum(v - excess[np.flatnonzero(u > excess)[-1]], 0)
    return p


def project_hull(gram: np.ndarray, c: np.ndarray, p: np.ndarray, smoothness: float, tol: float = 1e-9) -> np.ndarray:
    """Minimize ½ pᵀGp − cᵀp over the simplex, to a fixed point of a gradient step within ``tol``.

    Few weights of the answer are positive, so it is sought among those of p and then, as long as the gradient g of
    another is below the level ν = pᵀg, which no weight is at the optimum, among these and the lowest such as well.
    """
    if smoothness <= 0:
        return p
    among = np.flatnonzero(p)
    while True:
        nearest = np.zeros_like(p)
        nearest[among] = _among(gram[np.ix_(among, among)], c[among], p[among], smoothness, tol)
        slope = gram[:, among] @ nearest[among] - c  # g = Gp − c
        below = np.setdiff1d(np.flatnonzero(slope < nearest @ slope - tol * smoothness), among)
        if not len(below):
            return nearest
        lowest = below[np.argsort(slope[below])[: max(10, len(among) // 2)]]
        p, among = nearest, np.union1d(among, lowest)


def _among(
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


def rule_of(problem: RankProblem, method: str, step: float | Literal["printed"] | None, owner: str) -> Rule:
    """The rule of "mw" with δ = step, or of "ocp" with step as a factor; None is ours, "printed" that of the letter."""
    if isinstance(step, str):
        return PrintedWeights(problem.epsilon) if method == "mw" else OnlineGradient(problem, printed=True)
    factor: float | None = step
    if factor is not None:
        high = 0.5 if method == "mw" else np.inf
        factor = _validate.number(factor, owner, "step", low=0, high=high, open_low=True)
    return MultiplicativeWeights(factor) if method == "mw" else OnlineGradient(problem, factor or 1.0)


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
    p = np.full(len(problem.b), 1 / len(problem.b))  # (m,)
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
        if violation > problem.epsilon and t >= min(check, max_iter):
            best, check = _corrected(problem, played), t + 1 + t // 8
            violation = problem.violation(best.mix @ _values(played))
        if callback is not None:
            callback(t, violation)
        if violation <= problem.epsilon:
            break
        if best is not None and _refuses(problem, best.weights):
            return _game(problem, [*played, Round(best.weights, None, np.zeros(0), 0.0, 0)], best.mix)
    return _game(problem, played, _shares(played) if best is None else best.mix)


def _refuses(problem: RankProblem, weights: np.ndarray) -> bool:
    return problem.ask(weights).atom is None


def _shares(played: list[Round]) -> np.ndarray:
    """The share of each answer in the running average."""
    steps = np.array([turn.step for turn in played])
    shares: np.ndarray = steps / steps.sum()
    return shares


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

    T, m = values.shape  # answers, constraints
    scale = max(np.abs(values - b).max(), np.finfo(float).tiny)
    # t ≤ Σ_t λ_t (values_ti − b_i) for each i, in variables (λ, t)
    slack: Any = np.hstack([(b - values).T / scale, np.ones((m, 1))])
    simplex = np.append(np.ones(T), 0.0)[None, :]  # Σ λ_t = 1
    bounds = [(0, None)] * T + [(None, None)]
    optimum = linprog(-np.eye(T + 1)[-1], slack, np.zeros(m), simplex, [1.0], bounds, method="highs-ds")
    if optimum.x is None:
        return Corrected(np.full(T, 1 / T), np.full(m, 1 / m))
    return Corrected(_convex(optimum.x[:T]), _convex(-optimum.ineqlin.marginals))


def _convex(weights: np.ndarray) -> np.ndarray:
    weights = np.maximum(weights, 0)
    shares: np.ndarray = weights / weights.sum()
    return shares


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
