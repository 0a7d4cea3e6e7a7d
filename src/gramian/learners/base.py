"""The learner contract: a scikit-learn estimator whose one hook is ``solve(task) -> Solution``, pure.

``fit`` is written once: points and what is known of them go through the door, become a task, and the plan for the
learner (itself, or wrapped as its settings ask) solves it. Wrappers have the hook's signature, so that they nest.
"""

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from gramian import _memory, _settings, _validate, linalg
from gramian._arrays import Array, free_bytes
from gramian._settings import Count, Loudness, Seed, Share, Size
from gramian.constraints import Chunklets, Constraints, Labels
from gramian.coordinates import Coordinates, Plain, Rest
from gramian.learners import subsample
from gramian.learners.door import enter
from gramian.learners.priors import prior_matrix
from gramian.learners.progress import Watched
from gramian.learners.task import Sums, Targets, Task, Traits
from gramian.learners.tuples import TupleMixin
from gramian.metrics import Metric
from gramian.metrics.base import answer
from gramian.metrics.named import leading_root
from gramian.solvers.base import Result, Solution, on_host

HELD = 16
"""Copies of the points that a fit on a device holds at a time: its coordinates, sums and gradients."""
PAIR = 1.0
"""Bytes there for each pair of points: lists of impostors are not bounded by the number of points."""
COPIES = 6
"""Matrices of d × d that a fit holds at a time."""
WIDEST = 10_000
"""Most features for which a learner that also works in a subspace learns a d × d matrix."""


def reading(source: str, name: str, doc: str, kind: Callable[[Any], Any] | None = None) -> Any:
    """A property that reads the field ``name`` of the fitted attribute ``source``, as a plain ``kind``."""

    def read(estimator: Any) -> Any:
        check_is_fitted(estimator, source)
        value = getattr(getattr(estimator, source), name)
        return value if kind is None else kind(value)

    return property(read, doc=doc)


class Solves(Protocol):
    """A learner or a wrapper around one."""

    def solve(self, task: Task) -> Solution:
        """What it says of a task; nothing is stored."""


