"""Descents over a factor L of the metric, M = LᵀL: where they start, and the coordinates they go in."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from gramian import _validate, linalg
from gramian._arrays import asarray, namespace, to_numpy
from gramian.constraints import Labels
from gramian.learners.task import Effort, Task
from gramian.solvers.base import Solution, ended
from gramian.solvers.descent import Descent, descend

Init = Literal["auto", "identity", "pca", "lda", "random"]
SINGLE, SINGLE_TOL = 200, 1e-4
"""From so many points on a descent starts in single precision, and goes on in double below this residual."""
ROUGH = 1e-3
"""A tolerance from which on single precision is enough, where the value alone is then found in double."""


def first_factor(learner: Any, task: Task) -> np.ndarray:
    """The starting factor L (q, r) of a learner on the coordinates: by name, or an array that is for the features.

    "auto" is the identity at full rank and PCA below it. Directions are orthonormal; their common length is set by
    the coordinates, so that a start does not depend on the units of X. A given array is taken as it is.
    """
    owner, d = type(learner).__name__, task.Z.shape[1]
    q = d if learner.n_components is None else learner.n_components
    if q > d:
        raise ValueError(f"{owner}: n_components must be at most the number of features {d}, got {q}.")
    if isinstance(learner.init, str):
        return named_start(learner.init, task, q)
    if task.axes is None:
        return given_start(learner.init, q, d, owner)
    L = given_start(learner.init, len(task.axes), len(task.axes), owner) @ task.axes
    return linalg.psd_sqrt(L.T @ L)


def named_start(name: str, task: Task, q: int) -> np.ndarray:
    """q orthonormal directions by name."""
    d = task.Z.shape[1]
    if name == "auto":
        name = "identity" if q == d else "pca"
    if name == "identity":
        return np.eye(q, d)
    if name == "random":
        return np.linalg.qr(task.rng.standard_normal((d, q)))[0].T
    directions = principal_directions(task.Z) if name == "pca" else discriminant_directions(task.Z, task.y)
    return directions[:q]


def given_start(init: Any, r: int, d: int, owner: str) -> np.ndarray:
    """A starting factor that was given as an array."""
    L = _validate.array(init, owner, "init")
    if L.shape != (r, d) or not np.isfinite(L).all():
        raise ValueError(f"{owner}: init must be a finite array ({r}, {d}), got shape {L.shape}.")
    return L


def principal_directions(X: np.ndarray) -> np.ndarray:
    """Eigenvectors of the covariance, largest variance first, as rows."""
    return linalg.oriented(linalg.eigh(to_numpy(linalg.scatter_around_mean(X)))[1][:, ::-1]).T


def discriminant_directions(X: np.ndarray, labels: Labels) -> np.ndarray:
    """Fisher's directions, largest ratio of between to within scatter first, as orthonormal rows."""
    means = namespace(X).stack([linalg.mean(linalg.take(X, members)) for members in labels.groups()])  # (c, d)
    class_means = linalg.take(means, labels.codes)  # (n, d)
    Sw = to_numpy((X - class_means).T @ (X - class_means))
    ridge = 1e-6 * max(np.trace(Sw) / len(Sw), np.finfo(float).tiny)
    whiten = linalg.psd_power(Sw + ridge * np.eye(len(Sw)), -0.5)  # S_w^{-1/2}, (d, d)
    between = (class_means - linalg.mean(X)) @ asarray(whiten, X)  # (n, d)
    vectors = linalg.eigh(to_numpy(between.T @ between))[1][:, ::-1]
    return linalg.oriented(np.linalg.qr(whiten @ vectors)[0]).T


