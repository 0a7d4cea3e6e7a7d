"""A learner that is kept near its prior: any learner, wrapped.

With few labels an exact optimum can be worse than no learning: where the labels say nothing it forgets what the
features knew. So a wrapped learner works in the leading directions U of the points under the prior M₀ = G₀ᵀG₀ only, at
least five points for each, and what it finds there, M_L in the unit of the prior, is blended with it::

    M(w) = G₀ᵀ (I + U (1 − w)(M_L − I) Uᵀ) G₀,      d²_w = (1 − w) d²_L + w d²_0

Outside of U the metric *is* the prior (Jain 2009, (3.6) and Theorem 5, with α = 1). The weight w is chosen on points
that were held out and on classes that were held out: the largest one within a standard error of the best gain.
Distances are linear in w, so the whole path costs one fit and two matrices of distances for each fold.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gramian import _validate, linalg
from gramian._arrays import Array, asarray, to_numpy
from gramian.constraints import Chunklets, Comparisons, Labels
from gramian.coordinates import Plain, Rest, Subspace
from gramian.learners.held_out import Fold, held_out, path_scores
from gramian.learners.path import Path, WithRest
from gramian.learners.task import Sums, Targets, Task, Traits
from gramian.solvers.base import Result, Solution, on_host

if TYPE_CHECKING:
    from gramian.learners.base import Learner


WEIGHTS = np.array([0.0, 0.01, 0.03, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0])
"""Weights w of the prior to choose from."""
UNKNOWN = 0.5
"""The weight of the prior where nothing can be held out."""


@dataclass(frozen=True, eq=False)
class Anchored:
    """A learner, blended with its prior by a weight; None chooses the weight on what is held out."""

    learner: Any
    weight: float | None = None
    framed: Callable[[Task], Any] | None = None
    """Where it is blended; the learner's own ``frame`` when None."""

    def solve(self, task: Task) -> Solution:
        """The blend; what the learner found by itself is its part ``learned``."""
        frame = (self.framed or self.learner.frame)(task)
        if frame.degenerate:
            return self.learner.solve(task)
        learner, weight, failed = chosen(self.learner, frame, task, self.weight)
        learned_part = frame.part(learner, task)
        failed.tell(type(learner).__name__, weight)
        blend = replace(learned_part.blended(weight), learned=learned_part.learned)
        shown = {**learned_part.learned.extra, "anchor": weight, "failed_folds": len(failed.reasons), **blend.extra}
        blend = replace(blend, extra=shown)
        return blend if self.framed is not None else learner.refine(task, blend)


@dataclass(frozen=True, eq=False)
class Chosen:
    """A learner whose "auto" settings are chosen on what is held out; the metric is its own."""

    learner: Any

    def solve(self, task: Task) -> Solution:
        """The optimum of the variant with the largest gain."""
        frame = self.learner.frame(replace(task, prior=None))
        return chosen(self.learner, frame, task, 0.0)[0].solve(task)


@dataclass(frozen=True, eq=False)
class Failed:
    """Why folds could not be learned from, of how many there were."""

    reasons: tuple[str, ...] = ()
    of: int = 0

    def tell(self, owner: str, weight: float) -> None:
        """Say so where that happened to all."""
        if self.reasons and len(self.reasons) == self.of:
            _validate.warn(
                f"{owner}: on no fold of what is known could be learned ({self.reasons[0].rstrip('.')}), "
                f"so the weight of the prior is {weight:g}; give anchor a number."
            )


def chosen(learner: "Learner", frame: Any, task: Task, weight: float | None) -> tuple[Any, float, Failed]:
    """The variant of a learner with the largest gain, the weight of the prior for it, and which folds failed.

    The weight is the largest whose gain is within so many standard errors of the best one as the frame's ``care``
    says, the prior where nothing is sure; a ``weight`` that was given stays.
    """
    variants = learner.variants()
    if weight is not None and len(variants) == 1:
        return variants[0], weight, Failed()
    weights = WEIGHTS if weight is None else np.array([weight, 1.0])
    repeats = variants[0].traits.repeats
    folds = [fold for _ in range(repeats) for fold in held_out(task.y, task.rng, order=task.order)]
    best = -np.inf, variants[0], UNKNOWN if weight is None else weight
    reasons: list[str] = []
    for variant in variants:
        gains: list[tuple[str, np.ndarray]] = []
        for fold in folds:
            gains += gains_on(variant, frame, fold, task, weights, reasons)
        if gains:
            gain, place = best_place(gains, frame.care * repeats**0.5 if weight is None else None)
            best = max(best, (gain, variant, float(weights[place])), key=lambda one: one[0])
    return *best[1:], Failed(tuple(reasons), len(folds) * len(variants))


