"""Smooth minimization over a factor L by limited-memory BFGS, with a stopping rule free of units.

On the host the steps are scipy's; on a device they are made where the variable is, and single numbers alone are copied.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize

from gramian._arrays import foreign, namespace

IDLE = 3
"""Steps in a row that end a descent on a device when rounding hides what they gain."""


@dataclass(frozen=True, eq=False)
class Descent:
    """Where a descent ended: ``point``, ``value``, ``gradient`` there, steps taken and the last ``residual``."""

    point: np.ndarray
    value: float
    gradient: np.ndarray
    n_iter: int
    residual: float


def stationarity(point: np.ndarray, gradient: np.ndarray, scale: float) -> float:
    """‖∇f‖ ‖L‖ / scale: unchanged when L is measured in other units; 0 where the gradient is, on any scale."""
    return share(norm(gradient) * norm(point), scale)


def share(part: float, whole: float) -> float:
    """Return part / whole; 0 when the part is 0, whatever the whole, and inf when only the whole is 0."""
    if part == 0:
        return 0.0
    return part / whole if whole > 0 else np.inf


def descend(
    fun: Callable[[np.ndarray], tuple[float, np.ndarray]],
    start: np.ndarray,
    *,
    max_iter: int,
    tol: float = 0.0,
    scale: float = 1.0,
    height: float | None = None,
    memory: int = 10,
    callback: Callable[[int, float, float], Any] | None = None,
) -> Descent:
    """Minimize ``fun(L) -> (value, gradient)`` from ``start`` until ‖∇f‖ ‖L‖ ≤ tol · scale, or f ≤ tol · height.

    The second is for functions that are nowhere negative.
    The steps are those of scipy's L-BFGS-B; its own stopping rules are off, so that the residual reported is the one
    compared with ``tol``. It may also end where no step lowers the value within rounding, with the residual there.
    """
    if foreign(start):
        return descend_on_device(fun, start, max_iter, tol, scale, memory, callback)

    def residual_at(x: np.ndarray, value: float, gradient: np.ndarray) -> float:
        residual = stationarity(x, gradient, scale)
        return residual if height is None else min(residual, value / height)

    evaluated = Evaluated(fun, start.shape)
    evaluated(start.ravel())
    best = evaluated.last
    steps = 0

    def after(intermediate_result: Any) -> None:
        nonlocal steps, best
        steps += 1
        best = evaluated.last
        residual = residual_at(*best)
        if callback is not None:
            callback(steps, best[1], residual)
        if residual <= tol:
            raise StopIteration

    if start.size and max_iter > 0 and residual_at(*best) > tol:
        options = {"maxiter": max_iter, "maxfun": 20 * max_iter + 20, "gtol": 0.0, "ftol": 0.0, "maxcor": memory}
        minimize(evaluated, start.ravel(), jac=True, method="L-BFGS-B", callback=after, options=options)
    x, value, gradient = best
    return Descent(x.reshape(start.shape), value, gradient, steps, residual_at(*best))


class Evaluated:
    """A function of factors as one of flat arrays, that remembers the ``last`` point, value and gradient."""

    def __init__(self, fun: Callable[[np.ndarray], tuple[float, np.ndarray]], shape: tuple[int, ...]) -> None:
        self.fun = fun
        self.shape = shape
        self.last: Any = None

    def __call__(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Value and flat gradient; a point that was just asked for, as scipy does with the start, costs nothing."""
        if self.last is None or not np.array_equal(x, self.last[0]):
            value, gradient = self.fun(x.reshape(self.shape))
            self.last = (x.copy(), float(value), gradient)
        return self.last[1], self.last[2].ravel()


def descend_on_device(
    fun: Callable[..., Any], start: np.ndarray, max_iter: int, tol: float, scale: float, memory: int, callback: Any
) -> Descent:
    """:func:`descend` where the start is; it also ends where steps lower the value by no more than its rounding."""
    value, gradient = fun(start)
    begin = (start, float(value), gradient)
    place = begin
    done = 0
    idle = 0
    rounding = 2 * float(namespace(start).finfo(start.dtype).eps)
    residual = stationarity(start, gradient, scale)
    if 0 not in start.shape and max_iter > 0 and residual > tol:
        for step in steps(fun, *begin, memory):
            idle = idle + 1 if place[1] - step[1] <= rounding * abs(step[1]) else 0
            place = step
            done += 1
            residual = stationarity(place[0], place[2], scale)
            if callback is not None:
                callback(done, place[1], residual)
            if residual <= tol or done >= max_iter or idle >= IDLE:
                break
    return Descent(*place, done, residual)