@dataclass(frozen=True, eq=False)
class Coordinates:
    """Coordinates z = Bᵀ(x − mean) in which neighbors of one class spread evenly: descent there ignores units.

    A factor L' learned on them is the factor L = L'Bᵀ on X. B spans the directions in which X varies, scaled by the
    scatter P of differences to neighbors of the same class, B = U (Δ + ρ)^{-1/2} with P = UΔUᵀ. A large ρ (``ridge``
    times the mean of Δ) keeps descents close to their start where the data leave the metric open, as in more dimensions
    than points; a small one makes them short.
    Constant directions are left out of the metric.
    """

    mean: np.ndarray
    basis: np.ndarray
    unit: float

    @classmethod
    def fit(cls, X: np.ndarray, near: Any, reg: float = 0.0, ridge: float = 0.1) -> "Coordinates":
        """Coordinates from target neighbors (n, k), or the two ends of near pairs, and the weight of ‖L‖²."""
        mean = linalg.mean(X)
        U = varying_directions(X - mean)  # (d, q)
        Z = (X - mean) @ asarray(U, X)  # (n, q)
        mean = to_numpy(mean)
        pairs = len(near[0]) if isinstance(near, tuple) else near.shape[0] * near.shape[1]
        P = to_numpy(pull(Z, near)) / pairs  # mean scatter of near pairs, (q, q)
        unit = np.trace(P) if np.trace(P) > 0 else linalg.total(linalg.row_norms(Z)) / Z.shape[0]
        if unit <= 0:
            return cls(mean, np.zeros((X.shape[1], 0)), 1.0)
        spread = P + (ridge * unit / len(P) + reg / pairs) * np.eye(len(P))
        values, vectors = linalg.eigh(spread)
        values = np.maximum(values, 1e-12 * values[-1])
        return cls(mean, U @ (vectors / np.sqrt(values * len(values))), float(np.sqrt(unit)))

    def of(self, X: np.ndarray) -> np.ndarray:
        """Coordinates of points, (n, q)."""
        return (X - asarray(self.mean, X)) @ asarray(self.basis, X)

    def lift(self, L: np.ndarray) -> np.ndarray:
        """The factor on X of a factor on the coordinates."""
        return to_numpy(L) @ self.basis.T

    def lower(self, L: np.ndarray, given: bool) -> np.ndarray:
        """The factor on the coordinates of a factor on X; a named start is divided by the unit of length of X."""
        return L @ (self.basis / self.norms) / (1.0 if given else self.unit)

    @property
    def norms(self) -> np.ndarray:
        """Squared lengths of the columns of B, which are orthogonal: ‖L‖² = Σ_k norms_k ‖L'_k‖²."""
        return linalg.row_norms(self.basis.T)


def varying_directions(V: np.ndarray) -> np.ndarray:
    """Orthonormal basis (d, q) of the directions in which centered points vary."""
    n, d = V.shape
    small = V.T @ V if d <= n else V @ V.T  # the smaller of the two Gram matrices
    values, vectors = linalg.eigh(to_numpy(small))
    keep = values > 1e-12 * max(values[-1], 0.0)
    if d <= n:
        return vectors[:, keep]
    return to_numpy(V.T @ asarray(vectors[:, keep] / np.sqrt(values[keep]), V))


def pull(Z: Any, near: Any, weight: np.ndarray | None = None) -> np.ndarray:
    """Scatter Σ_i w_i Σ_j∈near(i) (z_i − z_j)(z_i − z_j)ᵀ of neighbors (n, k), or of pairs given by both ends."""
    if isinstance(near, tuple):
        V = linalg.take(Z, near[0]) - linalg.take(Z, near[1])
        return V.T @ V
    P = linalg.full((Z.shape[1], Z.shape[1]), 0.0, Z)  # (q, q)
    for j in range(near.shape[1]):
        V = Z - linalg.take(Z, near[:, j])
        P += V.T @ (V if weight is None else V * weight[:, None])
    return P


