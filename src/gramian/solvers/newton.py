"""Regularized Newton steps for smooth convex functions on a box, with a barrier, on any array namespace.

Each step predicts which variables end at a bound (where a gradient step would take them), moves those there, and solves
Newton's equations for the others, given that move: a primal-dual active set step (Hintermüller, Ito and Kunisch
2003), damped as by Levenberg and Marquardt until the function falls enough.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from gramian._arrays import namespace

FINE, ROUGH = (1e-2, 100), (0.3, 20)
"""Relative residual and most products with which a direction is found: for exact solutions, and for others."""
ATTEMPTS = 12
"""Damped steps tried before the gradient is followed."""


class Curvature(Protocol):
    """A Hessian: its products, a positive diagonal of about the right size, and its part on some variables."""

    @property
    def diagonal(self) -> np.ndarray:
        """Positive numbers of about the size of H_ii."""

    def product(self, v: np.ndarray) -> np.ndarray:
        """H v."""

    def part(self, keep: np.ndarray) -> "Curvature":
        """The rows and columns of a mask."""


@dataclass(frozen=True)
class Operator:
    """A curvature given by its products with whole vectors."""

    product: Callable[[np.ndarray], np.ndarray]
    diagonal: np.ndarray

    def part(self, keep: np.ndarray) -> "Operator":
        """The rows and columns of a mask: other variables stand still."""

        def product(v: np.ndarray) -> np.ndarray:
            whole = namespace(v).zeros_like(self.diagonal)
            whole[keep] = v
            return self.product(whole)[keep]

        return Operator(product, self.diagonal[keep])


@dataclass(frozen=True)
class Dense:
    """A curvature given as a matrix."""

    matrix: np.ndarray

    @property
    def diagonal(self) -> np.ndarray:
        """H_ii."""
        return namespace(self.matrix).linalg.diagonal(self.matrix)

    def product(self, v: np.ndarray) -> np.ndarray:
        """H v."""
        return self.matrix @ v

    def part(self, keep: np.ndarray) -> "Dense":
        """The rows and columns of a mask."""
        return Dense(self.matrix[keep, :][:, keep])


@dataclass
class Point:
    """A feasible x with its value, gradient, and what else the function returned."""

    x: np.ndarray
    value: float
    grad: np.ndarray
    info: Any


@dataclass
class BoxResult(Point):
    """The last point, with iterations, residual, and whether the residual met tol."""

    n_iter: int
    residual: float
    converged: bool


def minimize_box(
    fun: Callable[[Any], tuple[float, Any, Any]],
    hessian: Callable[[Any, Any], Curvature],
    x: np.ndarray,
    upper: np.ndarray,
    stop: Callable[[Point], float],
    tol: float,
    max_iter: int,
    callback: Callable[[int, float, float], Any] | None = None,
    effort: tuple[float, int] | None = None,
) -> BoxResult:
    """Minimize a convex function on 0 ≤ x ≤ upper.

    ``fun(x) -> (value, gradient, info)``, value inf outside of the domain; ``hessian(x, info)`` its curvature.
    ``stop(point)`` is the residual that is compared with ``tol``. ``effort`` is the relative residual and the most
    products with which a direction is found, by ``tol`` when None. Below a tol of 1e-5 a few more steps are taken
    at the end while they still sharpen x.
    """
    point = Point(x, *fun(x))
    residual = stop(point)
    n_iter = 0
    trust = 1.0
    effort = effort or (ROUGH if tol >= 1e-2 else FINE)
    while residual > tol and n_iter < max_iter:
        new, trust = _step(fun, hessian(point.x, point.info), point, upper, trust, effort)
        if new is None:
            break
        point = new
        n_iter += 1
        residual = stop(point)
        if callback is not None:
            callback(n_iter, point.value, residual)
    if residual <= tol <= 1e-5:
        point = sharpened(fun, hessian, point, upper)
    return BoxResult(point.x, point.value, point.grad, point.info, n_iter, residual, residual <= tol)


def _step(
    fun: Any, curvature: Curvature, point: Point, upper: np.ndarray, trust: float, effort: tuple[float, int]
) -> tuple[Point | None, float]:
    """The next point, None when there is none, and how far the next step may go."""
    for attempt in range(ATTEMPTS):
        new = _tried(fun, point, clip(point.x + damped_step(point, curvature, upper, trust, effort), upper))
        if new is not None:
            return new, trust if attempt else 4 * trust
        trust /= 4
    t = 1.0
    for _ in range(50):
        new = _tried(fun, point, clip(point.x - t * point.grad, upper))
        if new is not None:
            break
        t *= 0.5
    return new, 1.0


def _tried(fun: Any, point: Point, x: np.ndarray) -> Point | None:
    """The point x when the value falls enough there (Armijo)."""
    decrease = float(namespace(x).sum(point.grad * (x - point.x)))  # ∇fᵀ(x⁺ − x)
    if not decrease < 0:
        return None
    new = Point(x, *fun(x))
    enough = np.isfinite(new.value) and new.value <= point.value + 1e-4 * decrease + 1e-15 * (1 + abs(point.value))
    return new if enough else None


def damped_step(
    point: Point, curvature: Curvature, upper: np.ndarray, trust: float, effort: tuple[float, int]
) -> np.ndarray:
    """Variables that min(trust, 1) · ∇f / diagonal takes to a bound go there; the others take a damped Newton step."""
    xp = namespace(point.x)
    guess = point.x - min(trust, 1) * point.grad / curvature.diagonal  # (m,)
    zero = xp.zeros_like(point.x)
    bound = xp.where(guess <= 0, zero, upper)
    free = (guess > 0) & (guess < upper)  # the others go to their bound at once
    direction = xp.where(free, zero, xp.where(xp.isfinite(bound), bound, zero) - point.x)
    if bool(xp.any(free)):
        goal = -(point.grad + curvature.product(direction))[free]
        inner = curvature.part(free)
        damping = inner.diagonal / trust  # H + diag(H)/trust: shorter steps where trust is small
        direction[free] = conjugate_gradients(
            lambda v: inner.product(v) + damping * v, divided_by(inner.diagonal + damping), goal, *effort
        )
    return direction


def sharpened(fun: Any, hessian: Any, point: Point, upper: np.ndarray) -> Point:
    """Newton steps accepted on the projected gradient: near the end the value itself no longer tells points apart."""
    for _ in range(3):
        free = free_variables(point, upper)
        if not bool(namespace(point.x).any(free)):
            break
        inner = hessian(point.x, point.info).part(free)
        step = namespace(point.x).zeros_like(point.x)
        step[free] = conjugate_gradients(inner.product, divided_by(inner.diagonal), -point.grad[free], rtol=1e-6)
        x = clip(point.x + step, upper)
        new = Point(x, *fun(x))
        if not np.isfinite(new.value) or projected_step(new, upper) >= projected_step(point, upper):
            break
        point = new
    return point


def conjugate_gradients(
    product: Callable[[np.ndarray], np.ndarray],
    precondition: Callable[[np.ndarray], np.ndarray],
    b: np.ndarray,
    rtol: float = 1e-2,
    max_iter: int = 100,
) -> Any:
    """Approximate solution of H p = b, given about H⁻¹; stops on the residual or on flat curvature."""
    p = namespace(b).zeros_like(b)
    r = b
    z = precondition(r)
    q = z
    rz = float(r @ z)
    goal, size = rtol**2 * rz, rz  # size is qᵀPq for the inverse P of the preconditioner
    for _ in range(max_iter):
        if rz <= goal:
            break
        Hq = product(q)
        curvature = float(q @ Hq)
        if curvature <= 1e-16 * size:
            break
        a = rz / curvature  # where the quadratic is least along q
        p, r = p + a * q, r - a * Hq
        z = precondition(r)
        new = float(r @ z)
        turn = new / rz  # what makes the next q conjugate to this one
        q = z + turn * q
        rz = new
        size = new + turn**2 * size
    return p if float(p @ p) > 0 else precondition(b)


def clip(x: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """The point of the box nearest to x."""
    xp = namespace(x)
    x = xp.where(x > 0, x, xp.zeros_like(x))
    return xp.where(x < upper, x, upper)


def divided_by(diagonal: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """The inverse of a diagonal matrix."""
    return lambda r: r / diagonal


def projected_step(point: Point, upper: np.ndarray) -> float:
    """Largest entry of x − P(x − ∇f), zero at a solution only."""
    xp = namespace(point.x)
    return float(xp.max(xp.abs(point.x - clip(point.x - point.grad, upper))))


def free_variables(point: Point, upper: np.ndarray) -> np.ndarray:
    """The variables that are not at, or about to reach, a bound (Bertsekas 1982, (32))."""
    eps = min(1e-3, projected_step(point, upper))
    blocked = ((point.x <= eps) & (point.grad > 0)) | ((point.x >= upper - eps) & (point.grad < 0))
    return ~blocked