def adam_step(
    L: np.ndarray, gradient: np.ndarray, state: tuple[np.ndarray, np.ndarray, int] | None, rate: float
) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray, int]]:
    """One step of Adam (Kingma and Ba 2015): state in, state out; None starts."""
    xp = namespace(L)
    m, v, t = state or (xp.zeros_like(L), xp.zeros_like(L), 0)
    m = 0.9 * m + 0.1 * gradient
    v = 0.999 * v + 0.001 * gradient**2
    t += 1
    step = (m / (1 - 0.9**t)) / (xp.sqrt(v / (1 - 0.999**t)) + 1e-12)
    return L - rate * step, (m, v, t)


DECREASE, CURVATURE = 1e-4, 0.9
"""The strong Wolfe conditions."""
TRIES = 20
"""Evaluations of one line search at most."""
ROUNDING = 1e-15
"""Share of a value that rounding may add to it."""


def dot(x: np.ndarray, y: np.ndarray) -> float:
    """The sum of the products of all entries."""
    if isinstance(x, np.ndarray):
        return float(np.vdot(x, y))
    return float(namespace(x).sum(x * y))


def norm(x: np.ndarray) -> float:
    """The Euclidean length of all entries."""
    return float(np.linalg.norm(x)) if isinstance(x, np.ndarray) else dot(x, x) ** 0.5


def steps(
    fun: Callable[[np.ndarray], tuple[float, np.ndarray]],
    point: np.ndarray,
    value: float,
    gradient: np.ndarray,
    memory: int = 10,
) -> Iterator[tuple[np.ndarray, float, np.ndarray]]:
    """Points, values and gradients of the descent from a point; it ends where no step lowers the value.

    Nocedal and Wright (2006), Algorithms 7.4, 7.5, 3.5 and 3.6.
    """
    pairs: list[tuple[np.ndarray, np.ndarray, float]] = []
    while True:
        direction = -times_inverse_hessian(gradient, pairs)
        slope = dot(gradient, direction)
        length = 1.0 if pairs else 1 / max(norm(gradient), 1.0)
        step = line_search(fun, point, value, slope, direction, length) if slope < 0 else None
        if step is None and not pairs:
            return
        if step is None:  # the curvature that was seen misleads: begin again with the gradient
            pairs = []
            continue
        change, turn = step[0] - point, step[2] - gradient
        curvature = dot(change, turn)
        if curvature > 1e-12 * dot(turn, turn):
            pairs = [*pairs[-memory + 1 :], (change, turn, curvature)]
        point, value, gradient = step
        yield step


def times_inverse_hessian(gradient: np.ndarray, pairs: list[tuple[np.ndarray, np.ndarray, float]]) -> np.ndarray:
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


Place = tuple[float, float, float]
"""Length of a step, the value there and the slope along the ray."""


def line_search(
    fun: Callable[..., Any], point: np.ndarray, value: float, slope: float, direction: np.ndarray, length: float
) -> tuple[np.ndarray, float, np.ndarray] | None:
    """The first point found on a ray that satisfies the strong Wolfe conditions, or the lowest one that was seen."""
    low: Place = (0.0, value, slope)
    high: Place | None = None
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
        low, high = narrowed(low, high, (length, new, rise), enough)
        length = extrapolated(length, slope, rise) if high is None else interpolated(low, high)
    return best


def narrowed(low: Place, high: Place | None, trial: Place, enough: bool) -> tuple[Place, Place | None]:
    """The bracket of a step that is long enough after a trial: ``low`` is its lowest end, ``high`` the other one."""
    length, value, rise = trial
    if not enough or value >= low[1]:
        return low, trial
    beyond = rise >= 0 if high is None else rise * (high[0] - low[0]) >= 0
    return trial, low if beyond else high


def extrapolated(length: float, slope: float, rise: float) -> float:
    """Where a slope that changes evenly would be zero, within twice and ten times as far."""
    share = slope / (slope - rise) if rise > slope else 10.0
    return length * min(max(share, 2.0), 10.0)


def interpolated(low: Place, high: Place) -> float:
    """The minimum of the parabola through the value and slope at ``low`` and the value at ``high``, kept inside."""
    width = high[0] - low[0]
    bend = high[1] - low[1] - low[2] * width
    step = -0.5 * low[2] * width * width / bend if np.isfinite(bend) and bend > 0 else 0.5 * width
    share = min(max(step / width, 0.1), 0.9) if width else 0.5
    return low[0] + share * width