@dataclass(frozen=True, eq=False)
class Start:
    """What a descent over a factor needs: the coordinates, the points Z on them, the first L, the penalty on L."""

    coordinates: Coordinates
    Z: np.ndarray
    L: np.ndarray
    ridge: np.ndarray

    @classmethod
    def of(cls, learner: Any, task: Task, near: Any, reg: float, **options: Any) -> "Start":
        """Start of a learner with target neighbors (n, k), or both ends of near pairs, and the weight of ‖L‖²."""
        L = first_factor(learner, task)  # (q, r)
        whitened = Coordinates.fit(task.Z, near, reg, **options)
        L = whitened.lower(L, given=not isinstance(learner.init, str))
        Z = whitened.of(task.Z)
        return cls(whitened, Z, asarray(L, Z), asarray(reg * whitened.norms, Z))

    def by_class(self, codes: np.ndarray) -> tuple["Start", np.ndarray]:
        """The same problem with the points in the order of their classes."""
        order = np.argsort(codes, kind="stable")
        return replace(self, Z=linalg.take(self.Z, order)), codes[order]

    def penalized(self, loss: Callable[..., Any], share: float = 1.0) -> Callable[..., Any]:
        """The loss plus ``share`` of reg · ‖L‖² (Chatpatanasiri et al. 2010, Theorem 3)."""
        ridge = share * self.ridge

        def fun(L: np.ndarray) -> tuple[float, np.ndarray]:
            value, gradient = loss(L)
            return value + linalg.total(ridge * L**2), gradient + 2 * ridge * L

        return fun if namespace(ridge).any(ridge > 0) else loss

    def descend(
        self,
        loss: Callable[..., Any],
        effort: Effort,
        report: Callable[..., Any] | None,
        height: float | None = None,
        value: Callable[..., Any] | None = None,
    ) -> Descent:
        """Minimize ``loss(L, Z)`` plus the penalty until ‖∇f‖ ‖L‖ ≤ tol · n, or f ≤ tol · height.

        With many points most of the way goes in single precision; the end is judged in double, or only its
        ``value(L, Z)`` is where ``tol`` is not small.
        """
        tol, max_iter = effort.tol, int(effort.max_iter or 1)
        point = self.L
        done = 0
        n = self.Z.shape[0]
        single = n >= SINGLE
        rough = single and value is not None and tol >= ROUGH
        precisions = [precision for precision, used in ((linalg.single, single), (linalg.double, not rough)) if used]
        for precision in precisions:
            end = descend(
                self.penalized(in_precision(loss, self.Z, precision)),
                point,
                max_iter=max_iter - done,
                tol=tol if precision is linalg.double else max(tol, SINGLE_TOL),
                scale=n,
                height=height,
                callback=shifted(report, done),
            )
            point = end.point
            done += end.n_iter
        if rough and value is not None:
            end = replace(end, value=value(point, self.Z) + linalg.total(self.ridge * point**2))
        return replace(end, n_iter=done)

    def solution(self, end: Descent, effort: Effort, unit: float = 1.0) -> Solution:
        """The end of a descent as the solution on X, with the objective times ``unit``."""
        return Solution(
            factor=self.coordinates.lift(end.point),
            objective=unit * end.value,
            n_iter=max(end.n_iter, 1),  # scikit-learn counts the look at the start
            result=ended(end.residual, effort.tol, end.n_iter, int(effort.max_iter or 1)),
            residual=end.residual,
            tol=effort.tol,
        )


def in_precision(loss: Callable[..., Any], Z: Any, precision: Callable[..., Any]) -> Callable[..., Any]:
    """``loss(L, Z)`` and its gradient of a factor in double precision, computed in another one."""
    Z = precision(Z)

    def computed(L: Any) -> tuple[float, Any]:
        value, grad = loss(precision(L), Z)
        return value, linalg.double(grad)

    return computed


def shifted(report: Callable[..., Any] | None, done: int) -> Callable[..., Any] | None:
    """A report that counts from ``done`` steps on."""
    return report and (lambda n_iter, *rest: report(done + n_iter, *rest))
