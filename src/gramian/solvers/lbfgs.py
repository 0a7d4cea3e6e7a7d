"""Projected L-BFGS for smooth convex functions on a box, with a barrier, on any array namespace."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gramian._array import namespace


@dataclass
class BoxResult:
    """Last point, its value and side information, iterations, residual, and whether the residual met tol."""

    x: Any
    value: float
    info: Any
    n_iter: int
    residual: float
    converged: bool


def minimize_box(
    fun: Callable[[Any], tuple[float, Any, Any]],
    x: Any,
    upper: Any,
    stop: Callable[[Any, float, Any, Any], float],
    tol: float,
    max_iter: int,
    memory: int = 20,
    callback: Callable[[int, float, float], Any] | None = None,
) -> BoxResult:
    """Minimize a convex function on 0 ≤ x ≤ upper.

    ``fun(x) -> (value, gradient, info)``, value inf outside of the domain. ``stop(x, value, gradient, info)`` is the
    residual that is compared with ``tol``. Variables at a bound whose gradient points outwards are held; the others
    move along a quasi-Newton direction, with backtracking on the projected arc (Bertsekas 1982).
    """
    xp = namespace(x)
    value, grad, info = fun(x)
    history: list[tuple[Any, Any, float]] = []
    residual = stop(x, value, grad, info)
    n_iter = 0
    while residual > tol and n_iter < max_iter:
        free = xp.astype(~(((x <= 0) & (grad > 0)) | ((x >= upper) & (grad < 0))), x.dtype)
        direction = -_two_loop(grad * free, history) * free
        if float(xp.sum(direction * grad)) >= 0:
            history, direction = [], -grad * free
        step = _search(fun, x, value, grad, direction, upper)
        if step is None and history:
            history = []
            continue
        if step is None:
            break
        new, (new_value, new_grad, info) = step
        s, y = new - x, new_grad - grad
        sy = float(xp.sum(s * y))
        if sy > 1e-14 * float(xp.sum(s * s)) ** 0.5 * float(xp.sum(y * y)) ** 0.5:
            history = [*history[-memory + 1 :], (s, y, sy)]
        x, value, grad = new, new_value, new_grad
        n_iter += 1
        residual = stop(x, value, grad, info)
        if callback is not None:
            callback(n_iter, value, residual)
    return BoxResult(x, value, info, n_iter, residual, residual <= tol)


def _two_loop(q: Any, history: list[tuple[Any, Any, float]]) -> Any:
    """Product of the inverse Hessian approximation with q (Nocedal and Wright 2006, Algorithm 7.4)."""
    xp = namespace(q)
    alphas = []
    for s, y, sy in reversed(history):
        a = float(xp.sum(s * q)) / sy
        q = q - a * y
        alphas.append(a)
    if history:
        s, y, sy = history[-1]
        q = q * (sy / float(xp.sum(y * y)))
    for (s, y, sy), a in zip(history, reversed(alphas)):
        q = q + (a - float(xp.sum(y * q)) / sy) * s
    return q


def _search(fun: Any, x: Any, value: float, grad: Any, direction: Any, upper: Any) -> Any:
    """First point of the projected arc with sufficient decrease, None when there is none."""
    xp = namespace(x)
    noise = 1e-15 * (1 + abs(value))
    t = 1.0
    for _ in range(60):
        new = x + t * direction
        new = xp.where(new > 0, new, xp.zeros_like(new))
        new = xp.where(new < upper, new, upper)
        decrease = float(xp.sum(grad * (new - x)))
        result = fun(new)
        if np.isfinite(result[0]) and result[0] <= value + 1e-4 * decrease + noise and decrease < 0:
            return new, result
        t *= 0.5
    return None
