"""A slack from any convex function of the violation."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gramian.divergences.spectral import monotone_inverse, slope_of
from gramian.solvers.slack import Slack


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
