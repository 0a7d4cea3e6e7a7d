"""What an online learner knows: a rule's state in its coordinates, the account of its losses, and where both begin."""

from dataclasses import dataclass, replace
from functools import cached_property
from math import isfinite
from typing import Any

import numpy as np

from gramian import _memory, _validate
from gramian._settings import Count, check, require, shown
from gramian.coordinates import Coordinates, KernelSpace, Plain, Subspace, orthonormal
from gramian.metrics import Metric
from gramian.online.base import Forms, OnlineRule, total_loss
from gramian.online.step_size import GRID, StepSizeRace

WIDEST = 10_000
"""Most features for which a d × d matrix is learned."""
COPIES = 4
"""Matrices that a step holds at a time, beside one for each step size that is tried."""
_ACCOUNT = ("n_seen", "loss", "comparator_loss", "reach", "peak")
"""What a file keeps of a progress beside the state and the basis."""


@dataclass(frozen=True, eq=False)
class Progress:
    """An immutable point of a stream; :meth:`after` gives the next one.

    ``alpha`` is the fixed weight of what lies outside of the coordinates; with ``rank`` these are a subspace that grows
    by the differences seen until it has that dimension. While it grows this is the dense rule on all features, since
    M is the identity on directions that no step has used.

    ``loss`` and ``comparator_loss`` are cumulative; ``reach`` is the largest target and ``peak`` the largest
    prediction so far, the two numbers that the loss bound needs.
    """

    rule: OnlineRule[Any]
    coordinates: Coordinates
    state: Any
    alpha: float = 0.0
    rank: int | None = None
    n_seen: int = 0
    loss: float = 0.0
    comparator_loss: float = 0.0
    reach: float = 0.0
    peak: float = 0.0

    @cached_property
    def metric(self) -> Metric:
        """The learned metric on points."""
        core = self.rule.metric(self.state)
        return Metric.of(self.coordinates, core.components, self.alpha)

    converged = True

    @property
    def regret(self) -> float:
        """How much more was lost than the comparator loses."""
        return self.loss - self.comparator_loss

    @property
    def eta(self) -> float:
        """The step size in use."""
        return self.rule.eta_of(self.state)

    @cached_property
    def start(self) -> Metric:
        """The metric of the start, M_0."""
        return Metric.of(self.coordinates, self.start_core.components, self.alpha)

    @cached_property
    def start_core(self) -> Any:
        """The metric of the start, on the coordinates."""
        return self.rule.metric(self.rule.init(self.coordinates.size))

    def after(
        self,
        U: Any,
        W: Any,
        targets: np.ndarray,
        signs: np.ndarray,
        comparator: Metric | None = None,
        follow: np.ndarray | None = None,
    ) -> "Progress":
        """The point after constraints on the rows of U and W; overflow raises and nothing has changed."""
        with np.errstate(over="ignore", invalid="ignore"):
            coordinates = self.coordinates
            if self.rank is not None:
                coordinates = coordinates.grown(U - W, self.rank)  # type: ignore[attr-defined]  # a Subspace
            Z = np.ascontiguousarray(coordinates.difference(U, W))  # (m, r)
            rest = self.alpha * coordinates.pair_rest(U, W, Z) if self.alpha > 0 else 0.0
            grown = coordinates.size - self.coordinates.size
            state = self.rule.grow(self.state, grown) if grown else self.state
            state, predictions = self.rule.stream(state, Z, targets - rest, signs, follow)
            predictions = predictions + rest
            wider = replace(self, coordinates=coordinates) if grown else self
            fixed = wider.start_sqdist(Z, rest) if comparator is None else comparator.pair_sqdist(U, W)
            spent, saved = total_loss(predictions, targets, signs), total_loss(fixed, targets, signs)
        return self._moved(
            coordinates, state, len(Z), (spent, saved), _largest(self.reach, targets), _largest(self.peak, predictions)
        )

    def after_forms(self, forms: Forms, targets: np.ndarray, signs: np.ndarray) -> "Progress":
        """The point after constraints on forms of rank two, on coordinates that hold all of a point.

        No loss bound is proved for these: ``peak`` becomes infinite, and the bound with it.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            state, predictions = self.rule.stream(self.state, forms, targets, signs)
            fixed = np.array([form.value(self.start_core.core) for form in forms])
            spent, saved = total_loss(predictions, targets, signs), total_loss(fixed, targets, signs)
        return self._moved(self.coordinates, state, len(forms), (spent, saved), self.reach, np.inf)

    def _moved(
        self, coordinates: Coordinates, state: Any, count: int, losses: tuple[float, float], reach: float, peak: float
    ) -> "Progress":
        """The point ``count`` constraints on, with what they cost the rule and the comparator."""
        if not (isfinite(losses[0]) and self.rule.finite(state)):
            raise OverflowError("a squared distance or a step is too large for double precision; rescale X")
        n_seen, loss, comparator_loss = self.n_seen + count, self.loss + losses[0], self.comparator_loss + losses[1]
        rule, alpha, rank = self.rule, self.alpha, self.rank
        return Progress(rule, coordinates, state, alpha, rank, n_seen, loss, comparator_loss, reach, peak)

    def start_sqdist(self, Z: np.ndarray, rest: Any) -> np.ndarray:
        """Squared distances under M_0."""
        prior = getattr(self.rule, "prior", None)
        start = Z if prior is None else self.start_core.transform(Z)
        sqdist: np.ndarray = np.einsum("ij,ij->i", start, start) + rest  # (m,)
        return sqdist

    def pack(self) -> dict[str, Any]:
        """Plain data for files: the state, the basis if it grows, and the account."""
        account = {name: getattr(self, name) for name in _ACCOUNT}
        return {"state": self.rule.pack(self.state), "basis": getattr(self.coordinates, "basis", None), **account}

    def unpack(self, data: dict[str, Any]) -> "Progress":
        """The progress of :meth:`pack`, in a freshly started learner."""
        basis = data["basis"]
        coordinates = self.coordinates if basis is None else Subspace(orthonormal(basis, "load"))
        account = {name: data[name] for name in _ACCOUNT}
        return replace(self, coordinates=coordinates, state=self.rule.unpack(data["state"]), **account)


def _largest(so_far: float, values: np.ndarray) -> float:
    return max(so_far, float(values[0]) if len(values) == 1 else float(values.max(initial=0.0)))


def beginning(learner: Any, n_features: int | None) -> Progress:
    """M_0 of a learner, for points of so many features."""
    check(learner)
    coordinates, alpha, rank = space(learner, n_features)
    rule = tuned_rule(learner, coordinates.size)
    return Progress(rule, coordinates, rule.init(coordinates.size), alpha, rank)


def standing(learner: Any, n_features: int | None) -> Progress:
    """Where a learner stands, or would stand if it began now."""
    return learner.progress_ if hasattr(learner, "progress_") else beginning(learner, n_features)


def space(learner: Any, n_features: int | None) -> tuple[Coordinates, float, int | None]:
    """Where to learn: on all features, on a subspace that grows up to ``rank``, or on kernel features.

    With it come the weight of what lies outside, and the rank up to which a subspace grows.
    """
    owner = type(learner).__name__
    features, prior = learner.features, learner.prior
    if features is not None:
        if not hasattr(features, "map_"):
            raise ValueError(f"{owner}: features must be fitted KernelFeatures, got {shown(features)}.")
        return KernelSpace(features), float(learner.alpha), None
    require(Count, n_features, owner, "n_features")
    d = int(n_features)  # type: ignore[arg-type]  # it was looked at
    if learner.rank is None:
        require_room(learner, d, owner)
        return Plain(d), 0.0, None
    if not _validate.is_word(prior, "identity"):
        raise ValueError(f"{owner}: prior must be 'identity' when rank is given, got {prior!r}.")
    return Subspace(np.zeros((d, 0))), 1.0, int(learner.rank)


def require_room(learner: Any, d: int, owner: str) -> None:
    """One sentence where a d × d matrix is too large to learn."""
    if d > WIDEST:
        raise ValueError(f"{owner}: X must have at most {WIDEST} features without rank, got {d}; give rank.")
    copies = COPIES + (len(GRID) if isinstance(learner.eta, str) else 0)
    _memory.require(8.0 * copies * d * d, owner, f"{copies} matrices of {d} × {d}", "give rank, or eta")


def tuned_rule(learner: Any, d: int) -> OnlineRule[Any]:
    """The rule of a learner with its step size, or with a race for one when that is "auto"."""
    eta = learner.eta
    if isinstance(eta, str):
        return StepSizeRace(learner._rule(1.0, d), int(learner.n_pretrain))
    rule: OnlineRule[Any] = learner._rule(float(eta), d)
    return rule
