"""The one validation of a fit: points as float64, and what is known of them as labels, targets or constraints."""

from typing import Any

import numpy as np

from gramian import _validate, linalg
from gramian._arrays import to_numpy
from gramian.constraints import Constraints, Feedback, Labels
from gramian.learners import _warnings
from gramian.learners.task import Targets
from gramian.learners.tuples import are_tuples, split


def enter(learner: Any, X: Any, y: Any, unknown: Any = None) -> tuple[Any, Any]:
    """Points and side information of a learner; tuples are taken apart."""
    owner, traits = type(learner).__name__, learner.traits
    if traits.labels == "none":
        return points_alone(learner, X), None
    y = to_numpy(y)
    if traits.vectors and are_tuples(X):
        X, y = split(_validate.placed(X, owner, devices=traits.devices), y, owner)
    if y is None:
        raise ValueError(f"{owner}: requires y to be passed, but the target y is None; give labels or constraints.")
    whole = isinstance(y, Constraints | Feedback)
    if isinstance(y, list | tuple | np.ndarray):
        _warnings.refuse_tuples(_validate.plain(y, owner, "y"), owner)
    if traits.vectors:
        X, y = vectors(learner, X, y, together=not whole and unknown is None)
    if whole:
        return constrained(learner, X, y)
    labels = Labels.from_array(y, owner, linalg.count(X), unknown, traits.labels == "numbers")
    if traits.vectors:
        _warnings.warn_of_data(learner, X, labels, unknown)
    X, labels = labeled(X, labels.by_appearance(), owner)
    return X, Targets.from_labels(labels, owner) if traits.labels == "numbers" else labels


def points_alone(learner: Any, X: Any) -> np.ndarray:
    """Points of a learner that looks at nothing else."""
    if are_tuples(X):
        raise ValueError(f"{type(learner).__name__}: X must be points of shape (n, d), got shape {np.shape(X)}.")
    X = _validate.estimator_points(learner, X, reset=True, allow_sparse=False, min_points=learner.traits.min_points)
    return X.astype(np.float64, copy=False)


def vectors(learner: Any, X: Any, y: Any, together: bool) -> tuple[Any, Any]:
    """Points as float64, and y; ``together`` with them scikit-learn looks at what may be wrong with labels."""
    traits = learner.traits
    if together:
        array = _validate.plain(y, type(learner).__name__, "y")
        # Whole numbers or words, one for each point: nothing to see there.
        sound = array.dtype.kind in "biuU" and array.shape == getattr(X, "shape", ())[:1]
        together = not sound and array.dtype != object
    checked = _validate.estimator_points(
        learner,
        X,
        y if together else None,
        reset=True,
        allow_sparse=traits.sparse,
        min_points=traits.min_points,
        devices=traits.devices,
    )
    X, y = checked if together else (checked, y)
    return linalg.double(X), y


def constrained(learner: Any, X: Any, y: Constraints | Feedback) -> tuple[Any, Constraints]:
    """Points and the constraints on them, of a kind that the learner takes."""
    side = y.pairs(X) if isinstance(y, Feedback) else y
    if learner.traits.vectors and side is y:
        _warnings.warn_of_data(learner, X, side, None)
    require_kind(learner, side)
    return X, side.check(X, type(learner).__name__, fill=False)


def require_kind(learner: Any, side: Any) -> None:
    """Refuse constraints of a kind that the learner does not take, and say who does."""
    from gramian.learners.base import Learner

    owner, takes = type(learner).__name__, learner.traits.takes
    if isinstance(side, Constraints) and not isinstance(side, takes):
        wanted = _warnings.listed(takes)
        raise ValueError(
            f"{owner}: takes {wanted}, got {type(side).__name__}; {_warnings.takers(Learner, type(side))}."
        )


def labeled(X: Any, labels: Labels, owner: str) -> tuple[Any, Labels]:
    """The points that have a label."""
    if (labels.codes >= 0).all():
        return X, labels
    known = np.flatnonzero(labels.codes >= 0)
    if len(known) < 2:
        raise ValueError(f"{owner}: needs at least two labeled points, got {len(known)}.")
    return linalg.take(X, known), labels.of(known)
