"""The constraint contract: index arrays into X that stand for ⟨C_i, K_W⟩ ≤ b_i.

K_W = Z M Zᵀ is the learned kernel on the points. Each C_i is given by t bilinear terms,

    ⟨C_i, K_W⟩ = Σ_s w_is · p_isᵀ M q_is,   p = rows of (left @ Z),  q = rows of (right @ Z),

with sparse ``left`` and ``right``, so that neither C_i nor A_i = Zᵀ C_i Z is ever formed.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from scipy import sparse

from gramian import _validate, linalg
from gramian._settings import Distance, require, shown
from gramian.metrics import Metric
from gramian.persist import Stored

Sqdist = Callable[[np.ndarray], Any]
"""Squared distances among some rows of the points."""


@dataclass(frozen=True)
class Terms:
    """Bilinear terms of m constraints, t each: ``left`` and ``right`` are (m·t, n), ``weight`` is (m, t)."""

    left: sparse.csr_array
    right: sparse.csr_array
    weight: np.ndarray

    @property
    def symmetric(self) -> bool:
        """Whether every term is a square, p = q."""
        return self.right is self.left


class Constraints(Stored, ABC):
    """Linear constraints on the learned kernel of a set of points.

    Subclasses are frozen dataclasses of index arrays and give ``n_points`` (one more than the largest index),
    ``bound`` (m,) and ``terms(n)``.
    """

    soft: bool = False
    """Whether the bounds are a guess that rarely can hold for all; learners then allow violations."""

    @property
    @abstractmethod
    def n_points(self) -> int:
        """One more than the largest index into X."""

    @property
    @abstractmethod
    def bound(self) -> np.ndarray:
        """Right-hand sides b, shape (m,)."""

    @abstractmethod
    def terms(self, n: int) -> Terms:
        """Bilinear terms over n points."""

    def blocks(self, n: int) -> tuple[Terms, ...]:
        """The terms, one block for each kind of constraint in it."""
        return (self.terms(n),)

    def __add__(self, other: Any) -> "Constraints":
        return Mixed((self, other)) if isinstance(other, Constraints) else NotImplemented

    def __len__(self) -> int:
        return len(self.bound)

    def check(self, X: Any, owner: str, fill: bool = True) -> Self:
        """The constraints as they apply to X: indices within range, data-dependent bounds filled in where asked."""
        within(self, X, owner)
        if len(self) == 0:
            raise ValueError(f"{owner}: needs at least one constraint, got none.")
        return self.filled(X) if fill else self

    @property
    def from_data(self) -> bool:
        """Whether bounds were left open, to be taken from the data (:meth:`with_bounds`)."""
        return False

    def with_bounds(
        self,
        X: Any,
        percentiles: tuple[float, float] = (5, 95),
        *,
        max_points: int = 1000,
        sqdist: Sqdist | None = None,
    ) -> Self:
        """Fill in bounds that were left open, from at most ``max_points`` points of X.

        ``sqdist(rows)`` may give the squared distances among some rows of X in place of the Euclidean ones.
        """
        return self.filled(_validate.points(X, type(self).__name__), percentiles, max_points=max_points, sqdist=sqdist)

    def filled(
        self,
        X: Any,
        percentiles: tuple[float, float] = (5, 95),
        *,
        max_points: int = 1000,
        sqdist: Sqdist | None = None,
    ) -> Self:
        """:meth:`with_bounds` of points that were checked."""
        return self

    def softened(self) -> Self:
        """The same constraints, marked as a guess that rarely can hold everywhere where they can be."""
        guess = "soft" in self.__dataclass_fields__  # type: ignore[attr-defined]  # subclasses are dataclasses
        return replace(self, soft=True) if guess else self  # type: ignore[type-var]  # as above

    def sizes(self) -> np.ndarray:
        """Mean |b_i|, once for each constraint: the unit in which violations are measured by default."""
        return np.full(len(self), np.abs(self.bound).mean())

    def matrix(self, lam: Any, n: int | None = None) -> sparse.csr_array:
        """C(λ) = Σ λ_i C_i as one symmetric sparse (n, n) matrix."""
        n = self.n_points if n is None else n
        lam = np.asarray(lam, dtype=float)
        if lam.shape != (len(self),):
            raise ValueError(f"{type(self).__name__}: lam must have shape ({len(self)},), got {lam.shape}.")
        C = sparse.csr_array((n, n))
        start = 0
        for terms in self.blocks(n):
            stop = start + len(terms.weight)
            weights = (terms.weight * lam[start:stop, None]).ravel()  # λ_i w_is
            C = C + terms.left.T @ sparse.diags_array(weights) @ terms.right
            start = stop
        return sparse.csr_array(C + C.T) / 2

    def values(self, metric: Metric, X: Any) -> np.ndarray:
        """⟨C_i, K_W⟩ under a metric, shape (m,)."""
        E = metric.transform(X)  # (n, r), in which M is the identity
        terms = self.terms(E.shape[0])
        products = np.einsum("ij,ij->i", terms.left @ E, terms.right @ E)  # (m·t,): pᵀMq
        values: np.ndarray = (terms.weight * products.reshape(terms.weight.shape)).sum(axis=1)
        return values

    def violation(self, metric: Metric, X: Any) -> np.ndarray:
        """How far each constraint is from holding, max(0, ⟨C_i, K_W⟩ − b_i), shape (m,)."""
        owner = type(self).__name__
        require(Distance, metric, owner, "metric")
        X = metric.check(X)
        within(self, X, owner)
        excess: np.ndarray = np.maximum(self.values(metric, X) - self.bound, 0)
        return excess

    def __getitem__(self, rows: Any) -> Self:
        """The constraints of the given rows (a mask, slice or index array)."""
        fields = self.__dataclass_fields__  # type: ignore[attr-defined]  # subclasses are dataclasses
        m = len(self)
        arrays = {name: getattr(self, name) for name in fields if isinstance(getattr(self, name), np.ndarray)}
        selected = {name: array[rows] for name, array in arrays.items() if array.shape[:1] == (m,)}
        return replace(self, **selected)  # type: ignore[type-var]  # as above


def within(side: Constraints, X: Any, owner: str) -> None:
    """Refuse constraints on points that X does not have."""
    n = linalg.count(X)
    if side.n_points > n:
        raise ValueError(f"{owner}: the constraints refer to point {side.n_points - 1}, but X has {n} points.")


@dataclass(frozen=True, eq=False)
class Mixed(Constraints):
    """Constraints that must hold together, kind by kind; written ``pairs + triplets`` (Jain 2009, §3.1).

    Parameters
    ----------
    parts : tuple of Constraints
        Parts that are mixed themselves are taken apart.

    Examples
    --------
    >>> import gramian as gm
    >>> both = gm.Pairs([0], [1], [True], bounds=(1.0, 4.0)) + gm.Triplets([0], [1], [2], margin=2.0)
    >>> len(both), both.bound.tolist()
    (2, [1.0, -2.0])
    """

    parts: tuple[Constraints, ...]

    def __post_init__(self) -> None:
        flat: list[Constraints] = []
        for side in self.parts:
            if not isinstance(side, Constraints):
                raise TypeError(f"Mixed: parts must be Constraints, got {type(side).__name__}.")
            flat += side.parts if isinstance(side, Mixed) else [side]
        object.__setattr__(self, "parts", tuple(flat))

    @property
    def n_points(self) -> int:
        """One more than the largest index of any part."""
        return max(side.n_points for side in self.parts)

    @property
    def bound(self) -> np.ndarray:
        """Right-hand sides of one part after the other."""
        return np.concatenate([side.bound for side in self.parts])

    @property
    def from_data(self) -> bool:
        """Whether some part takes its bounds from the data."""
        return any(side.from_data for side in self.parts)

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    def terms(self, n: int) -> Terms:
        """Not there: parts differ in their number of terms."""
        raise TypeError("Mixed: its parts have terms of different numbers; use blocks(n).")

    def blocks(self, n: int) -> tuple[Terms, ...]:
        """The terms of each part."""
        return tuple(terms for side in self.parts for terms in side.blocks(n))

    def values(self, metric: Metric, X: Any) -> np.ndarray:
        """⟨C_i, K_W⟩ under a metric, shape (m,)."""
        return np.concatenate([side.values(metric, X) for side in self.parts])

    def check(self, X: Any, owner: str, fill: bool = True) -> "Mixed":
        """Every part as it applies to X."""
        return Mixed(tuple(side.check(X, owner, fill) for side in self.parts))

    @property
    def soft(self) -> bool:  # type: ignore[override]  # a field elsewhere
        """Whether some part is."""
        return any(side.soft for side in self.parts)

    def filled(
        self,
        X: Any,
        percentiles: tuple[float, float] = (5, 95),
        max_points: int = 1000,
        sqdist: Sqdist | None = None,
    ) -> "Mixed":
        """Every part with its bounds filled in."""
        return Mixed(tuple(side.filled(X, percentiles, max_points=max_points, sqdist=sqdist) for side in self.parts))

    def softened(self) -> "Mixed":
        """Every part as it can be."""
        return Mixed(tuple(side.softened() for side in self.parts))

    def sizes(self) -> np.ndarray:
        """Mean |b_i| of its own part for each constraint."""
        return np.concatenate([side.sizes() for side in self.parts])

    def __getitem__(self, rows: Any) -> "Mixed":
        """The constraints of the given rows; those of one part stay together."""
        selected = np.arange(len(self))[rows]
        ends = np.cumsum([len(side) for side in self.parts])
        sides = []
        for side, end in zip(self.parts, ends):
            local = selected - (end - len(side))  # rows within this side
            local = local[(local >= 0) & (local < len(side))]
            sides += [side[local]] if len(local) else []
        return Mixed(tuple(sides))


def index_field(obj: Any, *names: str) -> None:
    """Validate and freeze integer index fields of a frozen dataclass, all of one length."""
    owner = type(obj).__name__
    for name in names:
        array = _validate.indices(getattr(obj, name), owner, name)
        array.flags.writeable = False
        object.__setattr__(obj, name, array)
    lengths = {name: len(getattr(obj, name)) for name in names}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"{owner}: index arrays must have one length, got {lengths}.")


def reach(*indices: np.ndarray) -> int:
    """One more than the largest of some indices."""
    return int(max(i.max(initial=-1) for i in indices)) + 1


def bound_field(value: Any, m: int, owner: str, name: str) -> np.ndarray:
    """Return a bound, a number or one per constraint, as a finite array (m,)."""
    array = _validate.array(value, owner, name)
    if array.ndim > 1 or (array.ndim == 1 and len(array) != m) or not np.isfinite(array).all():
        raise ValueError(f"{owner}: {name} must be a finite number or {m} of them, got {shown(value)}.")
    array = np.broadcast_to(array, (m,)).copy()  # (m,)
    array.flags.writeable = False
    return array


def as_bool(value: Any, m: int, owner: str, name: str) -> np.ndarray:
    """Return yes or no for each constraint, given as bool, ±1 or 0/1."""
    array = _validate.plain(value, owner, name)
    if array.shape != (m,):
        raise ValueError(f"{owner}: {name} must have shape ({m},), got {array.shape}.")
    if array.dtype.kind != "b":
        values = set(np.unique(array).tolist())
        if not (values <= {-1, 1} or values <= {0, 1}):
            raise ValueError(f"{owner}: {name} must be bool, or ±1, got values {sorted(values)[:5]}.")
        array = array == 1
    array = array.copy()
    array.flags.writeable = False
    return array


def differences(i: np.ndarray, j: np.ndarray, n: int) -> sparse.csr_array:
    """Rows e_i − e_j, shape (m, n)."""
    m = len(i)
    columns = np.column_stack([i, j]).ravel()
    return sparse.csr_array((np.tile([1.0, -1.0], m), columns, np.arange(0, 2 * m + 1, 2)), shape=(m, n))


def selections(i: np.ndarray, n: int) -> sparse.csr_array:
    """Rows e_i, shape (m, n)."""
    m = len(i)
    return sparse.csr_array((np.ones(m), i, np.arange(m + 1)), shape=(m, n))
