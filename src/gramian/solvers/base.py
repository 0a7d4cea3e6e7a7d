"""What a solver takes and gives: :class:`Problem` and :class:`Solution`."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np


class InfeasibleError(ValueError):
    """No positive semi-definite matrix satisfies the hard constraints."""


@dataclass(frozen=True)
class Solution:
    """Result of a fit.

    ``M`` (d, d) or ``factor`` L (r, d) with M = LᵀL; ``dual`` λ (m,); ``objective`` of the primal; duality ``gap``
    and worst ``violation`` where the method has them; ``residual`` is the quantity that was compared with
    ``tol`` when the method stopped.
    """

    M: Any = None
    factor: Any = None
    dual: Any = None
    objective: float = np.nan
    gap: float = np.nan
    violation: float = 0.0
    n_iter: int = 0
    converged: bool = True
    residual: float = np.nan
    tol: float = np.nan
    path: list[float] = field(default_factory=list)