def best_place(gains: list[tuple[str, np.ndarray]], care: float | None) -> tuple[float, int]:
    """The best gain, and the last place whose gain is within so many errors of it; the first place where None."""
    mean, error = gain_and_error(gains)  # (weights,)
    if care is None:
        return float(mean[0]), 0
    top = int(np.argmax(mean))
    within = care * error[top] if care else 0.0  # an error may be infinite
    return float(mean[top]), int(np.flatnonzero(mean >= mean[top] - within)[-1])


def gains_on(
    learner: "Learner", frame: Any, fold: Fold, task: Task, weights: np.ndarray, reasons: list[str]
) -> Iterator[tuple[str, np.ndarray]]:
    """Gains over the prior (clusters, weights) on what one fold held out, by kind.

    A fold that cannot be learned from says nothing, and its reason is kept.
    """
    try:
        fold_part = frame.part(learner, replace(task, y=fold.side, rows=None, report=None, directions=None), fold.rows)
    except ValueError as error:
        reasons.append(str(error))
        return
    scaled = learner.traits.has_unit and unit_free(task.y)
    path = fold_part.path if scaled or task.rest.empty else WithRest(fold_part.path, task.rest)
    for kind, scores in path_scores(fold, frame.points, path, weights):
        yield kind, scores - scores[:, -1:]


