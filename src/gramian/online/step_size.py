"""The step size chosen on the first constraints (Jain 2009, §5.3), while the stream already runs."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gramian.metrics import Mahalanobis
from gramian.online.base import KINDS, Direction, Form, Forms, OnlineRule, Stream, loss

GRID = 10.0 ** np.linspace(-4, 2, 13)
"""Candidates for η s², s the scale of the first constraint: η has the unit of 1 / distance⁴."""


@dataclass(frozen=True, eq=False)
class Trial:
    """State: one state per candidate η, their losses so far, and the number of constraints seen.

    No candidate yet (``etas`` empty) before the first v ≠ 0, a single one once the choice is made.
    """

    etas: tuple[float, ...]
    states: tuple[Any, ...]
    losses: np.ndarray
    n_seen: int = 0

    @property
    def best(self) -> int:
        """The candidate with the least loss."""
        return int(np.argmin(self.losses))


@dataclass(frozen=True, eq=False)
class StepSizeRace(OnlineRule[Trial]):
    """Run a rule with every η of a grid over the first n constraints, then go on with the best one.

    The state at any time is that of the candidate with the least cumulative loss so far, so a metric is there from
    the first constraint on, and no constraint is seen twice.
    """

    rule: Any
    n: int = 1000

    @property
    def prior(self) -> np.ndarray | None:
        """The start of every candidate."""
        prior: np.ndarray | None = self.rule.prior
        return prior

    def follows(self, state: Trial) -> bool:
        """Whether the choice is made and the rule moves G step by step."""
        return len(state.etas) == 1 and self.rule.follows(state.states[0])

    def eta_of(self, state: Trial) -> float:
        """The step size in use, NaN before the first constraint."""
        return float(state.etas[state.best]) if state.etas else float("nan")

    def races(self, state: Trial) -> bool:
        """Whether several η are still tried."""
        return len(state.etas) > 1

    def settled(self, state: Trial, eta: float) -> Trial:
        """A state with this η and no race."""
        return replace(state, etas=(eta,))

    def init(self, d: int) -> Trial:
        """No candidate yet: the scale comes with the first constraint."""
        return Trial((), (self.rule.init(d),), np.zeros(1))

    def predict(self, state: Trial, v: Direction) -> float:
        """Squared distance under the best candidate."""
        return float(self.rule.predict(state.states[state.best], v))

    def update(self, state: Trial, v: Direction, target: float, kind: str = "equal") -> Trial:
        """All candidates after one constraint."""
        V = Forms(v.vectors[None], v.weights[None]) if isinstance(v, Form) else v[None]
        return self.stream(state, V, np.array([float(target)]), np.array([KINDS[kind]]))[0]

    def stream(
        self,
        state: Trial,
        V: Stream,
        targets: np.ndarray,
        signs: np.ndarray,
        follow: np.ndarray | None = None,
    ) -> tuple[Trial, np.ndarray]:
        """All candidates while the phase lasts, the best one after it."""
        if len(state.etas) == 1:
            return self._with_best(state, V, targets, signs, follow)
        state = state if state.etas else candidates(self.rule, state, V, targets)
        if not state.etas:
            return replace(state, n_seen=state.n_seen + len(V)), np.zeros(len(V))
        k = max(0, min(len(V), self.n - state.n_seen))
        state, head = race(self.rule, state, V[:k], targets[:k], signs[:k])
        if state.n_seen < self.n:
            return state, head
        state = Trial((state.etas[state.best],), (state.states[state.best],), np.zeros(1), state.n_seen)
        state, tail = self._with_best(state, V[k:], targets[k:], signs[k:], follow)
        return state, np.concatenate([head, tail])

    def _with_best(self, state: Trial, V: Any, targets: Any, signs: Any, follow: Any) -> tuple[Trial, np.ndarray]:
        inner, predictions = replace(self.rule, eta=state.etas[0]).stream(state.states[0], V, targets, signs, follow)
        return replace(state, states=(inner,), n_seen=state.n_seen + len(V)), predictions

    def grow(self, state: Trial, k: int) -> Trial:
        """Every candidate with k more coordinates."""
        return replace(state, states=tuple(self.rule.grow(s, k) for s in state.states))

    def metric(self, state: Trial) -> Mahalanobis:
        """The metric of the best candidate."""
        metric: Mahalanobis = self.rule.metric(state.states[state.best])
        return metric

    def finite(self, state: Trial) -> bool:
        """Whether the best candidate is finite; one that diverged has infinite loss and is never chosen."""
        return bool(self.rule.finite(state.states[state.best]))

    def pack(self, state: Trial) -> dict[str, Any]:
        """Plain data of a state."""
        return {
            "etas": list(state.etas),
            "states": [self.rule.pack(s) for s in state.states],
            "losses": state.losses,
            "n_seen": state.n_seen,
        }

    def unpack(self, data: dict[str, Any]) -> Trial:
        """The state of :meth:`pack`."""
        states = tuple(self.rule.unpack(s) for s in data["states"])
        return Trial(tuple(data["etas"]), states, data["losses"], data["n_seen"])


def candidates(rule: OnlineRule[Any], state: Trial, V: Stream, targets: np.ndarray) -> Trial:
    """One candidate for each η of the grid, in the unit of the first v ≠ 0; the state as it is before that."""
    for v, y in zip(V, targets):
        prediction = rule.predict(state.states[0], v)
        if prediction > 0:
            size = max(prediction, abs(y)) ** 2
            if not 0 < size < np.inf:
                raise OverflowError("squared distances are too small or too large for a step size; rescale X")
            etas = tuple((GRID / size).tolist())  # η s² runs over the grid
            return Trial(etas, state.states * len(etas), np.zeros(len(etas)), state.n_seen)
    return state


def race(rule: Any, state: Trial, V: Stream, targets: np.ndarray, signs: np.ndarray) -> tuple[Trial, np.ndarray]:
    """All candidates after some constraints, and what the leader of the time predicted for each."""
    runs = [replace(rule, eta=e).stream(s, V, targets, signs) for e, s in zip(state.etas, state.states)]
    predictions = np.array([p for _, p in runs])  # (candidates, m)
    losses = np.nan_to_num(loss(predictions, targets, signs), nan=np.inf)
    path = np.cumsum(np.column_stack([state.losses, losses]), axis=1)  # (candidates, m + 1): the losses before each
    leader = np.argmin(path[:, :-1], axis=0)
    after = Trial(state.etas, tuple(s for s, _ in runs), path[:, -1], state.n_seen + len(V))
    return after, predictions[leader, np.arange(len(V))]
