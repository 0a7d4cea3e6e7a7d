"""One-constraint oracles: min rank(X) s.t. ⟨A, X⟩ ≥ b, X ∈ 𝒞, in closed form (Jain 2009, (7.3) and (7.8)).

They take leading eigenpairs: by Lanczos while these are few, densely beyond.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from inspect import signature
from numbers import Real
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

from gramian import _validate, linalg
from gramian._settings import Positive, Rule, check
from gramian.rankmin.measurements import columns, dense, operator

Eigenpairs = tuple[np.ndarray, np.ndarray]

_DENSE = 200
"""Matrices up to this size, and requests for more than a twelfth of the spectrum, are decomposed densely."""

TOL = 1e-6
"""Relative accuracy of eigenvalues found by Lanczos."""

# A start fixed by a seed is not enough: ARPACK draws again where the Krylov space is exhausted.
_SEEDED = {"rng": 0} if "rng" in signature(eigsh).parameters else {}


class Atom(NamedTuple):
    """X = vectors diag(values) vectorsᵀ of rank ``len(values)``."""

    vectors: np.ndarray
    values: np.ndarray

    @classmethod
    def zero(cls, n: int) -> "Atom":
        """X = 0."""
        return cls(np.zeros((n, 0)), np.zeros(0))


class Oracle(ABC):
    """A convex set 𝒞 of symmetric matrices that contains 0, known through its one-constraint problem.

    A subclass gives ``solve``. ``gauge`` (sets of PSD matrices) opens the compression and the factored method to the
    set; ``reach`` is the unit in which "ocp" measures X, and gives the step sizes of the theorem.

    Attributes
    ----------
    exact : bool
        Whether the answers have the least rank; if not, they prove no rank above one.
    """

    exact: ClassVar[bool] = True

    __post_init__ = check

    @abstractmethod
    def solve(self, A: Any, b: float) -> Atom | None:
        """An X ∈ 𝒞 of least rank with ⟨A, X⟩ ≥ b, or None when there is none."""

    def gauge(self, F: np.ndarray) -> tuple[float, np.ndarray] | None:
        """N(FFᵀ), with X ∈ 𝒞 when N ≤ 1, and ∇N(FFᵀ) F; None when the set has no such form."""
        return None

    def reach(self, n: int) -> float:
        """D = max ‖X‖_F over 𝒞, or a bound on it."""
        raise NotImplementedError(f"{type(self).__name__}: step='theory' needs reach(n) = max ‖X‖_F over the set.")


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

    p: Annotated[Any, Rule("a number in [1, inf]", lambda value: isinstance(value, Real) and value >= 1)] = 2.0
    radius: Positive = 1.0
    psd: bool = True

    @property
    def _q(self) -> float:
        return np.inf if self.p == 1 else (1.0 if self.p == np.inf else float(self.p / (self.p - 1)))

    def solve(self, A: Any, b: float) -> Atom | None:
        """The closed form above, on as many eigenpairs as it takes."""
        n = A.shape[0]
        if b <= 0:
            return Atom.zero(n)
        goal = b / self.radius * (1 - 1e-10)
        if self._q >= 2 and goal > _frobenius(A):  # ‖λ‖_q ≤ ‖λ‖_2
            return None
        k = 1
        while k <= n:
            values, vectors = leading(A, k, "LA" if self.psd else "LM")
            size = np.maximum(values, 0) if self.psd else np.abs(values)  # λ, descending
            rank = self._least_rank(size, goal)
            if rank:
                x = self.radius * _aligned(size[:rank], self._q)
                return Atom(vectors[:, :rank], x if self.psd else x * np.sign(values[:rank]))
            least = self._at_least(size, goal, n)
            k = least if 12 * least > n else max(least + least // 2, 4 * k)
        return None

    def _least_rank(self, size: np.ndarray, goal: float) -> int:
        """First k with ‖size_1..k‖_q ≥ goal, 0 when there is none."""
        if self._q == np.inf:
            return int(size[0] >= goal)
        top = max(size[0], np.finfo(float).tiny)  # powers of numbers up to 1 do not overflow
        reached = top * np.cumsum((size / top) ** self._q) ** (1 / self._q)
        k = int(np.searchsorted(reached, goal))
        return k + 1 if k < len(size) else 0

    def _at_least(self, size: np.ndarray, goal: float, n: int) -> int:
        """A lower bound on the rank, above n if the goal is out of reach: the rest of the spectrum is ≤ size[-1]."""
        rest = size[-1] * (1 + TOL)  # no eigenvalue that is left is larger
        if len(size) == n or self._q == np.inf or rest <= goal / n:
            return n + 1
        missing = (goal / rest) ** self._q - np.sum((size / rest) ** self._q)
        return len(size) + int(min(np.ceil(missing), n))

    def gauge(self, F: np.ndarray) -> tuple[float, np.ndarray] | None:
        """‖FFᵀ‖_p / radius and its gradient times F, from the r × r matrix FᵀF."""
        if not self.psd:
            return None
        values, vectors = linalg.eigh(F.T @ F)  # the r × r side: FFᵀ has the same eigenvalues
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
        return float(self.radius * n ** max(0.0, 0.5 - (0.0 if self.p == np.inf else 1 / self.p)))


def _frobenius(A: Any) -> float:
    """‖A‖_F where it is cheap to know, ∞ for an operator."""
    entries = A.data if sparse.issparse(A) else A
    return float(np.linalg.norm(entries)) if isinstance(entries, np.ndarray) else np.inf


def _aligned(size: np.ndarray, q: float) -> np.ndarray:
    """The x with ‖x‖_p = 1 and ⟨size, x⟩ = ‖size‖_q."""
    if q == np.inf:
        return np.where(np.arange(len(size)) == 0, 1.0, 0.0)
    x: np.ndarray = (size / np.linalg.norm(size, q)) ** (q - 1)
    return x


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
        P = _validate.psd(self.P, "Ellipsoid", "P")
        if np.linalg.matrix_rank(P, hermitian=True) < len(P):
            raise ValueError("Ellipsoid: P must be positive definite, got a singular matrix.")
        return linalg.psd_power(P, 0.5), linalg.psd_power(P, -0.5)

    def solve(self, A: Any, b: float) -> Atom | None:
        """The ball's answer in whitened coordinates, taken back."""
        inverse = self._roots[1]  # P^{−1/2}
        if A.shape != inverse.shape:
            raise ValueError(f"Ellipsoid: P must have the shape {A.shape} of the constraints, got {inverse.shape}.")
        if isinstance(A, LinearOperator) or sparse.issparse(A):
            white: Any = operator(len(inverse), lambda x: inverse @ (A @ (inverse @ x)))
        else:
            white = linalg.symmetrize(inverse @ A @ inverse)
        atom = self.ball.solve(white, b)
        return None if atom is None else Atom(inverse @ atom.vectors, atom.values)

    def gauge(self, F: np.ndarray) -> tuple[float, np.ndarray] | None:
        """The ball's gauge of P^{1/2} F."""
        root = self._roots[0]  # P^{1/2}
        size = self.ball.gauge(root @ F)
        return None if size is None else (size[0], root @ size[1])

    def reach(self, n: int) -> float:
        """The ball's reach over the least eigenvalue of P."""
        return self.ball.reach(n) * float(np.linalg.eigvalsh(self._roots[1])[-1] ** 2)


