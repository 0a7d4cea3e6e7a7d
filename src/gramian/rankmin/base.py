"""What rank minimization takes and gives: :class:`RankProblem` and :class:`RankResult`."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gramian import linalg
from gramian.rankmin.measurements import Measurements
from gramian.rankmin.oracles import Atom, Oracle

Callback = Callable[[int, float], Any] | None
"""Hears the number of the step and the worst violation."""


@dataclass(frozen=True, eq=False)
class RankProblem:
    """min rank(X) s.t. ⟨A_i, X⟩ ≥ b_i − ε, X ∈ 𝒞 (Jain 2009, RMP and Definition 7.1.1)."""

    A: Measurements
    b: np.ndarray
    epsilon: float
    oracle: Oracle

    def violation(self, values: np.ndarray) -> float:
        """max_i max(0, b_i − values_i)."""
        return float(np.maximum(self.b - values, 0).max(initial=0.0))

    def ask(self, p: np.ndarray) -> "Answer":
        """The oracle at (A(p), b(p)); when that is refused, at b(p) − ε, which is what we need."""
        A, b = self.A.adjoint(p), float(p @ self.b)
        atom = self.oracle.solve(A, b)
        if atom is None:
            return Answer(self.oracle.solve(A, b - self.epsilon), 0)
        return Answer(atom, len(atom.values) if self.oracle.exact else min(1, len(atom.values)))


class Answer(NamedTuple):
    """An answer of the oracle, None for a proof of infeasibility, and the least rank that it proves."""

    atom: Atom | None
    rank_bound: int


@dataclass(frozen=True, eq=False)
class Record:
    """A played game, for the regret inequalities of Theorems 1 and 2: T rounds of weights p^t, values 𝒜(X^t), steps."""

    weights: np.ndarray
    values: np.ndarray
    steps: np.ndarray


@dataclass(frozen=True, eq=False)
class RankResult:
    """X = F diag(signs) Fᵀ, and what is known about it.

    Attributes
    ----------
    factor : array (n, r)
        F, with orthogonal columns in order of decreasing weight; X = FFᵀ for sets of PSD matrices.
    signs : array (r,)
        +1 or −1; all +1 for sets of PSD matrices.
    rank : int
    values : array (m,)
        ⟨A_i, X⟩.
    violation : float
        max_i max(0, b_i − ⟨A_i, X⟩).
    feasible : bool
        Whether the violation is at most epsilon.
    rank_bound : int
        No X in the set with ⟨A_i, X⟩ ≥ b_i (without the epsilon) has a lower rank.
    certificate : array (m,) or None
        Weights w ≥ 0, Σ w = 1, with max_{X ∈ 𝒞} ⟨Σ w_i A_i, X⟩ < Σ w_i b_i − epsilon: proof that no X satisfies the
        constraints, even to epsilon.
    n_iter : int
    history : Record or None
        The games as they were played: ``weights`` and ``values`` (T, m) and ``steps`` (T,), on which the regret
        inequalities of Jain 2009, Theorems 1 and 2, can be read off.
    """

    factor: np.ndarray
    signs: np.ndarray
    rank: int
    values: np.ndarray
    violation: float
    feasible: bool
    rank_bound: int
    certificate: np.ndarray | None
    n_iter: int
    history: Record | None

    @property
    def matrix(self) -> np.ndarray:
        """X as an (n, n) array."""
        X: np.ndarray = (self.factor * self.signs) @ self.factor.T
        return X


def combine(atoms: list[Atom], weights: Any, n: int, rtol: float = 1e-10) -> Atom:
    """Σ_t weights_t X_t in compact form: orthonormal vectors, values in order of decreasing size."""
    used = [(atom, w) for atom, w in zip(atoms, weights) if w > 0 and len(atom.values)]
    if not used:
        return Atom.zero(n)
    V = np.hstack([atom.vectors for atom, _ in used])  # (n, q)
    d = np.concatenate([w * atom.values for atom, w in used])
    Q, R = np.linalg.qr(V)
    values, vectors = linalg.eigh(linalg.symmetrize((R * d) @ R.T))  # V diag(d) Vᵀ = Q (R diag(d) Rᵀ) Qᵀ
    order = np.argsort(-np.abs(values), kind="stable")
    order = order[np.abs(values[order]) > rtol * np.abs(values).max()]
    return Atom(Q @ vectors[:, order], values[order])


def compact(F: np.ndarray) -> np.ndarray:
    """The factor of FFᵀ with orthogonal columns in order of decreasing norm, null columns dropped."""
    atom = combine([Atom(F, np.ones(F.shape[1]))], [1.0], F.shape[0])
    factor: np.ndarray = atom.vectors * np.sqrt(np.maximum(atom.values, 0))
    return factor


def result(
    problem: RankProblem,
    atom: Atom,
    bound: int = 0,
    certificate: np.ndarray | None = None,
    n_iter: int = 0,
    history: Record | None = None,
) -> RankResult:
    """Measure X and report it."""
    F, signs = atom.vectors * np.sqrt(np.abs(atom.values)), np.sign(atom.values)
    values = problem.A(F, signs)
    violation = problem.violation(values)
    feasible = violation <= problem.epsilon
    return RankResult(F, signs, len(signs), values, violation, feasible, bound, certificate, n_iter, history)
