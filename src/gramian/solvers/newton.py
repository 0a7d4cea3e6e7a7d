"""Projected Newton steps for smooth convex functions on a box, with a barrier, on any array namespace.

Variables at a bound whose gradient points outwards are held; the others move along Newton's direction, found by
preconditioned conjugate gradients, with backtracking on the projected arc (Bertsekas 1982).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gramian._array import namespace

FINE, ROUGH = (1e-2, 100), (0.3, 20)
"""Relative residual and most products with which Newton's direction is found: for exact solutions, and for others."""
Hessian = Callable[[Any, Any, Any], tuple[Callable[[Any], Any], Any]]


@dataclass
class Point:
    """A feasible x with its value, gradient, and what else the function returned."""

    x: Any
    value: float
    grad: Any
    info: Any


@dataclass
class BoxResult(Point):
    """The last point, with iterations, residual, and whether the residual met tol."""

    n_iter: int
    residual: float
    converged: bool


def minimize_box(
    fun: Callable[[Any], tuple[float, Any, Any]],
    hessian: Hessian,
    x: Any,
    upper: Any,
    stop: Callable[[Point], float],
    tol: float,
    max_iter: int,
    ridge: float = 0.0,
    callback: Callable[[int, float, float], Any] | None = None,
) -> BoxResult:
    """Minimize a convex function on 0 ≤ x ≤ upper.

    ``fun(x) -> (value, gradient, info)``, value inf outside of the domain. ``hessian(x, info, free)`` gives products
    with the Hessian on the free variables, and a positive diagonal to precondition with. ``stop(point)`` is the
    residual that is compared with ``tol``. Below a tol of 1e-5 a few more steps are taken at the end while they
    still sharpen x. ``ridge``, times the distance from the solution, keeps flat directions in bounds when the function
    is not strictly convex.
    """
    point = Point(x, *fun(x))
    residual, n_iter = stop(point), 0
    effort = ROUGH if tol >= 1e-3 else FINE
    while residual > tol and n_iter < max_iter:
        new = _search(fun, point, _direction(point, hessian, upper, ridge, effort), upper)
        new = _search(fun, point, -point.grad, upper) if new is None else new
        if new is None:
            break
        point = new
        n_iter += 1
        residual = stop(point)
        if callback is not None:
            callback(n_iter, point.value, residual)
    if residual <= tol <= 1e-5:
        point = _sharpen(fun, hessian, point, upper)
    return BoxResult(point.x, point.value, point.grad, point.info, n_iter, residual, residual <= tol)


def _direction(point: Point, hessian: Hessian, upper: Any, ridge: float = 0.0, effort: tuple[float, int] = FINE) -> Any:
    """Newton's direction on the free variables, the gradient on those that are held."""
    free = _free(point, upper)
    product, diagonal = hessian(point.x, point.info, free)
    ridge = ridge * min(1.0, _projected_step(point, upper))
    newton = conjugate_gradients(lambda v: product(v) + ridge * v, diagonal + ridge, -point.grad * free, *effort)
    return newton - point.grad * (1 - free)


def _search(fun: Any, point: Point, direction: Any, upper: Any) -> Point | None:
    """First point of the projected arc with sufficient decrease, None when there is none."""
    xp = namespace(point.x)
    noise = 1e-15 * (1 + abs(point.value))
    t = 1.0
    for _ in range(50):
        new = _clip(point.x + t * direction, upper)
        decrease = float(xp.sum(point.grad * (new - point.x)))
        if decrease < 0:
            value, grad, info = fun(new)
            if np.isfinite(value) and value <= point.value + 1e-4 * decrease + noise:
                return Point(new, value, grad, info)
        t *= 0.5
    return None


def _sharpen(fun: Any, hessian: Hessian, point: Point, upper: Any) -> Point:
    """Newton steps accepted on the projected gradient: near the end the value itself no longer tells points apart."""
    for _ in range(3):
        x = _clip(point.x + _direction(point, hessian, upper, effort=(1e-6, 100)), upper)
        new = Point(x, *fun(x))
        if not np.isfinite(new.value) or _projected_step(new, upper) >= _projected_step(point, upper):
            break
        point = new
    return point


def conjugate_gradients(
    product: Callable[[Any], Any], diagonal: Any, b: Any, rtol: float = 1e-2, max_iter: int = 100
) -> Any:
    """Approximate solution of H p = b, preconditioned; stops on the residual or on flat curvature."""
    xp = namespace(b)
    p, r = xp.zeros_like(b), b
    z = r / diagonal
    q, rz = z, float(xp.sum(r * z))
    goal = min(rtol, float(xp.sum(b * b)) ** 0.25) ** 2 * rz
    for _ in range(max_iter):
        if rz <= goal:
            break
        Hq = product(q)
        curvature = float(xp.sum(q * Hq))
        if curvature <= 1e-16 * float(xp.sum(q * q * diagonal)):
            break
        a = rz / curvature
        p, r = p + a * q, r - a * Hq
        z = r / diagonal
        new = float(xp.sum(r * z))
        q, rz = z + (new / rz) * q, new
    return p if float(xp.sum(p * p)) > 0 else b


def _clip(x: Any, upper: Any) -> Any:
    xp = namespace(x)
    x = xp.where(x > 0, x, xp.zeros_like(x))
    return xp.where(x < upper, x, upper)


def _projected_step(point: Point, upper: Any) -> float:
    """Largest entry of x − P(x − ∇f), zero at a solution only."""
    xp = namespace(point.x)
    return float(xp.max(xp.abs(point.x - _clip(point.x - point.grad, upper))))


def _free(point: Point, upper: Any) -> Any:
    """1 for variables that may move freely, 0 for those at, or about to reach, a bound (Bertsekas 1982, (32))."""
    xp = namespace(point.x)
    eps = min(1e-3, _projected_step(point, upper))
    held = ((point.x <= eps) & (point.grad > 0)) | ((point.x >= upper - eps) & (point.grad < 0))
    return xp.astype(~held, point.x.dtype)