def gain_and_error(
    gains: list[tuple[str, np.ndarray]], counts: dict[str, float] | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """The gain over all kinds and its standard error over clusters, for each weight.

    ``counts`` says how much a kind counts beside the others; all the same when None.
    """
    kinds = {kind: np.concatenate([gain for name, gain in gains if name == kind]) for kind, _ in gains}
    count = np.array([(counts or {}).get(kind, 1.0) for kind in kinds])
    share = (count / count.sum())[:, None]
    means = np.stack([values.mean(axis=0) for values in kinds.values()])  # (kinds, weights)
    variances = [values.var(axis=0, ddof=min(1, len(values) - 1)) / len(values) for values in kinds.values()]
    return np.sum(share * means, axis=0), np.sqrt(np.sum(share**2 * np.stack(variances), axis=0))


@dataclass(frozen=True, eq=False)
class Frame:
    """Points as a blended fit sees them: under the root G₀ of the prior, None for the identity."""

    points: Any
    root: Any
    unit_free: bool
    care: float = 1.0
    """Standard errors of the gain that the weight of the prior may cost."""
    degenerate: bool = False
    sums: Sums | None = None
    """Those of all points, where ``points`` are some of them: directions, unit and blend are then those of all."""

    @classmethod
    def under(cls, task: Task, traits: Traits) -> "Frame":
        """The frame of a task."""
        root = None if task.prior is None else linalg.psd_sqrt(task.prior)  # (r, r)
        points = linalg.dense(task.Z)  # (n, r), where the points are; what is r × r is on the host
        points = points if root is None else points @ asarray(root, points)
        sums = task.sums if task.sums is None or root is None else task.sums.seen(root)
        size = linalg.spread_of(points) if sums is None else sums.spread
        free = unit_free(task.y)
        if traits.has_unit and free and size > 0:
            points = points / float(np.sqrt(size))
            sums = None if sums is None else sums.seen(np.eye(points.shape[1]) / np.sqrt(size))
        return cls(points, root, free, traits.care, size == 0, sums)

    def part(self, learner: "Learner", task: Task, rows: np.ndarray | None = None) -> "Part":
        """What a learner finds in the leading directions of the points, or of those of a fold."""
        points, traits = self.points if rows is None else linalg.take(self.points, rows), learner.traits
        sums = self.sums if rows is None else None
        if sums is None:
            directions = task.directions or leading_directions
            U = directions(points - linalg.mean(points), traits.most_directions(points.shape[0]))  # (r, p)
        else:
            U = varying(sums.covariance, traits.most_directions(sums.n))[1]
        if U.shape[1] == 0 and rows is not None:
            raise ValueError("all points are the same")
        if U.shape[1] == 0:  # nothing to learn, so that the prior is left
            return Part(U, U.T @ U, self.root, Solution())
        Z = points @ asarray(U, points)  # (n, p)
        Z = Z if traits.devices else to_numpy(Z)  # what runs on the CPU alone gets its coordinates there
        whole = rows is None or len(rows) == self.points.shape[0]  # a fold of pairs may touch all points
        under = task.rest if whole else Rest(Plain(points.shape[1]), points, points)
        inside = replace(
            task,
            Z=Z,
            prior=None,
            axes=U if self.root is None else np.linalg.pinv(self.root) @ U,
            rest=Rest(Subspace(U), points, Z, under),
            effort=traits.blended.of(learner),
            sums=None if sums is None else sums.seen(U),
            rows=task.rows if rows is None else None,  # those of a fold are nobody's
            directions=None,
        )
        learned = on_host(enough(learner, inside, again=rows is None))
        S = to_numpy(linalg.scatter_around_mean(Z)) if inside.sums is None else inside.sums.covariance  # (p, p)
        core = in_unit(learned.core, S) if self.unit_free else learned.core
        return Part(U, core, self.root, learned)


def enough(learner: "Learner", task: Task, again: bool) -> Solution:
    """What a learner finds with the effort of a blend; ``again`` with its own limit where that is far from the end."""
    exact, most = learner.traits.exact.of(learner), task.effort.max_iter
    shorter = most is not None and exact.max_iter is not None and most < exact.max_iter
    solution = learner.solve(task)
    if again and shorter and not solution.converged and solution.residual > learner.traits.retry_above:
        solution = learner.solve(replace(task, effort=replace(task.effort, max_iter=exact.max_iter), report=None))
        shorter = False
    # Stopping early is a part of the method, not a failure, where the limit is ours and not the caller's.
    return replace(solution, result=Result.stopped_early) if shorter and not solution.converged else solution


@dataclass(frozen=True, eq=False)
class Part:
    """What was learned in the directions U (r, p): its core in the unit of the prior, ready to be blended."""

    U: Any
    core: Any
    root: Any
    learned: Solution

    @property
    def path(self) -> Path:
        """The straight path to the prior."""
        return Path(self.U, root_of(self.core))

    def blended(self, weight: float) -> Solution:
        """M(w), as the symmetric root under the prior times G₀."""
        eye = np.eye(len(self.core))
        inside = linalg.psd_sqrt((1 - weight) * self.core + weight * eye) - eye  # (p, p)
        whole = np.eye(len(self.U)) + self.U @ inside @ self.U.T  # (r, r)
        return account(self.learned, factor=whole if self.root is None else whole @ self.root, alpha=1.0)


def account(learned: Solution, **changes: Any) -> Solution:
    """How a blend was found; its objective is that of no problem."""
    ending = {name: getattr(learned, name) for name in ("result", "residual", "tol", "n_iter")}
    return Solution(**{**ending, **changes})


def unit_free(y: Any) -> bool:
    """Whether no bound fixes the unit of the metric."""
    return isinstance(y, Labels | Targets | Chunklets | Comparisons) or y.from_data


def in_unit(M: Array, S: Array) -> Array:
    """M in the unit in which points of scatter S, up to a factor, are as far apart, on average, as they are."""
    size = float(np.sum(S * M))
    return (float(np.trace(S)) / size if size > 0 else 0.0) * M


def leading_directions(V: Array, most: int) -> Array:
    """Orthonormal columns (r, p): the principal directions of centered points (n, r), as far as they vary."""
    n, r = V.shape
    if r <= n:
        return varying(to_numpy(V.T @ V), most)[1]
    values, vectors = varying(to_numpy(V @ V.T), most)
    return to_numpy(V.T @ asarray(vectors / np.sqrt(values), V))


class SharedDirections:
    """:func:`leading_directions` of the same points for several learners: all of them are computed once."""

    def __init__(self) -> None:
        self.all: Any = None

    def __call__(self, V: Array, most: int) -> Array:
        """Orthonormal columns (r, p)."""
        if self.all is None:
            self.all = leading_directions(V, max(V.shape))
        return self.all[:, :most]


def root_of(M: Array) -> Array:
    """R with RRᵀ = M: triangular where M is definite, which costs a tenth, and symmetric elsewhere."""
    try:
        return np.linalg.cholesky(M)
    except np.linalg.LinAlgError:
        return linalg.psd_sqrt(M)


def varying(S: Array, most: int) -> tuple[Any, Any]:
    """Leading eigenvalues (p,) and eigenvectors (r, p) of a scatter, largest first, as far as they are not 0."""
    values, vectors = linalg.eigh(S)
    keep = np.flatnonzero(values > 1e-10 * max(values[-1], 0.0))[::-1][:most]
    return values[keep], vectors[:, keep]
