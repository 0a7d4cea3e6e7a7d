"""Ours by default settings: every batch learner of the table of contents, and ``AutoMetric`` where there is one."""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

import gramian as gm
from gramian.learners.base import Learner

ELSEWHERE = ("Covariance", "MLKR")
"""Not here: the first does not look at labels (the rival "whitened" is its kind), the second learns from numbers."""

VERSIONS = {"AutoMetric": 12, "Contrastive": 2, "Kernelized": 3}
"""Raised for a learner when a change of its code may change what it finds; 1 for those not named."""


def names() -> list[str]:
    """Learners that can be made without arguments and learn from classes in one go."""
    return [name for name in gm._registry.HOME if name not in ELSEWHERE and _is_batch_learner(getattr(gm, name))]


def _is_batch_learner(thing: Any) -> bool:
    if not inspect.isclass(thing) or not (_is_learner(thing) or thing.__name__ == "AutoMetric"):
        return False
    parameters = inspect.signature(thing).parameters.values()
    required = any(p.default is p.empty and p.kind is not p.VAR_KEYWORD for p in parameters)
    return not required and not hasattr(thing, "partial_fit")


def _is_learner(cls: type) -> bool:
    return issubclass(cls, Learner) and cls.__module__.startswith("gramian.learners")


def fit(name: str, X: np.ndarray, y: np.ndarray, seed: int) -> Callable[[np.ndarray], np.ndarray]:
    """The learned coordinates of a learner with its defaults."""
    cls = getattr(gm, name)
    seeded = "random_state" in inspect.signature(cls).parameters
    return cls(**({"random_state": seed} if seeded else {})).fit(X, y).transform
