"""What a learner is asked (:class:`Task`), and what the wrappers must know of it (:class:`Traits`)."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from gramian import linalg
from gramian._arrays import Array, to_numpy
from gramian.constraints import Labels
from gramian.coordinates import Rest

if TYPE_CHECKING:
    from gramian.learners.base import Learner


BUDGET = 20.0
"""CPU seconds, on one thread, for a default fit whose work grows with the square of the number of points."""


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums over n points in d coordinates; what nobody asks for is None.

    A linear map of the points maps them too, so that a blend with a prior needs nothing else.
    """

    n: int
    covariance: Any = None
    """(d, d) of all points."""
    sizes: Any = None
    """(g,): what the points of each group count."""
    means: Any = None
    """(g, d) of the groups."""
    scatter: Any = None
    """(d, d), Σ (x − μ)(x − μ)ᵀ around the means of the groups."""

    @property
    def spread(self) -> float:
        """Mean squared distance of points to their mean."""
        return float(self.covariance.trace()) * (self.n - 1) / self.n

    def seen(self, A: Array) -> "Sums":
        """The sums of the points xA, for A (d, p)."""
        means = None if self.means is None else self.means @ A
        covariance, scatter = (None if S is None else A.T @ S @ A for S in (self.covariance, self.scatter))
        return replace(self, covariance=covariance, means=means, scatter=scatter)


@dataclass(frozen=True)
class Effort:
    """How far a fit goes where the caller gave no number."""

    tol: float = np.nan
    max_iter: int | None = None
    constraints: int | None = None
    """Constraints that are drawn from labels at most; None is the usual number."""

    def of(self, learner: "Learner") -> "Effort":
        """This effort with the numbers that the caller gave in place of ours: they are promises."""
        numbers = {name: getattr(learner, name, None) for name in ("tol", "max_iter")}
        return replace(self, **{name: value for name, value in numbers.items() if value is not None})


