"""Smooth minimization over a factor L by limited-memory BFGS, with a stopping rule free of units."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize

from gramian._device import DeviceArray
from gramian.solvers import quasi_newton

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
    return share(float(np.linalg.norm(gradient) * np.linalg.norm(point)), scale)


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
    if isinstance(start, DeviceArray):
        return descend_on_device(fun, start, max_iter, tol, scale, memory, callback)

    def residual_at(x: np.ndarray, value: float, gradient: np.ndarray) -> float:
        residual = stationarity(x, gradient, scale)
        return residual if height is None else min(residual, value / height)

    shape, steps = start.shape, 0
    seen: dict[str, tuple[np.ndarray, float, np.ndarray]] = {}

    def flat(x: np.ndarray) -> tuple[float, np.ndarray]:
        if "last" not in seen or not np.array_equal(x, seen["last"][0]):  # scipy asks again for the start
            value, gradient = fun(x.reshape(shape))
            seen["last"] = (x.copy(), float(value), gradient)
        return seen["last"][1], seen["last"][2].ravel()

    def after(intermediate_result: Any) -> None:
        nonlocal steps
        steps += 1
        seen["best"] = seen["last"]
        value, residual = seen["last"][1], residual_at(*seen["last"])
        if callback is not None:
            callback(steps, value, residual)
        if residual <= tol:
            raise StopIteration

    if start.size:
        flat(start.ravel())
        seen["best"] = seen["last"]
        if max_iter > 0 and residual_at(*seen["last"]) > tol:
            options = {"maxiter": max_iter, "maxfun": 20 * max_iter + 20, "gtol": 0.0, "ftol": 0.0, "maxcor": memory}
            minimize(flat, start.ravel(), jac=True, method="L-BFGS-B", callback=after, options=options)
        x, value, gradient = seen["best"]
    else:
        x, (value, gradient) = start.ravel(), fun(start)
    return Descent(x.reshape(shape), value, gradient, steps, residual_at(x, value, gradient))


def descend_on_device(
    fun: Callable, start: Any, max_iter: int, tol: float, scale: float, memory: int, callback: Any
) -> Descent:
    """:func:`descend` where the start is; it also ends where steps lower the value by no more than its rounding."""
    value, gradient = fun(start)
    begin = (start, float(value), gradient)
    here, done, idle = begin, 0, 0
    rounding = 2 * float(np.finfo(start.dtype).eps)
    residual = stationarity(start, gradient, scale)
    if start.size and max_iter > 0 and residual > tol:
        for step in quasi_newton.steps(fun, *begin, memory):
            idle = idle + 1 if here[1] - step[1] <= rounding * abs(step[1]) else 0
            here, done = step, done + 1
            residual = stationarity(here[0], here[2], scale)
            if callback is not None:
                callback(done, here[1], residual)
            if residual <= tol or done >= max_iter or idle >= IDLE:
                break
    return Descent(*here, done, residual)


def adam_step(
    L: np.ndarray, gradient: np.ndarray, state: tuple[np.ndarray, np.ndarray, int] | None, rate: float
) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray, int]]:
    """One step of Adam (Kingma and Ba 2015): state in, state out; None starts."""
    m, v, t = (np.zeros_like(L), np.zeros_like(L), 0) if state is None else state
    m, v, t = 0.9 * m + 0.1 * gradient, 0.999 * v + 0.001 * gradient**2, t + 1
    step = (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-12)
    return L - rate * step, (m, v, t)
