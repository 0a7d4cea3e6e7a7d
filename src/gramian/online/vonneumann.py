"""The von Neumann step: exponentiated gradients of the metric (Tsuda, Rätsch and Warmuth 2005; Jain 2009, (5.1)).

What it costs is the quadratic form of a matrix exponential along a line, which depends on a few directions only.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import brentq

from gramian import linalg
from gramian.metrics import Mahalanobis
from gramian.online.base import KINDS, Direction, Form, OnlineRule, Stream
from gramian.online.factored import prior_factor
from gramian.online.learner import OnlineLearner

Curve = Callable[[float], float]
LARGEST = 600.0
"""Largest eigenvalue of log M: beyond it exp would overflow."""
STEP = 12
"""Directions that are added at a time."""
LAST = 1e-12
"""Share of the exponential's first column that may leave the space: the form then lacks about the square of it."""
NOTHING = 1e-13
"""Length, relative to that of Sq, below which Sq has no part outside of the space."""


class AlongLine:
    """c ↦ vᵀ exp(S − c vvᵀ) v for a symmetric S (d, d) and v ≠ 0, without an eigenvalue problem of size d.

    The matrices S − c vvᵀ have one Krylov space from v for all c. With its orthonormal basis q₁ = v/‖v‖, …, q_m by
    Lanczos' recurrence, T = QᵀSQ is tridiagonal and the form is ‖v‖² e₁ᵀ exp(T − c‖v‖² e₁e₁ᵀ) e₁, exactly so where S
    maps the space into itself, with m = d at the latest. Directions are added, each orthogonal to all before it, until
    what leaves the space no longer counts (Saad 1992).
    """

    def __init__(self, S: np.ndarray, v: np.ndarray) -> None:
        self.S = S
        self.square = float(v @ v)
        self.basis = v[None] / np.sqrt(self.square)
        self.T = np.zeros((0, 0))
        self.leaving = 1.0

    def __call__(self, c: float) -> float:
        """The form, a large number where it would overflow."""
        while True:
            top, end = self._column(c) if len(self.T) else (0.0, 1.0)
            if self.leaving * abs(end) <= LAST * top:
                return self.square * top
            self._extend()

    def _column(self, c: float) -> tuple[float, float]:
        """The first and the last entry of exp(T − c‖v‖² e₁e₁ᵀ) e₁."""
        T = self.T.copy()
        T[0, 0] -= c * self.square
        values, U = np.linalg.eigh(T)
        column = np.exp(np.minimum(values, LARGEST)) * U[0]  # U exp(Λ) Uᵀe₁ is U times this
        return float(column @ U[0]), float(column @ U[-1])

    def _extend(self) -> None:
        """More directions, as far as there are any."""
        m, d = len(self.T), len(self.S)
        most = min(m + STEP, d)
        T, Q = np.zeros((most, most)), np.empty((most + 1, d))  # rows of Q are the basis
        T[:m, :m], Q[: m + 1] = self.T, self.basis
        for j in range(m, most):
            if j:
                T[j, j - 1] = T[j - 1, j] = self.leaving
            w = self.S @ Q[j]
            T[j, j] = Q[j] @ w
            size = np.sqrt(w @ w)
            w = _off(w, Q[: j + 1])
            self.leaving = float(np.sqrt(w @ w))
            if j + 1 == d or self.leaving <= NOTHING * size:
                self.leaving, most = 0.0, j + 1
                break
            Q[j + 1] = w / self.leaving
        self.T, self.basis = T[:most, :most], Q[: most + 1]


def _off(w: np.ndarray, Q: np.ndarray) -> np.ndarray:
    """The vector without its components along the orthonormal rows of Q; once is not enough in floating point."""
    for _ in range(2):
        w = w - (Q @ w) @ Q
    return w


@dataclass(frozen=True, eq=False)
class Logarithm:
    """State: S = log M (r, r)."""

    S: np.ndarray


