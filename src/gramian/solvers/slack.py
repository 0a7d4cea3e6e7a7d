"""What a violated constraint costs, seen from the dual.

For a constraint ⟨A, M⟩ ≤ b with multiplier λ, each slack gives the dual cost s(λ), the bound that is really
enforced, s′(λ), the largest λ, and the primal penalty of a value v = ⟨A, M⟩.
"""

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from gramian import _validate
from gramian._arrays import asarray, foreign, namespace
from gramian._settings import Positive, require, shown
from gramian.divergences.spectral import monotone_inverse, slope_of


class Slack(ABC):
    """The contract: s convex, s(0) = 0, and the penalty its conjugate, p(v) = max_{0 ≤ λ ≤ upper} λv − s(λ).

    Subclasses are frozen dataclasses and give ``cost``, ``bound`` and ``penalty``; ``slope`` unless s is piecewise
    linear, ``upper`` where λ has a limit. The formulas take arrays of any library.
    """

    hard: ClassVar[bool] = False
    """Whether constraints must hold; violations are then reported apart from the penalty."""

    linear: ClassVar[bool] = False
    """Whether s is linear, so that the dual may be flat in places."""

    curved: ClassVar[bool] = False
    """Whether the penalty has a slope everywhere, so that ``multiplier`` is there."""

    compiled: ClassVar[str | None] = None
    """The sweep of ``gramian._jit.bregman`` that has these formulas, with ``weight``; see ``own_loop``."""

    weight: Any

    @abstractmethod
    def cost(self, lam: Any, b: Any) -> Any:
        """Dual cost s(λ), inf outside of its domain."""

    @abstractmethod
    def bound(self, lam: Any, b: Any) -> Any:
        """The bound enforced, s′(λ)."""

    @abstractmethod
    def penalty(self, v: Any, b: Any) -> Any:
        """Primal penalty of the value v."""

    def slope(self, lam: Any, b: Any, size: Any = 1.0) -> Any:
        """s″(λ) / size², in an order that does not overflow."""
        return namespace(lam).zeros_like(lam)

    def upper(self, b: Any) -> Any:
        """Largest multiplier."""
        return namespace(b).full_like(b, np.inf)

    def placed(self, beside: Any) -> "Slack":
        """The same slack with its weights, where there are several, where ``beside`` is."""
        if not foreign(beside) or np.ndim(self.weight) == 0:
            return self
        return self._with_weight(asarray(self.weight, beside))

    def part(self, keep: Any, factor: float) -> "Slack":
        """The slack of some of the constraints, chosen by a mask (m,), each of which counts for more."""
        return self._with_weight(factor * (self.weight if np.ndim(self.weight) == 0 else self.weight[keep]))

    def _with_weight(self, weight: Any) -> "Slack":
        copied = copy.copy(self)
        object.__setattr__(copied, "weight", weight)
        return copied

    def multiplier(self, v: Any, b: Any) -> tuple[Any, Any]:
        """λ = p′(v) and √p″(v), for a penalty with a slope."""
        raise NotImplementedError(f"{type(self).__name__}: its penalty has no slope everywhere.")

    def of(self, i: int) -> "Slack":
        """The slack of one constraint, where each has a weight of its own."""
        if np.ndim(self.weight) == 0:
            return self
        return replace(self, weight=float(self.weight[i]))  # type: ignore[type-var]  # every slack is a dataclass


@dataclass(frozen=True)
class Hard(Slack):
    """No slack: s(λ) = bλ."""

    hard = True
    linear = True
    compiled = "sweep_hinge"
    weight = np.inf

    def cost(self, lam: Any, b: Any) -> Any:
        """The product bλ."""
        return b * lam

    def bound(self, lam: Any, b: Any) -> Any:
        """The bound b itself."""
        return b

    def penalty(self, v: Any, b: Any) -> Any:
        """None."""
        return namespace(v).zeros_like(v)