@dataclass(frozen=True)
class Traits:
    """What a learner is, as one frozen record: read by the base, the wrappers, the tests and the docs."""

    takes: tuple[type, ...] = ()
    """Constraints that it takes beside labels."""
    labels: Literal["classes", "numbers", "none"] = "classes"
    """What y may hold where it is no constraints."""
    exact: Effort = Effort()
    """The problem as it stands."""
    blended: Effort = Effort()
    """What is blended with a prior need not be exact."""
    retry_above: float = 1.0
    """A blended fit that ends with a larger residual goes on to the exact limit."""
    directions: int | None = 128
    """Leading directions of the points that a blended fit takes at most; None is all."""
    points_each: int = 5
    """Points that there are for each direction at least."""
    repeats: int = 1
    """How often all points are held out, in threes, where a weight is chosen: one draw of folds says little."""
    care: float = 1.0
    """Standard errors of the gain that the weight of the prior may cost."""
    choices: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    """What "auto" stands for, by setting: values to choose from on held-out points."""
    has_unit: bool = False
    """Whether the problem depends on the unit of the points: a blended fit brings them to a spread of 1."""
    prior_inside: bool = False
    """Whether the prior is a part of the problem itself."""
    by_angle: bool = False
    """Whether what it learns is meant for angles around the mean."""
    scale_free: bool = False
    """Whether columns of any unit weigh the same at the start."""
    pair_cost: tuple[float, float, float] | None = None
    """Nanoseconds of a fit with ``anchor="auto"`` for each pair of points, for each of their directions, and for the
    square of these, where its work grows with n²; None where it does not."""
    by_class: bool = True
    """Whether a part of many points is drawn class by class."""
    joins: bool = False
    """Whether copies of a point are one point to its comparisons, as where these came as tuples."""
    min_points: int = 2
    vectors: bool = True
    """Whether points are rows of numbers; otherwise objects of a kernel."""
    lifts: bool = False
    """Whether it makes coordinates of its own from points as they are, dense or sparse."""
    subspace: bool = False
    """Whether ``rank`` asks for a subspace of the features to learn in."""
    sparse: bool = False
    devices: bool = False
    """Whether a fit runs where the points are; otherwise they must be on the host."""
    summed: bool = False
    """Whether the metric is made of :class:`~gramian.learners.task.Sums` alone, by ``from_sums``."""
    remedy: str = "raise max_iter or tol"
    """What helps where a fit did not converge."""

    def most_points(self, d: int) -> int | None:
        """Points of d features that a fit with ``anchor="auto"`` learns from within ``BUDGET``; None is all.

        On a device of its own it learns from all that fit into the memory there.
        """
        if self.pair_cost is None:
            return None
        p = d if self.directions is None else min(d, self.directions)
        once, each, square = self.pair_cost
        return int(np.sqrt(1e9 * BUDGET / (once + each * p + square * p**2)))

    def most_directions(self, n: int) -> int:
        """The most directions that a blended fit on n points works in."""
        each = n if self.points_each == 1 else max(2, n // self.points_each)
        return each if self.directions is None else min(each, self.directions)


@dataclass(frozen=True, eq=False)
class Targets:
    """Numbers to predict as side information, (n, q)."""

    values: np.ndarray

    @classmethod
    def from_labels(cls, labels: Labels, owner: str) -> "Targets":
        """Labels that are numbers, or an indicator column for each class; they must differ."""
        numbers = labels.classes.dtype.kind in "biuf"
        values = labels.classes[:, None].astype(np.float64) if numbers else np.eye(len(labels.classes))
        targets = cls(values[labels.codes])
        if not 0 < targets.variance < np.inf:
            raise ValueError(f"{owner}: needs finite targets that differ; all are the same or some are too large.")
        return targets

    def __len__(self) -> int:
        return len(self.values)

    @cached_property
    def centered(self) -> np.ndarray:
        """The targets around their mean."""
        return self.values - self.values.mean(axis=0)

    @cached_property
    def variance(self) -> float:
        """Their variance, all columns together."""
        return float((self.centered**2).sum() / len(self.values))

    @cached_property
    def standard(self) -> np.ndarray:
        """Targets of mean 0 and variance 1 in all."""
        if not 0 < self.variance < np.inf:
            raise ValueError("all targets are the same")
        return self.centered / np.sqrt(self.variance)

    def of(self, rows: np.ndarray) -> "Targets":
        """The targets of some points."""
        return Targets(self.values[rows])


@dataclass(frozen=True, eq=False)
class Task:
    """A problem for a learner; nothing in it belongs to an estimator.

    ``Z`` (n, r) are the points in the coordinates that are learned on, ``rest`` what these leave out of them, ``y``
    what is known. ``prior`` is M₀ on the coordinates, None the identity.
    """

    Z: Any
    y: Any
    """:class:`.Labels`, :class:`Targets` or :class:`.Constraints`; a learner knows which it takes."""
    rest: Rest
    rng: np.random.RandomState
    effort: Effort = Effort()
    prior: Any = None
    axes: Any = None
    """(d, r): turns settings that are arrays on the features into such on the coordinates."""
    order: Any = None
    """(n,): the points in an order that follows from what they hold; None where that is the order of the rows."""
    rows: Any = None
    """(n,): the rows of the caller, where the points stand in another order than there."""
    sums: Sums | None = None
    """Sums over all points, where ``Z`` are some of them."""
    directions: Callable[..., Any] | None = None
    """Gives the leading directions of the points, where several learners share them."""
    report: Callable[..., Any] | None = None
    """Hears ``(n_iter, value, residual)`` after each step."""

    @property
    def M0(self) -> Array:
        """The prior as a matrix, on the host."""
        return np.eye(self.Z.shape[1]) if self.prior is None else self.prior

    def in_rows(self, near: Array) -> Array:
        """Indices of points (n, k) for each point, as the caller counts them."""
        if self.rows is None:
            return near
        return self.by_rows(self.rows[to_numpy(near)])

    def by_rows(self, values: Any) -> Array:
        """Values (n, …) of the points, in the order of the caller's rows."""
        if self.rows is None:
            return values
        place = np.empty_like(self.rows)
        place[self.rows] = np.arange(len(self.rows))
        return values[place]

    def in_order(self) -> "Task":
        """The same with labeled points in the order that follows from what they hold."""
        if self.order is None or not isinstance(self.y, Labels):
            return self
        X, Z = (linalg.take(points, self.order) for points in (self.rest.X, self.Z))
        y = Labels(self.y.codes[self.order], self.y.classes).by_appearance()
        return replace(self, Z=Z, y=y, rest=replace(self.rest, X=X, Z=Z), order=None, rows=self.order)

    def within(self, space: Any, Z: Array, prior: Any = None) -> "Task":
        """The same task in other coordinates of the points."""
        return replace(self, Z=Z, rest=Rest(space, self.Z, Z), prior=prior, sums=None, directions=None)
