"""Where an online learner begins: coordinates, a rule, and M_0."""

from typing import Any

import numpy as np

from gramian import _checks, _memory, _parameters
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
    _parameters.check(learner)
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
            raise ValueError(f"{owner}: features must be fitted KernelFeatures, got {_checks.shown(features)}.")
        return KernelSpace(features), _checks.number(learner.alpha, owner, "alpha", low=0), None
    d = _checks.number(n_features, owner, "n_features", low=1, integer=True)
    if learner.rank is None:
        require_room(learner, d, owner)
        return Plain(d), 0.0, None
    if not _checks.is_word(prior, "identity"):
        raise ValueError(f"{owner}: prior must be 'identity' when rank is given, got {prior!r}.")
    rank = _checks.number(learner.rank, owner, "rank", low=1, integer=True)
    return Subspace(np.zeros((d, 0))), 1.0, rank


def require_room(learner: Any, d: int, owner: str) -> None:
    """One sentence where a d × d matrix is too large to learn."""
    if d > WIDEST:
        raise ValueError(f"{owner}: X must have at most {WIDEST} features without rank, got {d}; give rank.")
    copies = COPIES + (len(GRID) if isinstance(learner.eta, str) else 0)
    _memory.require(8.0 * copies * d * d, owner, f"{copies} matrices of {d} × {d}", "give rank, or eta")


def tuned_rule(learner: Any, d: int) -> OnlineRule:
    """The rule of a learner with its step size, or with a race for one when that is "auto"."""
    owner, eta = type(learner).__name__, learner.eta
    if isinstance(eta, str):
        _checks.one_of(eta, owner, "eta", ("auto",))
        n = _checks.number(learner.n_pretrain, owner, "n_pretrain", low=1, integer=True)
        return PreTraining(learner._rule(1.0, d), n)
    if learner._infinite and np.ndim(eta) == 0 and eta == np.inf:
        return learner._rule(np.inf, d)
    return learner._rule(_checks.number(eta, owner, "eta", low=0, open_low=True), d)