@dataclass(frozen=True)
class Hinge(Slack):
    """C · max(0, v − b): s(λ) = bλ on λ ≤ C. As in the other slacks, C may be an array (m,)."""

    linear = True
    compiled = "sweep_hinge"
    weight: float = 1.0

    def __post_init__(self) -> None:
        check_weight(self.weight, "C")

    def cost(self, lam: Any, b: Any) -> Any:
        """The product bλ."""
        return b * lam

    def bound(self, lam: Any, b: Any) -> Any:
        """The bound b itself."""
        return b

    def upper(self, b: Any) -> Any:
        """The weight C."""
        return namespace(b).zeros_like(b) + self.weight

    def penalty(self, v: Any, b: Any) -> Any:
        """C · max(0, v − b)."""
        return self.weight * positive_part(v - b)


@dataclass(frozen=True)
class Quadratic(Slack):
    """C/2 · max(0, v − b)²: s(λ) = bλ + λ²/2C."""

    curved = True
    compiled = "sweep_quadratic"
    weight: float = 1.0

    def __post_init__(self) -> None:
        check_weight(self.weight, "C")

    def cost(self, lam: Any, b: Any) -> Any:
        """The sum bλ + λ²/2C."""
        return b * lam + lam**2 / (2 * self.weight)

    def bound(self, lam: Any, b: Any) -> Any:
        """s′ = b + λ/C."""
        return b + lam / self.weight

    def slope(self, lam: Any, b: Any, size: Any = 1.0) -> Any:
        """s″ = 1/C, over size²."""
        return (namespace(lam).zeros_like(lam) + 1 / self.weight) / size / size

    def penalty(self, v: Any, b: Any) -> Any:
        """C/2 · max(0, v − b)²."""
        return 0.5 * self.weight * positive_part(v - b) ** 2

    def multiplier(self, v: Any, b: Any) -> tuple[Any, Any]:
        """λ = C · max(0, v − b), and √C where that is positive."""
        xp = namespace(v)
        root = self.weight**0.5 + xp.zeros_like(v)
        return self.weight * positive_part(v - b), xp.where(v > b, root, xp.zeros_like(v))


@dataclass(frozen=True)
class Relative(Slack):
    """γ · (ξ/b − log(ξ/b) − 1), the LogDet slack of ITML (Davis et al. 2007): s(λ) = −γ log(1 − λb/γ).

    The bound enforced is ξ = γb / (γ − λb); λ < γ/b for positive bounds is a barrier of the cost. Bounds must not be
    zero.
    """

    curved = True
    compiled = "sweep_relative"
    weight: float = 1.0

    def __post_init__(self) -> None:
        check_weight(self.weight, "gamma")

    def cost(self, lam: Any, b: Any) -> Any:
        """−γ log(1 − λb/γ)."""
        xp = namespace(lam)
        inside = 1 - lam * b / self.weight
        safe = xp.where(inside > 0, inside, xp.ones_like(inside))
        return xp.where(inside > 0, -self.weight * xp.log(safe), xp.full_like(inside, np.inf))

    def bound(self, lam: Any, b: Any) -> Any:
        """ξ(λ)."""
        return self.weight * b / (self.weight - lam * b)

    def slope(self, lam: Any, b: Any, size: Any = 1.0) -> Any:
        """s″ = ξ²/γ, over size²."""
        return (self.bound(lam, b) / size) ** 2 / self.weight

    def penalty(self, v: Any, b: Any) -> Any:
        """γ · (v/b − log(v/b) − 1) where v > b."""
        xp = namespace(v)
        ratio = v / b
        ok = ratio > 0
        safe = xp.where(ok, ratio, xp.ones_like(ratio))
        cost = xp.where(ok, self.weight * (safe - xp.log(safe) - 1), xp.full_like(v, np.inf))
        return xp.where(v > b, cost, xp.zeros_like(cost))

    def multiplier(self, v: Any, b: Any) -> tuple[Any, Any]:
        """λ = γ (1/b − 1/v) and √γ / |v|, where v > b."""
        xp = namespace(v)
        violated = (v > b) & (v / b > 0)
        safe = xp.where(violated, v, b)
        root = xp.where(violated, self.weight**0.5 / xp.abs(safe), xp.zeros_like(v))
        return self.weight * (1 / b - 1 / safe), root


