"""The rule contract: ``init(d) -> state``, ``update(state, v, target) -> state``, pure, and the forms it may be given.

A constraint is a difference v = u − w, a target y on the squared distance vᵀMv, and a sign b: 0 asks for equality,
+1 for at most y, −1 for at least y (the triples and quadruples of Jain 2009, §5.1.1). Relative distances and
similarities are constraints on forms ⟨A, M⟩ of rank two, A = w₁ v₁v₁ᵀ + w₂ v₂v₂ᵀ (§3.1, one at a time); with A = vvᵀ
the steps are those of a pair.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from gramian.metrics import Mahalanobis

KINDS = {"equal": 0, "at_most": 1, "at_least": -1}
"""What a target asks for, and its sign b."""
_LARGE = 1e154
"""Gaps beyond it, and NaN, have no finite square."""
_NAMES = {sign: kind for kind, sign in KINDS.items()}


def loss(prediction: Any, target: Any, sign: Any) -> Any:
    """½(ŷ − y)², or ½ max(0, b(ŷ − y))² when b = ±1.

    Both have the gradient ŷ − y where they are positive, which is what (5.2) uses; the thesis prints the hinge
    once with ½ inside of the square and once without it.
    """
    gap = np.subtract(prediction, target)
    return 0.5 * np.where(np.equal(sign, 0), gap, np.maximum(np.multiply(sign, gap), 0)) ** 2


def total_loss(predictions: np.ndarray, targets: np.ndarray, signs: np.ndarray) -> float:
    """Sum of the losses; of a single constraint without the cost of arrays."""
    if len(predictions) > 1:
        return float(loss(predictions, targets, signs).sum())
    if len(predictions) == 0:
        return 0.0
    gap = float(predictions[0]) - float(targets[0])
    sign = int(signs[0])
    return 0.5 * (gap if sign == 0 else max(sign * gap, 0.0)) ** 2 if abs(gap) < _LARGE else float("inf")


@dataclass(frozen=True, eq=False)
class Form:
    """One form: vectors (2, d) and their weights (2,)."""

    vectors: np.ndarray
    weights: np.ndarray

    @property
    def matrix(self) -> np.ndarray:
        """A (d, d)."""
        A: np.ndarray = (self.vectors.T * self.weights) @ self.vectors
        return A

    def value(self, M: np.ndarray) -> float:
        """⟨A, M⟩."""
        return float(self.weights @ np.einsum("ij,ij->i", self.vectors @ M, self.vectors))


@dataclass(frozen=True, eq=False)
class Forms:
    """A stream of forms: vectors (m, 2, d) and weights (m, 2), of which a row is a :class:`Form`."""

    vectors: np.ndarray
    weights: np.ndarray

    def __len__(self) -> int:
        return len(self.vectors)

    def __getitem__(self, rows: Any) -> "Forms":
        return Forms(self.vectors[rows], self.weights[rows])

    def __iter__(self) -> Iterator[Form]:
        return map(Form, self.vectors, self.weights)


State = TypeVar("State")
Direction = np.ndarray | Form
"""What one constraint is about: a difference v, or a form."""
Stream = np.ndarray | Forms
"""What many are about: rows V, or forms."""


class OnlineRule(ABC, Generic[State]):
    """One way to move M after a constraint.

    A state is a frozen value; ``update`` is the definition, one constraint in NumPy; ``stream`` runs many and gives the
    prediction made before each. In place of a difference v there may be a ``Form`` of rank
    two, and ``Forms`` in place of the rows V. Targets may be negative here: coordinates
    that carry only a part of the distance leave the rest out of the target.
    """

    eta: float
    compiled: ClassVar[str | None] = None
    """The loop of ``gramian._jit.online`` that runs a stream of this rule; see ``own_loop``."""

    def follows(self, state: State) -> bool:
        """Whether each step is G ← G + a(Gv)(Mv)ᵀ, which other rows (hash functions) can follow."""
        return False

    def eta_of(self, state: State) -> float:
        """The step size in use."""
        return self.eta

    @abstractmethod
    def init(self, d: int) -> State:
        """State of M_0 on d coordinates."""

    @abstractmethod
    def update(self, state: State, v: Direction, target: float, kind: str = "equal") -> State:
        """State after one constraint."""

    @abstractmethod
    def predict(self, state: State, v: Direction) -> float:
        """Squared distance vᵀMv."""

    def stream(
        self,
        state: State,
        V: Stream,
        targets: np.ndarray,
        signs: np.ndarray,
        follow: np.ndarray | None = None,
    ) -> tuple[State, np.ndarray]:
        """State after the constraints of the rows of V, and the predictions; rows of ``follow`` change in place.

        A rule that names no compiled loop runs here, one ``update`` after the other.
        """
        predictions = np.empty(len(V))  # (m,), each made before its step
        for t, (v, target, sign) in enumerate(zip(V, targets, signs)):
            predictions[t] = self.predict(state, v)
            if follow is not None:
                self.move(state, v, target, int(sign), follow)
            state = self.update(state, v, target, _NAMES[int(sign)])
        return state, predictions

    def move(self, state: State, v: Direction, target: float, sign: int, rows: np.ndarray) -> None:
        """Let rows h = rG follow the step that the constraint takes from ``state``, in place."""
        raise NotImplementedError(f"{type(self).__name__}: its steps cannot be followed.")

    @abstractmethod
    def grow(self, state: State, k: int) -> State:
        """State with k more coordinates, on which M is the identity."""

    @abstractmethod
    def metric(self, state: State) -> Mahalanobis:
        """The metric of a state."""

    @abstractmethod
    def finite(self, state: State) -> bool:
        """Whether the state holds finite numbers only."""

    @abstractmethod
    def pack(self, state: State) -> dict[str, Any]:
        """Plain data of a state, for files."""

    @abstractmethod
    def unpack(self, data: dict[str, Any]) -> State:
        """The state of :meth:`pack`."""


def with_identity(M: np.ndarray, k: int) -> np.ndarray:
    """The block matrix diag(M, I_k)."""
    r = len(M)
    grown = np.eye(r + k)  # (r + k, r + k)
    grown[:r, :r] = M
    return grown
