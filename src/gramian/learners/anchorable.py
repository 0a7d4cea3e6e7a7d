"""A learner that may be kept near its prior: what it finds on given coordinates, plain or blended."""

import copy
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from gramian import _checks, linalg
from gramian.constraints import Constraints, Labels
from gramian.coordinates import Coordinates, Plain, Rest
from gramian.learners.anchor import anchored, chosen, fold_path, is_unit_free, unanchored
from gramian.learners.holdout import Fold, held_out
from gramian.solvers.base import Solution

MOST = 128
"""Directions that an anchored fit takes at most."""


class Anchorable:
    """``solve`` of a learner with the parameters ``prior`` and ``anchor``, from its ``_side`` and ``_learn``."""

    prior: Any
    anchor: Any
    _side: Any
    _learn: Any
    _enough: dict[str, Any] = {}
    """Limits of an anchored fit, name → function of the limit that was set."""
    _far = 1.0
    """A residual from which on a fit that was stopped there has not come near its optimum, and goes on."""
    _has_prior = False
    """Whether the prior is a part of the problem itself."""
    _care = 1.0
    """Standard errors of the gain that the weight of the prior may cost, where it is chosen."""

    def plain(self, Z: Any, y: Labels | Constraints, rest: Rest, rng: np.random.RandomState) -> Solution:
        """The optimum of the learner's own problem on given coordinates."""
        return self._learn(Z, self._side(y, Z, rest, rng), rest, rng)

    def solve(self, Z: Any, y: Labels | Constraints, rest: Rest, rng: np.random.RandomState) -> Solution:
        """What the learner finds on given coordinates, as near to its prior as ``anchor`` says; nothing is stored."""
        if self._anchors(y):
            return anchored(self, Z, y, rest, rng, self.anchor)
        if not self._has_prior and not _checks.is_word(getattr(self, "prior", "identity"), "identity"):
            raise ValueError(
                f"{type(self).__name__}: prior must be 'identity' where the metric is not anchored to it, "
                f"got {_checks.shown(self.prior)}; give anchor > 0 and no n_components."
            )
        variants = self._variants()
        learner = self
        if len(variants) > 1:
            learner, _ = chosen(variants, linalg.dense(Z), y, is_unit_free(y), rng, 0.0)
        return learner.plain(Z, y, rest, rng)

    def _path_on(self, points: Any, fold: Any, rng: np.random.RandomState) -> Any:
        """The way from what is learned on the rows of a fold to the prior, for the points as they are."""
        return fold_path(unanchored(self, quiet=True), points, fold, True, rng)

    def _near_prior(
        self, points: Any, y: Labels | Constraints, weight: float, rng: Any
    ) -> tuple[Coordinates, Solution]:
        """What is learned on all points with a given weight of the identity, and the coordinates it refers to."""
        learner = copy.copy(self)
        learner.prior = "identity"
        whole = Plain(points.shape[1])
        return whole, anchored(learner, points, y, Rest(whole, points, points), rng, weight)

    def _folds(self, y: Labels | Constraints, rng: np.random.RandomState) -> Iterable[Fold]:
        """What is held out, in turn, where the weight of the prior is chosen."""
        return held_out(y, rng)

    def _seen_from(self, turn: Callable[[], np.ndarray]) -> Any:
        """The learner for coordinates z of points x = turn() · z, with settings that are arrays of columns turned."""
        return self

    def _variants(self) -> list[Any]:
        """Copies to choose from on what is held out, one for each value of a parameter that is "auto"."""
        return [self]

    def _directions(self, n: int) -> int:
        """The most directions that an anchored fit on n points works in: each has five points at least."""
        return min(max(2, n // 5), MOST)

    def _anchors(self, y: Labels | Constraints) -> bool:
        """Whether the metric is blended with its prior."""
        anchor = getattr(self, "anchor", 0)
        if isinstance(anchor, str):
            _checks.one_of(anchor, type(self).__name__, "anchor", ("auto",))
            return getattr(self, "n_components", None) is None
        return _checks.number(anchor, type(self).__name__, "anchor", low=0, high=1) > 0
