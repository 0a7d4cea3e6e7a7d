"""Where an online learner begins: coordinates, a rule, and M_0."""

from typing import Any

import numpy as np

from gramian import _checks, _memory
from gramian._settings import Count, check, require, shown
from gramian.coordinates import Coordinates, KernelSpace, Plain, Subspace
from gramian.online.base import OnlineRule
from gramian.online.pretraining import GRID, PreTraining
from gramian.online.progress import Progress

WIDEST = 10_000
"""Most features for which a d × d matrix is learned."""
COPIES = 4
"""Matrices that a step holds at a time, beside one for each step size that is tried."""


def beginning(learner: Any, n_features: int | None) -> Progress:
    """M_0 of a learner, for points of so many features."""
    check(learner)
    coordinates, alpha, rank = space(learner, n_features)
    rule = tuned_rule(learner, coordinates.size)
    return Progress(rule, coordinates, rule.init(coordinates.size), alpha, rank)


def here(learner: Any, n_features: int | None) -> Progress:
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
    if not _checks.is_word(prior, "identity"):
        raise ValueError(f"{owner}: prior must be 'identity' when rank is given, got {prior!r}.")
    return Subspace(np.zeros((d, 0))), 1.0, int(learner.rank)


def require_room(learner: Any, d: int, owner: str) -> None:
    """One sentence where a d × d matrix is too large to learn."""
    if d > WIDEST:
        raise ValueError(f"{owner}: X must have at most {WIDEST} features without rank, got {d}; give rank.")
    copies = COPIES + (len(GRID) if isinstance(learner.eta, str) else 0)
    _memory.require(8.0 * copies * d * d, owner, f"{copies} matrices of {d} × {d}", "give rank, or eta")


def tuned_rule(learner: Any, d: int) -> OnlineRule:
    """The rule of a learner with its step size, or with a race for one when that is "auto"."""
    eta = learner.eta
    if isinstance(eta, str):
        return PreTraining(learner._rule(1.0, d), int(learner.n_pretrain))
    return learner._rule(float(eta), d)
