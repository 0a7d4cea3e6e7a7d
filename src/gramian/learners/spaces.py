"""Wrappers that learn in coordinates of their own: a subspace of the features, or the space of a kernel.

The plain distance of a kernel is not that of the features: points far from the basis lose what told them apart. So
where nobody chose the kernel, the prior in its space is the distance of the points themselves::

    d²_w(x, y) = (1 − w) s d²_L(z(x), z(y)) + w |x − y|²

with the unit s in which training points are as far apart, on average, in both. d²_L is the metric that was learned,
half of it the kernel's own distance.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from gramian import _memory, _validate, linalg
from gramian._arrays import Array, Matrix, foreign, to_numpy
from gramian.coordinates import BesideFeatures, KernelSpace, Subspace
from gramian.learners.anchored import WEIGHTS, Part
from gramian.learners.base import Solves, named_prior
from gramian.learners.path import Path, Straight, mixed
from gramian.learners.task import Task
from gramian.solvers.base import Solution

HALF = 0.5
"""Weight of the kernel's own distance in what is learned in its space."""
SURE = 2.0
"""Standard errors that a gain must exceed here: what is learned lies in another space than the features."""
SMALLER = "give a smaller rank, or take TruncatedSVD of X first"


@dataclass(frozen=True, eq=False)
class InSubspace:
    """A solver on Uᵀx, for very many features (Jain 2009, (3.6))."""

    solver: Solves
    learner: Any

    def solve(self, task: Task) -> Solution:
        """W = αI + U(M − αI)Uᵀ."""
        learner, owner = self.learner, type(self.learner).__name__
        rng = _validate.random(learner.random_state, owner)
        basis = to_numpy(subspace_basis(learner.subspace, task.Z, learner.rank, rng, owner))  # (d, r)
        if basis.shape[1] == 0:
            raise ValueError(f"{owner}: the subspace must have a direction, got points or columns of zeros alone.")
        space = Subspace(basis)
        inside = task.within(space, space.z(task.Z))
        inside = replace(inside, prior=named_prior(learner, inside.Z, inside.rest))
        return replace(self.solver.solve(inside), coordinates=space)


@dataclass(frozen=True, eq=False)
class InKernel:
    """A solver on the coordinates z(x) of a kernel: the KPCA trick of Chatpatanasiri et al. (2010) for any of them."""

    solver: Solves
    learner: Any
    """Whose prior is made on the coordinates; None where there is none."""
    features: Callable[[Any], Any]
    """Makes the coordinates for some points."""

    def solve(self, task: Task) -> Solution:
        """k_W(x, y) = z(x)ᵀ M z(y) + α (k(x, y) − z(x)ᵀz(y)), Theorem 5 of Jain (2009)."""
        features = self.features(task.Z)
        inside = in_kernel(task, features, task.Z, self.learner)
        steps = self.learner is not None and self.learner.traits.exact.max_iter is not None
        solution = self.solver.solve(inside.in_order() if steps else inside)
        return replace(solution, coordinates=inside.rest.coordinates).saying(features=features)


def in_kernel(task: Task, features: Any, points: Matrix, learner: Any = None) -> Task:
    """A task on the kernel coordinates of some points, which ``features`` learns; with the prior of a learner there."""
    Z = features.learn(points)  # (n, r)
    if Z.shape[1] == 0:
        raise ValueError("Kernelized: kernel must not vanish on all points, got k(x, x) = 0 for each; use another.")
    inside = replace(task, Z=points).within(KernelSpace(features), Z)
    return inside if learner is None else replace(inside, prior=named_prior(learner, Z, inside.rest))


@dataclass(frozen=True, eq=False)
class KernelFrame:
    """A learner in the space of a kernel whose prior are the features themselves.

    Each fold has coordinates of its own: points that were held out must lie outside of the basis, as new points will.
    """

    points: Any
    features: Callable[[Any], Any]
    """Makes the coordinates for some points."""
    care: float = SURE
    degenerate: bool = False

    def part(self, learner: Any, task: Task, rows: np.ndarray | None = None) -> "KernelPart":
        """What the learner finds on the coordinates of the points, or of those of a fold."""
        points = self.points if rows is None else linalg.take(self.points, rows)
        features = self.features(points)
        inside = in_kernel(task, features, points, learner if rows is None else None)
        own_rows = None if rows is None else np.arange(inside.Z.shape[0])
        blend_part = learner.frame(inside).part(learner, inside, own_rows)
        return KernelPart(blend_part, BesideFeatures(features), unit_of(points, inside.Z))