@dataclass(frozen=True)
class EntrywiseBall(Oracle):
    """𝒞 = {X : Σ_ij |X_ij| ≤ radius}, symmetric, not PSD.

    ⟨A, X⟩ is at most radius · max |A_ij|, reached at one entry: rank one on the diagonal, and rank two for the
    symmetric pair of an off-diagonal entry. A matrix of rank one may reach as much off the diagonal (the best of these
    is NP-hard to find), so that answer is not ``exact``. No other entrywise ball but p = 2, the Frobenius ball, has a
    closed form.

    Parameters
    ----------
    radius : float, > 0
    """

    radius: Positive = 1.0
    exact: ClassVar[bool] = False

    def solve(self, A: Any, b: float) -> Atom | None:
        """The largest diagonal entry if it is enough, else the largest entry."""
        n = A.shape[0]
        if b <= 0:
            return Atom.zero(n)
        goal = b / self.radius * (1 - 1e-10)
        diagonal, (p, q, value) = _peaks(A)
        i = int(np.abs(diagonal).argmax())
        if abs(diagonal[i]) >= goal:
            return Atom(np.eye(1, n, i).T, np.array([self.radius * np.sign(diagonal[i])]))
        if abs(value) < goal:
            return None
        V = np.zeros((n, 2))  # (e_p ± e_q) / √2
        V[[p, q], 0] = np.sqrt(0.5)
        V[[p, q], 1] = np.sqrt(0.5), -np.sqrt(0.5)
        return Atom(V, 0.5 * self.radius * np.sign(value) * np.array([1.0, -1.0]))

    def reach(self, n: int) -> float:
        """D = radius."""
        return self.radius


