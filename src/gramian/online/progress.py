"""What an online learner knows: a rule's state in its coordinates, and the account of its losses."""

from dataclasses import dataclass, replace
from functools import cached_property
from math import isfinite
from typing import Any

import numpy as np

from gramian.coordinates import Coordinates, Subspace, orthonormal
from gramian.metrics import Metric
from gramian.online.base import OnlineRule, total_loss
from gramian.online.forms import Forms


@dataclass(frozen=True, eq=False)
class Progress:
    """An immutable point of a stream; :meth:`after` gives the next one.

    ``alpha`` is the fixed weight of what lies outside of the coordinates; with ``rank`` these are a subspace that grows
    by the differences seen until it has that dimension. While it grows this is the dense rule on all features, since
    M is the identity on directions that no step has used.

    ``loss`` and ``comparator_loss`` are cumulative; ``reach`` is the largest target and ``peak`` the largest
    prediction so far, the two numbers that the loss bound needs.
    """

    rule: OnlineRule
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
            Z = np.ascontiguousarray(coordinates.difference(U, W))
            rest = self.alpha * coordinates.pair_rest(U, W, Z) if self.alpha > 0 else 0.0
            grown = coordinates.size - self.coordinates.size
            state = self.rule.grow(self.state, grown) if grown else self.state
            state, predictions = self.rule.stream(state, Z, targets - rest, signs, follow)
            predictions = predictions + rest
            here = replace(self, coordinates=coordinates) if grown else self
            fixed = here.start_sqdist(Z, rest) if comparator is None else comparator.pair_sqdist(U, W)
            spent, saved = total_loss(predictions, targets, signs), total_loss(fixed, targets, signs)
        if not (isfinite(spent) and self.rule.finite(state)):
            raise OverflowError("a squared distance or a step is too large for double precision; rescale X")
        return Progress(
            self.rule,
            coordinates,
            state,
            self.alpha,
            self.rank,
            self.n_seen + len(Z),
            self.loss + spent,
            self.comparator_loss + saved,
            _largest(self.reach, targets),
            _largest(self.peak, predictions),
        )

    def after_forms(self, forms: Forms, targets: np.ndarray, signs: np.ndarray) -> "Progress":
        """The point after constraints on forms of rank two, on coordinates that hold all of a point.

        No loss bound is proved for these: ``peak`` becomes infinite, and the bound with it.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            state, predictions = self.rule.stream(self.state, forms, targets, signs)
            fixed = np.array([form.value(self.start_core.core) for form in forms])
            spent, saved = total_loss(predictions, targets, signs), total_loss(fixed, targets, signs)
        if not (isfinite(spent) and self.rule.finite(state)):
            raise OverflowError("a squared distance or a step is too large for double precision; rescale X")
        return replace(
            self,
            state=state,
            n_seen=self.n_seen + len(forms),
            loss=self.loss + spent,
            comparator_loss=self.comparator_loss + saved,
            peak=np.inf,
        )

    def start_sqdist(self, Z: np.ndarray, rest: Any) -> np.ndarray:
        """Squared distances under M_0."""
        prior = getattr(self.rule, "prior", None)
        start = Z if prior is None else self.start_core.transform(Z)
        return np.einsum("ij,ij->i", start, start) + rest

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


_ACCOUNT = ("n_seen", "loss", "comparator_loss", "reach", "peak")