@dataclass(frozen=True, eq=False)
class KernelPart:
    """What was learned ``inside``, with the unit in which points are as far apart as they are."""

    inside: Part
    space: BesideFeatures
    unit: float

    @property
    def learned(self) -> Solution:
        """The solution inside."""
        return self.inside.learned

    @property
    def path(self) -> "KernelPath":
        """The straight path to the plain distance."""
        return KernelPath(self.space.z, self.inside.path, self.unit)

    def blended(self, weight: float) -> Solution:
        """The factor on z(x), with the features beside it."""
        weight = max(weight, float(WEIGHTS[1]))  # without the features, points far from the basis would all be the same
        inside = self.inside.blended(HALF)
        factor = np.sqrt((1 - weight) * self.unit) * inside.factor
        blend = replace(inside, factor=factor, alpha=weight, coordinates=self.space)
        return blend.saying(features=self.space.features, anchor=weight)


@dataclass(frozen=True, eq=False)
class KernelPath(Straight):
    """d²_w from the metric ``inside`` on coordinates z, times ``unit``, to the plain distance of the points."""

    z: Callable[[Any], np.ndarray]
    inside: Path
    unit: float

    def paired(self, points: Matrix, left: np.ndarray, right: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """d²_w of pairs, (weights, pairs)."""
        learned = self.unit * self.inside.paired(self.z(points), left, right, np.array([HALF]))[0]
        plain = to_numpy(linalg.pair_sqdist(linalg.take(points, left), linalg.take(points, right)))
        return mixed((learned, plain), weights[:, None])

    def between(self, X: Matrix, Y: Matrix = None) -> tuple[np.ndarray, np.ndarray]:
        """d² of points X and Y, X and X when None, (n, m), under the learned metric and under the plain one."""
        learned = mixed(self.inside.between(self.z(X), None if Y is None else self.z(Y)), HALF)
        return self.unit * learned, to_numpy(linalg.sqdist(X, Y))


def spread(X: Matrix) -> float:
    """Mean squared distance of points to their mean."""
    if sparse.issparse(X):
        return float(linalg.row_norms(X).mean() - np.sum(np.asarray(X.mean(axis=0)) ** 2))
    return linalg.spread_of(X)


def unit_of(X: Array, Z: Array) -> float:
    """By how much points are farther apart than their kernel coordinates, 1 where these are all one point."""
    apart = spread(Z)
    return spread(X) / apart if apart > 0 else 1.0


def subspace_basis(kind: Any, X: Matrix, rank: int, rng: np.random.RandomState, owner: str) -> np.ndarray:
    """Orthonormal columns U (d, k), k ≤ rank: "svd", "landmarks" (span of random points), or given columns."""
    rank = min(_validate.number(rank, owner, "rank", low=1, integer=True), *X.shape)
    if not isinstance(kind, str):
        return span_of_columns(kind, X.shape[1], owner)
    _validate.one_of(kind, owner, "subspace", ("svd", "landmarks"))
    if sparse.issparse(X) and len(columns := linalg.held_columns(X)) < X.shape[1]:
        _memory.require(24.0 * rank * X.shape[1], owner, f"{rank} directions of {X.shape[1]:,} features", SMALLER)
        inside = subspace_basis(kind, X[:, columns], rank, rng, owner)
        U = np.zeros((X.shape[1], inside.shape[1]))
        U[columns] = inside
        return U
    if kind == "landmarks":
        rows = linalg.take(X, np.sort(rng.choice(X.shape[0], rank, replace=False)))
        return orthonormal_span(to_numpy(linalg.dense(rows)).T)
    return principal(X, rank, rng)


def span_of_columns(columns: Any, d: int, owner: str) -> np.ndarray:
    """The span of columns (d, k) that the caller has."""
    U = np.asarray(columns, dtype=float)
    if U.ndim != 2 or U.shape[0] != d:
        raise ValueError(f"{owner}: subspace must have shape ({d}, k), got {U.shape}.")
    return orthonormal_span(U)


def principal(X: Matrix, rank: int, rng: np.random.RandomState) -> np.ndarray:
    """Leading singular vectors (d, k) of X, as far as it reaches."""
    if foreign(X):
        values, vectors = linalg.eigh(to_numpy(X.T @ X))
        keep = np.flatnonzero(values > 1e-24 * values[-1])[::-1][:rank]
        return vectors[:, keep]
    from sklearn.utils.extmath import randomized_svd

    size = float(abs(X).max())  # its power iterations would overflow at extreme scales
    _, values, Vt = randomized_svd(X / size if size > 0 else X, rank, n_iter=2, random_state=rng)
    return orthonormal_span(Vt[values > 1e-12 * values[0]].T)


def orthonormal_span(A: np.ndarray) -> np.ndarray:
    """Orthonormal basis of the column span, dependent columns dropped."""
    from scipy.linalg import qr

    Q, R, _ = qr(A, mode="economic", pivoting=True)
    size = np.abs(np.diag(R))
    keep = size > max(1e-10 * size.max(initial=0.0), np.finfo(float).tiny)
    return Q[:, keep]
