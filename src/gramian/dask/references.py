"""NCA and MCML over blocks: all points are anchors, and their neighbors a random reference sample.

p_ij ∝ exp(−‖Lx_i − Lx_j‖²) over *all* j costs n² for each step. Over a reference of m points, drawn class by class, it
costs n m; with m = n it is the exact problem. The error is measured: at the end the objective is computed against a
second reference, drawn without the first, and ``reference_error_`` is the relative difference.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gramian import linalg
from gramian.constraints import Labels
from gramian.dask import passes
from gramian.dask.rows import Rows
from gramian.dask.views import View, summed
from gramian.learners.factored import Start
from gramian.learners.mcml import MCML
from gramian.learners.nca import NCA
from gramian.solvers.base import Solution
from gramian.solvers.descent import descend

REFERENCE = 2_000
"""Points of a reference sample."""


@dataclass(frozen=True, eq=False)
class Reference:
    """Points that stand for all: coordinates (m, q), their classes and row numbers, and whose problem it is."""

    Z: np.ndarray
    codes: np.ndarray
    names: np.ndarray
    collapse: bool


def by_reference(learner: Any, X: Rows, labels: Labels, rng: Any, report: Any, collapse: bool) -> Solution:
    """Descend over L with a reference in place of all neighbors; the start is that of the reference alone."""
    first, second = drawn(labels, REFERENCE, rng)
    options = {"ridge": 1e-10} if collapse else {}
    R = linalg.gathered(X[first])
    start = Start.make(learner, R, labels.of(first), rng, **options)
    Z: Any = start.coordinates.of(X)  # type: ignore[arg-type]  # an affine map of points in blocks

    def reference(rows: np.ndarray, points: np.ndarray) -> Reference:
        return Reference(start.coordinates.of(points), labels.codes[rows], rows, collapse)

    def loss(L: np.ndarray, chosen: Reference) -> tuple[float, np.ndarray]:
        names = np.column_stack([labels.codes, np.arange(len(X))])
        return passes.total(Z, loss_of, L, chosen, each=names, merge=summed)

    own = reference(first, R)
    fun = start.penalized(lambda L: loss(L, own))
    end = descend(fun, start.L, max_iter=learner.max_iter, tol=learner.tol, scale=len(X), callback=report)
    other = start.penalized(lambda L: loss(L, reference(second, linalg.gathered(X[second]))))(end.point)[0]
    error = abs(other - end.value) / max(abs(end.value), np.finfo(float).tiny)
    return replace(start.solution(end, learner.tol), found={"reference_error": float(error)})


def drawn(labels: Labels, size: int, rng: Any) -> tuple[np.ndarray, np.ndarray]:
    """Two samples without a common row, each class in proportion and with two points in each where it has four."""
    share = size / len(labels.codes)
    first, second = [], []
    for members in labels.groups():
        count = min(max(2, round(share * len(members))), len(members) // 2)
        picked = rng.permutation(members)[: 2 * count] if count else members
        first.append(picked[: max(count, 1)])
        second.append(picked[count : max(2 * count, 1)])
    return np.sort(np.concatenate(first)), np.sort(np.concatenate(second))


def loss_of(
    part: Any, chosen: Any, view: View, names: np.ndarray, L: np.ndarray, reference: Reference
) -> tuple[float, np.ndarray]:
    """The loss of the anchors of a block and its gradient 2 L Σ_ij W_ij (z_i − r_j)(z_i − r_j)ᵀ."""
    Z, R = view.of(part, chosen), reference.Z
    S = np.zeros((Z.shape[1], Z.shape[1]))
    value = 0.0
    for rows in linalg.blocks(len(Z), 48 * len(R)):
        V = Z[rows]
        own = names[rows, 1, None] == reference.names
        same = (names[rows, 0, None] == reference.codes) & ~own
        part_value, W = weights(linalg.sqdist(V @ L.T, R @ L.T), same, own, reference.collapse)
        value += part_value
        cross = V.T @ (W @ R)
        S += V.T @ (W.sum(axis=1)[:, None] * V) - cross - cross.T + R.T @ (W.sum(axis=0)[:, None] * R)
    return value, 2 * L @ S


def weights(D: np.ndarray, same: np.ndarray, own: np.ndarray, collapse: bool) -> tuple[float, np.ndarray]:
    """The loss and W = ∂loss/∂d² of NCA (Chatpatanasiri et al. 2010, (3), (5)) or MCML (Globerson and Roweis 2006)."""
    E = np.where(own, -np.inf, -D)
    top = E.max(axis=1, keepdims=True)
    P = np.exp(E - top)
    total = P.sum(axis=1, keepdims=True)
    P /= total
    if not collapse:
        p = (P * same).sum(axis=1, keepdims=True)
        return -float(p.sum()), P * same - p * P
    mates = same.sum(axis=1, keepdims=True)
    target = same / np.maximum(mates, 1)
    anchor = mates > 0
    value = (target * D).sum(axis=1, keepdims=True) + top + np.log(total) - np.log(np.maximum(mates, 1))
    return float(value[anchor].sum()), (target - P) * anchor


class ReferenceNCA(NCA):
    """NCA whose neighbors are a reference where points lie in blocks."""

    def _descend(self, X: Any, labels: Labels, rng: Any, report: Any) -> Solution:
        if len(X) <= REFERENCE or not isinstance(X, Rows):
            return super()._descend(linalg.gathered(X), labels, rng, report)
        return by_reference(self, X, labels, rng, report, collapse=False)


class ReferenceMCML(MCML):
    """MCML whose neighbors are a reference where points lie in blocks."""

    def _descend(self, X: Any, labels: Labels, rng: Any, report: Any) -> Solution:
        if len(X) <= REFERENCE or not isinstance(X, Rows):
            return super()._descend(linalg.gathered(X), labels, rng, report)
        return by_reference(self, X, labels, rng, report, collapse=True)