def default_weight(sizes: np.ndarray) -> Any:
    """C_i = 1 / size_i: a violation as large as the bounds of its kind costs 1.

    A kind whose bounds are all 0 takes the mean size of the others.
    """
    sized = sizes > 0
    if not sized.any():
        return 1.0
    C = 1 / np.where(sized, sizes, sizes[sized].mean())
    return float(C[0]) if (C[0] == C).all() else C


def check_weight(weight: Any, name: str) -> None:
    """A positive number, or one for each constraint."""
    numbers = hasattr(weight, "shape") or isinstance(weight, list | tuple)
    numbers_ = _validate.plain(weight, "slack", name) if numbers else None
    if numbers_ is None or numbers_.ndim == 0:
        require(Positive, weight, "slack", name)
        return
    if numbers_.dtype.kind not in "biuf" or not (np.isfinite(numbers_).all() and (numbers_ > 0).all()):
        raise ValueError(f"slack: {name} must be positive numbers, got {shown(weight)}.")


def positive_part(x: Any) -> Any:
    """max(x, 0)."""
    xp = namespace(x)
    return xp.where(x > 0, x, xp.zeros_like(x))


@dataclass(frozen=True)
class Convex(Slack):
    """ψ(max(0, v − b)) for a convex ψ with ψ(0) = 0: s(λ) = bλ + ψ*(λ), and s′(λ) = b + e with ψ′(e) = λ.

    e(λ) is found by bisection and s″ by differences, so ψ and ψ′ are all that is asked for.

    Parameters
    ----------
    loss, derivative : callable
        ψ and ψ′ on arrays of numbers ≥ 0; ψ′ must not fall.
    limit : float
        What ψ′ rises to, the largest multiplier; inf when it has no limit.

    Examples
    --------
    A Huber loss of the violation, quadratic up to 0.5:

    >>> import numpy as np, gramian as gm
    >>> huber = gm.solvers.Convex(
    ...     lambda e: np.where(e < 0.5, e**2, e - 0.25), lambda e: np.minimum(2 * e, 1.0), limit=1.0
    ... )
    >>> pairs = gm.Pairs([0], [1], [True], bounds=(1.0, 4.0))
    >>> gm.Framework(slack=huber).fit([[0.0], [2.0]], pairs).metric_.matrix.round(4).tolist()
    [[0.3173]]
    """

    loss: Callable[[np.ndarray], np.ndarray]
    derivative: Callable[[np.ndarray], np.ndarray]
    limit: float = np.inf

    def _excess(self, lam: Any) -> np.ndarray:
        """The violation e that λ pays for."""
        return monotone_inverse(self.derivative, np.asarray(lam, dtype=float))

    def cost(self, lam: Any, b: Any) -> Any:
        """The sum bλ + λe − ψ(e)."""
        e = self._excess(lam)
        inside = np.isfinite(e)
        e = np.where(inside, e, 0.0)
        return np.where(inside, b * lam + lam * e - self.loss(e), np.inf)

    def bound(self, lam: Any, b: Any) -> Any:
        """The sum b + e."""
        return b + self._excess(lam)

    def slope(self, lam: Any, b: Any, size: Any = 1.0) -> Any:
        """de/dλ, over size²."""
        slope = slope_of(self._excess, np.asarray(lam, dtype=float))
        return np.where(np.isfinite(slope), slope, 0.0) / size / size

    def upper(self, b: Any) -> Any:
        """The limit of ψ′."""
        return np.full_like(b, self.limit)

    def penalty(self, v: Any, b: Any) -> Any:
        """ψ(max(0, v − b))."""
        return self.loss(np.maximum(v - b, 0.0))