class Learner(TupleMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, ABC):
    """Base of all learners; subclasses give ``traits`` and ``solve``.

    ``fit(X, y)`` takes points (n, d) with labels or :class:`.Constraints`, pairs (n, 2, d) with ±1, or triplets
    (n, 3, d). It sets ``metric_``, ``n_iter_``, ``converged_`` and ``solution_``, and ``objective_`` where the metric
    is the optimum of a problem.
    """

    traits: ClassVar[Traits] = Traits()

    # Of a learner that has no such setting.
    prior: Any = "identity"
    anchor: Any = 0
    n_components: Any = None
    rank: Any = None
    random_state: Any = None
    verbose: Any = False
    callback: Any = None

    @abstractmethod
    def solve(self, task: Task) -> Solution:
        """What this learner's own problem says of a task; nothing is stored."""

    def refine(self, task: Task, blend: Solution) -> Solution:
        """What a learner adds to a blend with its prior: a threshold, or a unit of its own."""
        return blend

    def frame(self, task: Task) -> Any:
        """Where the learner is blended with its prior: the straight path to M₀ in the leading directions."""
        from gramian.learners.anchored import Frame

        return Frame.under(task, self.traits)

    def framed(self, task: Task) -> tuple[Any, Any]:
        """Who learns where the learner is a candidate of several, and the frame of that."""
        return self.variants()[0], self.frame(task)

    def blends(self, y: Labels | Targets | Constraints) -> bool:
        """Whether the metric is blended with its prior: not at anchor 0, nor where a low rank is asked for."""
        return self.n_components is None if isinstance(self.anchor, str) else self.anchor > 0

    def most_points(self, d: int) -> tuple[int | None, str]:
        """Points of d features that a fit learns from at most, where the weight of the prior is chosen anyway.

        With it comes how to have more.
        """
        by_evidence = isinstance(self.anchor, str)
        return self.traits.most_points(d) if by_evidence else None, "give anchor a number"

    def variants(self) -> list[Self]:
        """Copies to choose from on what is held out, one for each value of a setting that is "auto"."""
        for name, values in self.traits.choices.items():
            if isinstance(getattr(self, name), str):
                return [altered(self, **{name: value}) for value in values]
        return [self]

    def fit(self, X: Any, y: Any = None, *, unknown: Any = None) -> Self:
        """Learn the metric.

        Parameters
        ----------
        X : array (n, d), or pairs (n, 2, d), triplets (n, 3, d) or quadruplets (n, 4, d)
        y : labels (n,), or a Constraints object, or ±1 for pairs; nothing for triplets and quadruplets
        unknown : label, optional
            What stands for "no label" (−1, NaN, …); such points, and those labeled None, are left out.
        """
        with _settings.intact(self):
            task = task_of(self, *enter(self, X, y, unknown))
            keep(self, task.rest.coordinates, plan(self, task.y).solve(task))
            self._learn_to_decide(task)
        return self

    n_iter_ = reading("solution_", "n_iter", "Iterations taken.")
    converged_ = reading("solution_", "converged", "Whether the residual is at most ``solution_.tol``.", bool)
    components_ = reading("metric_", "components", "The factor L (r, d) of the metric.")

    @property
    def objective_(self) -> float:
        """The objective at the metric; a blend with a prior is the optimum of no problem and has none."""
        check_is_fitted(self, "solution_")
        if self.solution_.learned is not None and np.isnan(self.solution_.objective):
            raise AttributeError(
                f"{type(self).__name__}: the metric is a blend with its prior, which has no objective_; "
                "that of what was blended is solution_.learned.objective."
            )
        return float(self.solution_.objective)

    @property
    def _n_features_out(self) -> int:
        return self.metric_.transform(np.zeros((1, self.n_features_in_))).shape[1]

    def _points(self, X: Any) -> Any:
        """Points for the fitted metric, validated."""
        check_is_fitted(self, "metric_")
        space = self.metric_.coordinates
        if space.n_features is None:  # objects of a kernel
            return space.check(X, type(self).__name__)
        traits = self.traits
        points = _validate.estimator_points(
            self, X, reset=False, allow_sparse=traits.sparse, devices=traits.devices
        )  # (n, d)
        return space.accept(points)

    def transform(self, X: Any) -> np.ndarray:
        """Coordinates in which the Euclidean distance is the learned one."""
        points = self._points(X)
        return answer(self.metric_.transform_of(points), X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = self.traits.sparse
        tags.input_tags.three_d_array = True
        return tags


@dataclass(eq=False, repr=False, kw_only=True)
class Blended(Learner):
    """Settings of every learner that may be kept near its prior."""

    prior: Literal["identity", "covariance"] | np.ndarray = "identity"
    anchor: Literal["auto"] | Share = "auto"
    random_state: Seed = None


@dataclass(eq=False, repr=False, kw_only=True)
class Iterative(Blended):
    """Settings of every learner that goes in steps; None is as far as the answer needs it."""

    max_iter: Count | None = None
    tol: Size | None = None
    verbose: Loudness = False
    callback: Callable[..., Any] | None = None


def task_of(learner: Learner, X: Any, y: Any, sums: Sums | None = None) -> Task:
    """What a learner is asked about points and side information that went through the door.

    X may be a part of the points; then ``sums`` are over all of them.
    """
    traits = learner.traits
    rng = _validate.random(learner.random_state, type(learner).__name__)
    X, y = fewer(learner, X, y, rng)
    points, labels, order, rows = settled(learner, X, y)
    Z = room_for(learner, points)  # (n, d)
    space: Any = Plain(X.shape[1]) if traits.vectors else None
    rest = Rest(space, points, Z)
    apart = traits.lifts or in_subspace(learner)  # coordinates that are to be made have their prior made with them
    prior = None if apart else named_prior(learner, Z, rest, sums)
    effort = traits.exact.of(learner)
    return Task(Z, labels, rest, rng, effort, prior, sums=sums, report=learner.callback, order=order, rows=rows)


def plan(learner: Learner, y: Any) -> Solves:
    """The learner, wrapped as its settings ask."""
    from gramian.learners.anchored import Anchored, Chosen
    from gramian.learners.spaces import InSubspace

    solver: Solves = learner
    if learner.blends(y):
        solver = Anchored(learner, None if isinstance(learner.anchor, str) else float(learner.anchor))
    elif not learner.traits.prior_inside and not _validate.is_word(learner.prior, "identity"):
        raise ValueError(
            f"{type(learner).__name__}: prior must be 'identity' where the metric is not anchored to it, "
            f"got {_validate.shown(learner.prior)}; give anchor > 0 and no n_components."
        )
    elif len(learner.variants()) > 1:
        solver = Chosen(learner)
    solver = InSubspace(solver, learner) if in_subspace(learner) else solver
    return Watched(solver, learner) if learner.verbose else solver


def in_subspace(learner: Learner) -> bool:
    """Whether a subspace of the features is asked for."""
    return learner.traits.subspace and learner.rank is not None


def fewer(learner: Learner, X: Any, y: Any, rng: np.random.RandomState) -> tuple[Any, Any]:
    """What is learned from: all points, or a part of many."""
    if learner.traits.joins:
        X, y = subsample.joined(X, y)
    most, remedy = learner.most_points(X.shape[1] if learner.traits.vectors else 0)
    if most is None:
        return X, y
    options: dict[str, Any] = {"by_class": learner.traits.by_class}
    room = free_bytes(X) if learner.traits.devices else None
    if room is not None:  # a device goes through all pairs in blocks, as long as the points are there
        point = 8.0 * HELD * X.shape[1]  # bytes; n points take n · point + n² · PAIR
        most = int(min((np.sqrt(point**2 + 4 * PAIR * room) - point) / (2 * PAIR), linalg.count(X)))
        options["reason"], remedy = "no more fit into the memory of the device", "free some, or move X to the CPU,"
    return subsample.fewer(X, y, most, type(learner).__name__, remedy, rng, **options)


def settled(learner: Learner, X: Any, y: Any) -> tuple[Any, Any, np.ndarray | None, np.ndarray | None]:
    """Points and labels, and the order of the points that follows from what they hold, whatever the caller's is.

    A fit in steps sees them in that order, so that the caller's reaches no rounding either; then the order is that of
    the rows, None, and last come the rows of the caller.
    """
    order = None if isinstance(y, Constraints) and not isinstance(y, Chunklets) else subsample.by_content(X)
    steps = learner.traits.exact.max_iter is not None and isinstance(y, Labels) and not learner.traits.lifts
    if order is None or not steps:
        return X, y, order, None
    return linalg.take(X, order), Labels(y.codes[order], y.classes).by_appearance(), None, order


def room_for(learner: Learner, X: Any) -> Any:
    """The points as rows of numbers (n, d), where there is room for matrices (d, d)."""
    owner = type(learner).__name__
    if learner.traits.lifts or in_subspace(learner):
        return X
    d = X.shape[1]
    if learner.traits.subspace and d > WIDEST:
        raise ValueError(f"{owner}: X must have at most {WIDEST} features without rank, got {d}; give rank.")
    remedy = "drop columns, or give Kernelized(…, kernel=Linear(), rank=…)"
    _memory.require(8.0 * COPIES * d * d, owner, f"{COPIES} matrices of {d} × {d}", remedy)
    return linalg.dense(X)


def named_prior(learner: Learner, Z: Array, rest: Rest, sums: Sums | None = None) -> Any:
    """M₀ on the coordinates, (r, r); None where it is the identity."""
    if _validate.is_word(learner.prior, "identity"):
        return None
    return prior_matrix(learner.prior, Z, rest, type(learner).__name__, None if sums is None else sums.covariance)


def keep(learner: Learner, space: Coordinates, solution: Solution) -> None:
    """Store what a fit says: the only place that writes to a learner."""
    for name in ("tuple_size_", "threshold_"):  # of an earlier fit
        learner.__dict__.pop(name, None)
    learner.solution_ = solution = on_host(solution)
    for name, value in solution.extra.items():
        setattr(learner, f"{name}_", value)
    if solution.M is None and solution.factor is None:  # a stream, whose progress holds its metric
        return
    space = space if solution.coordinates is None else solution.coordinates
    root = linalg.psd_sqrt if space.whole else leading_root
    components = root(solution.M) if solution.factor is None else solution.factor  # (r, d)
    names = getattr(learner, "feature_names_in_", None)
    names = names if names is not None and len(names) == space.n_features else None
    learner.metric_ = Metric.of(space, components, solution.alpha, names)
    if solution.result in (Result.stalled, Result.max_iter):
        _validate.warn(
            f"{type(learner).__name__}: stopped after {solution.n_iter} iterations with residual "
            f"{solution.residual:.3g} > tol {solution.tol:.3g}; {remedy_of(learner, solution)}.",
            ConvergenceWarning,
        )


def remedy_of(learner: Learner, solution: Solution) -> str:
    """What helps a fit that stopped before its tolerance."""
    if solution.result is Result.stalled and hasattr(learner, "max_iter"):
        return f"{solution.result.value}, so more of max_iter would not help; raise tol to accept it"
    return learner.traits.remedy


def altered(learner: Any, **settings: Any) -> Any:
    """A copy with other settings."""
    copied = copy.copy(learner)
    vars(copied).update(settings)
    return copied
