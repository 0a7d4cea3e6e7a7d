"""One-constraint oracles: min rank(X) s.t. ⟨A, X⟩ ≥ b, X ∈ 𝒞, in closed form (Jain 2009, (7.3) and (7.8))."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

from gramian import _checks, linalg
from gramian.rankmin.measurements import _dense, _operator

_DENSE = 200
"""Matrices up to this size, and requests for more than an eighth of the spectrum, are decomposed densely."""


class Atom(NamedTuple):
    """X = vectors diag(values) vectorsᵀ of rank ``len(values)``."""

    vectors: np.ndarray
    values: np.ndarray


class Oracle(ABC):
    """A convex set 𝒞 of symmetric matrices that contains 0, known through its one-constraint problem.

    A subclass gives ``solve``. ``gauge`` (sets of PSD matrices) opens the compression and the factored method to the
    set; ``reach`` is needed for the step sizes of the theorem only.
    """

    @abstractmethod
    def solve(self, A: Any, b: float) -> Atom | None:
        """An X ∈ 𝒞 of least rank with ⟨A, X⟩ ≥ b, or None when there is none."""

    def gauge(self, F: np.ndarray) -> tuple[float, np.ndarray] | None:
        """N(FFᵀ), with X ∈ 𝒞 when N ≤ 1, and ∇N(FFᵀ) F; None when the set has no such form."""
        return None

    def reach(self, n: int) -> float:
        """D = max ‖X‖_F over 𝒞."""
        raise NotImplementedError(f"{type(self).__name__}: step='theory' needs reach(n) = max ‖X‖_F over the set.")


def leading(A: Any, k: int, largest: str = "LA") -> tuple[np.ndarray, np.ndarray]:
    """The k algebraically largest ("LA") or largest in magnitude ("LM") eigenpairs, in descending order."""
    n = A.shape[0]
    if n > _DENSE and 8 * k <= n:
        try:
            start = np.random.RandomState(0).standard_normal(n)
            values, vectors = eigsh(A, k=k, which=largest, v0=start, tol=1e-6)
            order = np.argsort(-(np.abs(values) if largest == "LM" else values), kind="stable")
            return values[order], vectors[:, order]
        except ArpackError:
            pass
    values, vectors = linalg.eigh(_dense(A))
    order = np.argsort(-(np.abs(values) if largest == "LM" else values), kind="stable")[: max(k, 1)]
    return values[order], vectors[:, order]


@dataclass(frozen=True)
class SchattenBall(Oracle):
    """𝒞 = {X : ‖X‖_p ≤ radius}, ‖·‖_p of the eigenvalues, with X ⪰ 0 unless ``psd=False``.

    With λ the positive eigenvalues of A (their magnitudes when ``psd=False``) in descending order and 1/p + 1/q = 1,
    the best X of rank k reaches radius · ‖λ_1..k‖_q and has eigenvalues ∝ λ^{q−1} (Hölder), so the least rank is the
    first k that reaches b. p = 2 is the Frobenius ball of Jain 2009, (7.8); p = 1 the trace-norm and p = ∞ the spectral
    ball. Eigenpairs are computed by Lanczos as they are needed.

    Parameters
    ----------
    p : float in [1, ∞]
    radius : float, > 0
    psd : bool

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.rankmin import SchattenBall
    >>> SchattenBall().solve(np.diag([3.0, 4.0, -9.0]), 4.5).values.round(6).tolist()
    [0.8, 0.6]
    >>> SchattenBall().solve(np.diag([3.0, 4.0, -9.0]), 5.5) is None
    True
    """

    p: float = 2.0
    radius: float = 1.0
    psd: bool = True

    def __post_init__(self) -> None:
        if not (isinstance(self.p, int | float) and self.p >= 1):
            raise ValueError(f"SchattenBall: p must be a number in [1, inf], got {self.p!r}.")
        _checks.number(self.radius, "SchattenBall", "radius", low=0, open_low=True)

    @property
    def _q(self) -> float:
        return np.inf if self.p == 1 else (1.0 if self.p == np.inf else self.p / (self.p - 1))

    def solve(self, A: Any, b: float) -> Atom | None:
        """The closed form above, on as many eigenpairs as it takes."""
        n = A.shape[0]
        if b <= 0:
            return Atom(np.zeros((n, 0)), np.zeros(0))
        goal = b / self.radius * (1 - 1e-10)
        k = n if n <= _DENSE else 2
        while True:
            values, vectors = leading(A, k, "LA" if self.psd else "LM")
            size = np.maximum(values, 0) if self.psd else np.abs(values)
            rank = self._least_rank(size, goal)
            if rank:
                x = self.radius * _aligned(size[:rank], self._q)
                return Atom(vectors[:, :rank], x if self.psd else x * np.sign(values[:rank]))
            # What is left of the spectrum is at most size[-1] each.
            rest = np.concatenate([size, np.full(n - len(size), size[-1])])
            if len(size) == n or size[-1] == 0 or np.linalg.norm(rest, self._q) < goal:
                return None
            k = min(4 * k, n)

    def _least_rank(self, size: np.ndarray, goal: float) -> int:
        """First k with ‖size_1..k‖_q ≥ goal, 0 when there is none."""
        if self._q == np.inf:
            return int(size[0] >= goal)
        top = max(size[0], np.finfo(float).tiny)
        reached = top * np.cumsum((size / top) ** self._q) ** (1 / self._q)
        k = int(np.searchsorted(reached, goal))
        return k + 1 if k < len(size) else 0

    def gauge(self, F: np.ndarray) -> tuple[float, np.ndarray] | None:
        """‖FFᵀ‖_p / radius and its gradient times F, from the r × r matrix FᵀF."""
        if not self.psd:
            return None
        values, vectors = linalg.eigh(F.T @ F)
        values = np.maximum(values, 0)
        value = float(np.linalg.norm(values, self.p)) if len(values) else 0.0
        slope = np.zeros_like(values)
        if value > 0 and self.p == np.inf:
            slope[-1] = 1.0
        elif value > 0:
            slope = (values / value) ** (self.p - 1)
        return value / self.radius, F @ (vectors * slope) @ vectors.T / self.radius

    def reach(self, n: int) -> float:
        """D = radius for p ≤ 2, radius · n^{1/2 − 1/p} beyond."""
        return self.radius * float(n) ** max(0.0, 0.5 - (0.0 if self.p == np.inf else 1 / self.p))


def _aligned(size: np.ndarray, q: float) -> np.ndarray:
    """The x with ‖x‖_p = 1 and ⟨size, x⟩ = ‖size‖_q."""
    if q == np.inf:
        return np.where(np.arange(len(size)) == 0, 1.0, 0.0)
    return (size / np.linalg.norm(size, q)) ** (q - 1)


@dataclass(frozen=True, eq=False)
class Ellipsoid(Oracle):
    """𝒞 = {X : ‖P^{1/2} X P^{1/2}‖_p ≤ radius} with P ≻ 0, PSD unless the base ball says otherwise.

    Y = P^{1/2} X P^{1/2} has the rank of X, so the oracle is the one of the ball at P^{−1/2} A P^{−1/2}.

    Parameters
    ----------
    P : array (n, n), positive definite
    ball : SchattenBall
    """

    P: Any
    ball: SchattenBall = SchattenBall()

    @cached_property
    def _roots(self) -> tuple[np.ndarray, np.ndarray]:
        P = _checks.psd(self.P, "Ellipsoid", "P")
        if np.linalg.matrix_rank(P, hermitian=True) < len(P):
            raise ValueError("Ellipsoid: P must be positive definite, got a singular matrix.")
        return linalg.psd_power(P, 0.5), linalg.psd_power(P, -0.5)

    def solve(self, A: Any, b: float) -> Atom | None:
        """The ball's answer in whitened coordinates, taken back."""
        inverse = self._roots[1]
        if isinstance(A, LinearOperator) or sparse.issparse(A):
            white: Any = _operator(len(inverse), lambda x: inverse @ (A @ (inverse @ x)))
        else:
            white = linalg.symmetrize(inverse @ A @ inverse)
        atom = self.ball.solve(white, b)
        return None if atom is None else Atom(inverse @ atom.vectors, atom.values)

    def gauge(self, F: np.ndarray) -> tuple[float, np.ndarray] | None:
        """The ball's gauge of P^{1/2} F."""
        root = self._roots[0]
        found = self.ball.gauge(root @ F)
        return None if found is None else (found[0], root @ found[1])

    def reach(self, n: int) -> float:
        """The ball's reach over the least eigenvalue of P."""
        return self.ball.reach(n) * float(np.linalg.eigvalsh(self._roots[1])[-1] ** 2)