@dataclass(frozen=True, eq=False)
class VonNeumannRule(OnlineRule[Logarithm]):
    """M_{t+1} = argmin_M D_vN(M, M_t) + η/2 (⟨A, M⟩ − y)²: log M_{t+1} = log M_t − cA with c = η(⟨A, M_{t+1}⟩ − y)."""

    eta: float = 1.0
    prior: np.ndarray | None = None
    """log M_0 (d, d); None is 0, the logarithm of the identity."""

    def init(self, d: int) -> Logarithm:
        """log M_0."""
        return Logarithm(np.zeros((d, d)) if self.prior is None else np.array(self.prior, dtype=np.float64))

    def predict(self, state: Logarithm, v: Direction) -> float:
        """⟨A, M⟩, A = vvᵀ for a difference v."""
        return _along(state.S, v)(0.0)

    def update(self, state: Logarithm, v: Direction, target: float, kind: str = "equal") -> Logarithm:
        """The exact step: c lies between 0 and η(ŷ − y), where ⟨A, exp(S − cA)⟩ − y − c/η changes its sign."""
        value = _along(state.S, v)
        return self._moved(state, v, value, target, KINDS[kind], value(0.0))

    def stream(
        self,
        state: Logarithm,
        V: Stream,
        targets: np.ndarray,
        signs: np.ndarray,
        follow: np.ndarray | None = None,
    ) -> tuple[Logarithm, np.ndarray]:
        """As one update after the other, each with its prediction."""
        if follow is not None:
            return super().stream(state, V, targets, signs, follow)
        predictions = np.empty(len(V))
        for t, (v, target, sign) in enumerate(zip(V, targets, signs)):
            value = _along(state.S, v)
            predictions[t] = value(0.0)
            state = self._moved(state, v, value, target, int(sign), predictions[t])
        return state, predictions

    def _moved(
        self, state: Logarithm, v: Direction, value: Curve, target: float, sign: int, prediction: float
    ) -> Logarithm:
        """The state after a constraint, given ⟨A, exp(S − cA)⟩ as a function of c and its value at 0."""
        gap = prediction - target
        if gap == 0 or (sign != 0 and sign * gap <= 0):
            return state
        A = _form(v).matrix
        if not A.any():
            return state

        def excess(c: float) -> float:
            return value(c) - target - c / self.eta

        end = self.eta * gap  # c = η(ŷ − y), where the prediction would not move
        # Where rounding hides the change of sign, the two ends are one number.
        try:
            c = brentq(excess, 0.0, end, xtol=1e-300, rtol=1e-14, maxiter=5000) if excess(end) * gap < 0 else end
        except (np.linalg.LinAlgError, ValueError, RuntimeError) as error:
            raise OverflowError("a squared distance or a step is too large for double precision; rescale X") from error
        return Logarithm(linalg.symmetrize(state.S - c * A))

    def grow(self, state: Logarithm, k: int) -> Logarithm:
        """The block matrix of S and 0, the logarithm of I."""
        return Logarithm(np.pad(state.S, (0, k)))

    def metric(self, state: Logarithm) -> Mahalanobis:
        """The metric of exp S, with its symmetric root."""
        return Mahalanobis(_exp(state.S / 2))

    def finite(self, state: Logarithm) -> bool:
        """Whether S is finite and small enough for exp."""
        return bool(np.isfinite(state.S).all() and np.abs(np.linalg.eigvalsh(state.S)).max(initial=0.0) < LARGEST)

    def pack(self, state: Logarithm) -> dict[str, Any]:
        """S."""
        return {"S": state.S}

    def unpack(self, data: dict[str, Any]) -> Logarithm:
        """The state of :meth:`pack`."""
        return Logarithm(data["S"])


class OnlineVonNeumann(OnlineLearner):
    """Learn from one pair at a time by the von Neumann divergence.

    M_{t+1} = argmin_{M ≻ 0} D_vN(M, M_t) + η ℓ(vᵀMv, y), v = u − w, ℓ(ŷ, y) = ½(ŷ − y)² (Jain 2009, (5.1)).

    The step of :class:`LEGO` with the von Neumann divergence: log M_{t+1} = log M_t − c vvᵀ with c = η(vᵀM_{t+1}v − y),
    found exactly. With the prediction of M_t in place of that of M_{t+1} this is the matrix exponentiated gradient of
    Tsuda, Rätsch and Warmuth (2005). A step takes O(md²), m the few directions in which log M matters to v.

    Parameters
    ----------
    eta : float or "auto"
        Step size η > 0; "auto" chooses it on the first constraints.
    prior : "identity", array (d, d) or Mahalanobis
        M_0, positive definite.
    rank, features, alpha, hinge, comparator, n_pretrain, random_state
        As in :class:`LEGO`.

    Attributes
    ----------
    metric_, loss_, comparator_loss_, regret_, n_seen_, eta_
        As in :class:`LEGO`.

    See Also
    --------
    gramian.LEGO : By the LogDet divergence.
    gramian.VonNeumann : The divergence.

    Examples
    --------
    >>> import gramian as gm
    >>> learner = gm.OnlineVonNeumann(eta=1.0).learn_one([0.0, 0.0], [1.0, 0.0], target=0.25)
    >>> learner.metric_.matrix.round(3).tolist()
    [[0.662, 0.0], [0.0, 1.0]]
    """

    _most_pairs = 30_000
    _step = "exponentials of a matrix in a few directions"

    def _rule(self, eta: float, d: int) -> VonNeumannRule:
        G = prior_factor(self.prior, type(self).__name__, d)
        if G is None:
            return VonNeumannRule(eta)
        values, U = np.linalg.eigh(linalg.symmetrize(G.T @ G))
        return VonNeumannRule(eta, (U * np.log(values)) @ U.T)


def _form(v: Direction) -> Form:
    """A difference as a form, a form as it is."""
    return v if isinstance(v, Form) else Form(v[None], np.ones(1))


def _along(S: np.ndarray, v: Direction) -> Curve:
    """c ↦ ⟨A, exp(S − cA)⟩, a large number where it would overflow."""
    if not isinstance(v, Form):
        return AlongLine(S, v) if v @ v > 0 else lambda c: 0.0
    A = v.matrix

    def value(c: float) -> float:
        values, U = np.linalg.eigh(S - c * A)
        images = np.einsum("i,ij->j", v.weights, (v.vectors @ U) ** 2)  # diag(UᵀAU)
        return float(np.exp(np.minimum(values, LARGEST)) @ images)

    return value


def _exp(S: np.ndarray) -> np.ndarray:
    values, U = np.linalg.eigh(S)
    exponential: np.ndarray = (U * np.exp(values)) @ U.T
    return exponential
