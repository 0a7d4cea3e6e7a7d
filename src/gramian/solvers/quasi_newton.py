"""Limited-memory BFGS where the variable is, for arrays on a device: no copy to the host but single numbers."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from gramian._arrays import namespace

DECREASE, CURVATURE = 1e-4, 0.9
"""The strong Wolfe conditions."""
TRIES = 20
"""Evaluations of one line search at most."""
ROUNDING = 1e-15
"""Share of a value that rounding may add to it."""


def dot(x: Any, y: Any) -> float:
    """The sum of the products of all entries."""
    if isinstance(x, np.ndarray):
        return float(np.vdot(x, y))
    return float(namespace(x).sum(x * y))


def norm(x: Any) -> float:
    """The Euclidean length of all entries."""
    return float(np.linalg.norm(x)) if isinstance(x, np.ndarray) else dot(x, x) ** 0.5


def steps(
    fun: Callable[[Any], tuple[float, Any]], point: Any, value: float, gradient: Any, memory: int = 10
) -> Iterator[tuple[Any, float, Any]]:
    """Points, values and gradients of the descent from a point; it ends where no step lowers the value.

    Nocedal and Wright (2006), Algorithms 7.4, 7.5, 3.5 and 3.6.
    """
    pairs: list[tuple[Any, Any, float]] = []
    while True:
        direction = -times_inverse_hessian(gradient, pairs)
        slope = dot(gradient, direction)
        length = 1.0 if pairs else 1 / max(norm(gradient), 1.0)
        found = line_search(fun, point, value, slope, direction, length) if slope < 0 else None
        if found is None and not pairs:
            return
        if found is None:  # the curvature that was seen misleads: begin again with the gradient
            pairs = []
            continue
        change, turn = found[0] - point, found[2] - gradient
        curvature = dot(change, turn)
        if curvature > 1e-12 * dot(turn, turn):
            pairs = [*pairs[-memory + 1 :], (change, turn, curvature)]
        point, value, gradient = found
        yield found


def times_inverse_hessian(gradient: Any, pairs: list[tuple[Any, Any, float]]) -> Any:
    """The two loops of L-BFGS."""
    if not pairs:
        return gradient
    shares = []
    for change, turn, curvature in reversed(pairs):
        share = dot(change, gradient) / curvature
        gradient = gradient - share * turn
        shares.append(share)
    _, turn, curvature = pairs[-1]
    gradient = (curvature / dot(turn, turn)) * gradient
    for (change, turn, curvature), share in zip(pairs, reversed(shares)):
        gradient = gradient + (share - dot(turn, gradient) / curvature) * change
    return gradient


def line_search(
    fun: Callable, point: Any, value: float, slope: float, direction: Any, length: float
) -> tuple[Any, float, Any] | None:
    """The first point found on a ray that satisfies the strong Wolfe conditions, or the lowest one that was seen."""
    low = (0.0, value, slope)
    high: tuple[float, float, float] | None = None
    best = None
    for _ in range(TRIES):
        trial = point + length * direction
        new, gradient = fun(trial)
        new = float(new)
        rise = dot(gradient, direction) if np.isfinite(new) else np.inf
        enough = np.isfinite(new) and new <= value + DECREASE * length * slope + ROUNDING * abs(value)
        if enough and (best is None or new < best[1]):
            best = (trial, new, gradient)
        if enough and abs(rise) <= -CURVATURE * slope:
            return trial, new, gradient
        if not enough or new >= low[1]:
            high = (length, new, rise)
        else:
            if high is not None and rise * (high[0] - low[0]) >= 0 or high is None and rise >= 0:
                high = low
            low = (length, new, rise)
        length = extrapolated(length, slope, rise) if high is None else interpolated(low, high)
    return best


def extrapolated(length: float, slope: float, rise: float) -> float:
    """Where a slope that changes evenly would be zero, within twice and ten times as far."""
    share = slope / (slope - rise) if rise > slope else 10.0
    return length * min(max(share, 2.0), 10.0)


def interpolated(low: tuple[float, float, float], high: tuple[float, float, float]) -> float:
    """The minimum of the parabola through the value and slope at ``low`` and the value at ``high``, kept inside."""
    width = high[0] - low[0]
    bend = high[1] - low[1] - low[2] * width
    step = -0.5 * low[2] * width * width / bend if np.isfinite(bend) and bend > 0 else 0.5 * width
    share = min(max(step / width, 0.1), 0.9) if width else 0.5
    return low[0] + share * width