@dataclass(frozen=True)
class EntrywiseBall(Oracle):
    """𝒞 = {X : Σ_ij |X_ij| ≤ radius}, symmetric, not PSD.

    ⟨A, X⟩ is at most radius · max |A_ij|, reached at one entry: rank one on the diagonal, and rank two for the
    symmetric pair of an off-diagonal entry (rank one if X need not be symmetric). No other entrywise ball but p = 2,
    which is the Frobenius ball, has a closed form.

    Parameters
    ----------
    radius : float, > 0
    """

    radius: float = 1.0

    def __post_init__(self) -> None:
        _checks.number(self.radius, "EntrywiseBall", "radius", low=0, open_low=True)

    def solve(self, A: Any, b: float) -> Atom | None:
        """The largest diagonal entry if it is enough, else the largest entry."""
        n = A.shape[0]
        if b <= 0:
            return Atom(np.zeros((n, 0)), np.zeros(0))
        goal = b / self.radius * (1 - 1e-10)
        A = sparse.coo_array(_dense(A) if isinstance(A, LinearOperator) else A)
        diagonal = A.diagonal()
        i = int(np.abs(diagonal).argmax())
        if abs(diagonal[i]) >= goal:
            return Atom(np.eye(1, n, i).T, np.array([self.radius * np.sign(diagonal[i])]))
        best = int(np.abs(A.data).argmax()) if A.nnz else -1
        if best < 0 or abs(A.data[best]) < goal:
            return None
        i, j = int(A.row[best]), int(A.col[best])
        V = np.zeros((n, 2))
        V[[i, j], 0] = np.sqrt(0.5)
        V[[i, j], 1] = np.sqrt(0.5), -np.sqrt(0.5)
        return Atom(V, 0.5 * self.radius * np.sign(A.data[best]) * np.array([1.0, -1.0]))

    def reach(self, n: int) -> float:
        """D = radius."""
        return self.radius