def _peaks(A: Any) -> tuple[np.ndarray, tuple[int, int, float]]:
    """The diagonal, and the place and value of the entry of largest magnitude; columns of an operator in blocks."""
    n = A.shape[0]
    if sparse.issparse(A):
        A = sparse.coo_array(A)
        best = int(np.abs(A.data).argmax()) if A.nnz else -1
        return A.diagonal(), (int(A.row[best]), int(A.col[best]), float(A.data[best])) if A.nnz else (0, 0, 0.0)
    diagonal, peaks = np.zeros(n), []
    for block in linalg.blocks(n, 8.0 * n):
        C = columns(A, block.start, block.stop - block.start)
        diagonal[block] = C[block].diagonal()
        i, j = np.unravel_index(np.abs(C).argmax(), C.shape)
        peaks.append((int(i), block.start + int(j), float(C[i, j])))
    return diagonal, max(peaks, key=lambda peak: abs(peak[2]))


def leading(A: Any, k: int, largest: str = "LA") -> Eigenpairs:
    """At least k of the algebraically largest ("LA") or largest in magnitude ("LM") eigenpairs, in descending order."""
    n = A.shape[0]
    pairs = _lanczos(A, k, largest) if n > _DENSE and 12 * k <= n else None
    if pairs is not None and k > 1:
        pairs = _completed(A, pairs, k, largest)
    return _ordered(*np.linalg.eigh(dense(A)), largest) if pairs is None else pairs


def complement(A: Any, Q: np.ndarray) -> LinearOperator:
    """(I − QQᵀ) A (I − QQᵀ) for orthonormal columns Q."""

    def off(x: np.ndarray) -> np.ndarray:
        y: np.ndarray = x - Q @ (Q.T @ x)
        return y

    return operator(A.shape[0], lambda x: off(A @ off(x)))


def _ordered(values: np.ndarray, vectors: np.ndarray, largest: str) -> Eigenpairs:
    order = np.argsort(-(np.abs(values) if largest == "LM" else values), kind="stable")
    return values[order], vectors[:, order]


def _lanczos(A: Any, k: int, largest: str) -> Eigenpairs | None:
    """None where it does not converge; up to n = 2,000 it may take about the time of a dense decomposition."""
    n = A.shape[0]
    start, restarts = np.random.RandomState(0).standard_normal(n), n // 20 if n <= 2000 else None
    try:
        values, vectors = eigsh(A, k=k, which=largest, v0=start, tol=TOL, maxiter=restarts, **_SEEDED)
    except ArpackError:
        return None
    return _ordered(values, vectors, largest)


def _completed(A: Any, pairs: Eigenpairs, k: int, largest: str) -> Eigenpairs | None:
    """Lanczos misses copies of a multiple eigenvalue: look again off what it found, until nothing larger is there."""
    while 12 * len(pairs[0]) <= A.shape[0]:
        values, vectors = pairs
        rest = complement(A, vectors)  # 0 on these vectors, which counts as the least that matters
        limit = abs(values[k - 1]) if largest == "LM" else max(values[k - 1], 0.0)
        top = _lanczos(rest, 1, largest)
        if top is not None and abs(top[0][0]) <= limit + TOL * abs(values[0]):
            return pairs
        more = _lanczos(rest, k, largest)
        if more is None:
            return None
        pairs = _ordered(np.append(values, more[0]), np.hstack([vectors, more[1]]), largest)
    return None
