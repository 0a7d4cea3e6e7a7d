"""What a violated constraint costs, seen from the dual.

For a constraint ⟨A, M⟩ ≤ b with multiplier λ, each slack gives the dual cost s(λ), the bound that is really
enforced, s′(λ), the largest λ, and the primal penalty of a value v = ⟨A, M⟩.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gramian import _checks
from gramian._array import namespace


@dataclass(frozen=True)
class Hard:
    """No slack: s(λ) = bλ."""

    code = 0
    weight: float = np.inf

    def cost(self, lam: Any, b: Any) -> Any:
        """Dual cost s(λ)."""
        return b * lam

    def bound(self, lam: Any, b: Any) -> Any:
        """s′(λ)."""
        return b

    def slope(self, lam: Any, b: Any, size: Any = 1.0) -> Any:
        """s″(λ) / size²."""
        return namespace(lam).zeros_like(lam)

    def upper(self, b: Any) -> Any:
        """Largest multiplier."""
        xp = namespace(b)
        return xp.full_like(b, np.inf)

    def penalty(self, v: Any, b: Any) -> Any:
        """Primal penalty: violations are reported apart, so none."""
        return namespace(v).zeros_like(v)


@dataclass(frozen=True)
class Hinge(Hard):
    """C · max(0, v − b): λ ≤ C."""

    code = 0
    weight: float = 1.0

    def __post_init__(self) -> None:
        _checks.number(self.weight, "slack", "C", low=0, open_low=True)

    def upper(self, b: Any) -> Any:
        """The weight C."""
        return namespace(b).full_like(b, self.weight)

    def penalty(self, v: Any, b: Any) -> Any:
        """C · max(0, v − b)."""
        return self.weight * _positive(v - b)


@dataclass(frozen=True)
class Quadratic(Hinge):
    """C/2 · max(0, v − b)²: s(λ) = bλ + λ²/2C."""

    code = 1

    def cost(self, lam: Any, b: Any) -> Any:
        """Dual cost s(λ)."""
        return b * lam + lam**2 / (2 * self.weight)

    def bound(self, lam: Any, b: Any) -> Any:
        """s′(λ) = b + λ/C."""
        return b + lam / self.weight

    def slope(self, lam: Any, b: Any, size: Any = 1.0) -> Any:
        """s″(λ) / size² with s″ = 1/C."""
        return namespace(lam).full_like(lam, 1 / self.weight) / size / size

    def upper(self, b: Any) -> Any:
        """Largest multiplier."""
        return Hard.upper(self, b)

    def penalty(self, v: Any, b: Any) -> Any:
        """C/2 · max(0, v − b)²."""
        return 0.5 * self.weight * _positive(v - b) ** 2


@dataclass(frozen=True)
class Relative(Hinge):
    """γ · (ξ/b − log(ξ/b) − 1), the LogDet slack of ITML (Davis et al. 2007): s(λ) = −γ log(1 − λb/γ).

    The bound enforced is ξ = γb / (γ − λb). Bounds must not be zero.
    """

    code = 2

    def cost(self, lam: Any, b: Any) -> Any:
        """Dual cost s(λ)."""
        xp = namespace(lam)
        inside = 1 - lam * b / self.weight
        safe = xp.where(inside > 0, inside, xp.ones_like(inside))
        return xp.where(inside > 0, -self.weight * xp.log(safe), xp.full_like(inside, np.inf))

    def bound(self, lam: Any, b: Any) -> Any:
        """ξ(λ)."""
        return self.weight * b / (self.weight - lam * b)

    def slope(self, lam: Any, b: Any, size: Any = 1.0) -> Any:
        """s″(λ) / size² with s″ = ξ²/γ."""
        return (self.bound(lam, b) / size) ** 2 / self.weight

    def upper(self, b: Any) -> Any:
        """None: λ < γ/b for positive bounds is a barrier of the cost."""
        return Hard.upper(self, b)

    def penalty(self, v: Any, b: Any) -> Any:
        """γ · (v/b − log(v/b) − 1) where v > b."""
        xp = namespace(v)
        ratio = v / b
        ok = ratio > 0
        safe = xp.where(ok, ratio, xp.ones_like(ratio))
        cost = xp.where(ok, self.weight * (safe - xp.log(safe) - 1), xp.full_like(v, np.inf))
        return xp.where(v > b, cost, xp.zeros_like(cost))


def _positive(x: Any) -> Any:
    xp = namespace(x)
    return xp.where(x > 0, x, xp.zeros_like(x))
