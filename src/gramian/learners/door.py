"""The one validation of a fit: points as float64, and what is known of them as labels, targets or constraints."""

from typing import TYPE_CHECKING, Any

import numpy as np

from gramian import _validate, linalg
from gramian._arrays import foreign, to_numpy
from gramian.constraints import Constraints, Feedback, Labels, Pairs, Quadruplets, Triplets
from gramian.learners import _warnings
from gramian.learners.task import Targets

if TYPE_CHECKING:
    from gramian.learners.base import Learner


def enter(learner: "Learner", X: Any, y: Any, unknown: Any = None) -> tuple[Any, Any]:
    """Points and side information of a learner; tuples are taken apart."""
    owner, traits = type(learner).__name__, learner.traits
    if traits.labels == "none":
        return points_alone(learner, X), None
    if traits.vectors and are_tuples(X):
        X, y = split(_validate.placed(X, owner, devices=traits.devices), y, owner)
    if y is None:
        raise ValueError(f"{owner}: requires y to be passed, but the target y is None; give labels or constraints.")
    if isinstance(y, Constraints | Feedback):
        return constrained(learner, vectors(learner, X) if traits.vectors else X, y)
    coded, numbers = isinstance(y, Labels), traits.labels == "numbers"
    if not coded:
        y = _validate.plain(y, owner, "y")
        _warnings.refuse_tuples(y, owner)
    if traits.vectors:
        X = vectors(learner, X, None if coded or unknown is not None else y)
    labels = Labels.from_array(y, owner, linalg.count(X), unknown, numbers)
    if traits.vectors:
        _warnings.warn_of_data(learner, X, labels, unknown)
    labels = labels.by_appearance()
    if (labels.codes < 0).any():
        X, labels = labeled(X, labels, owner)
    return X, Targets.from_labels(labels, owner) if numbers else labels


def points_alone(learner: "Learner", X: Any) -> np.ndarray:
    """Points of a learner that looks at nothing else."""
    if are_tuples(X):
        raise ValueError(f"{type(learner).__name__}: X must be points of shape (n, d), got shape {np.shape(X)}.")
    X = _validate.estimator_points(learner, X, reset=True, allow_sparse=False, min_points=learner.traits.min_points)
    return X.astype(np.float64, copy=False)


def vectors(learner: Any, X: Any, y: np.ndarray | None = None) -> Any:
    """Points as float64; scikit-learn looks at what may be wrong with labels beside them."""
    traits = learner.traits
    if y is not None:
        # Whole numbers or words, one for each point: nothing to see there.
        sound = y.dtype.kind in "biuU" and y.shape == getattr(X, "shape", ())[:1]
        y = None if sound or y.dtype == object else y
    options = {"allow_sparse": traits.sparse, "min_points": traits.min_points, "devices": traits.devices}
    checked = _validate.estimator_points(learner, X, y, reset=True, **options)
    return linalg.double(checked if y is None else checked[0])


def constrained(learner: "Learner", X: Any, y: Constraints | Feedback) -> tuple[Any, Constraints]:
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
    rows = np.flatnonzero(labels.codes >= 0)
    if len(rows) < 2:
        raise ValueError(f"{owner}: needs at least two labeled points, got {len(rows)}.")
    return linalg.take(X, rows), labels.of(rows)


def are_tuples(X: Any) -> bool:
    """Whether X are pairs (n, 2, d), triplets (n, 3, d) or quadruplets (n, 4, d) in place of points (n, d)."""
    if isinstance(X, list | tuple):
        try:
            return np.ndim(X) == 3
        except ValueError:  # rows of different lengths are neither
            return False
    return getattr(X, "ndim", 2) == 3


def split(tuples: np.ndarray, y: Any, owner: str) -> tuple[np.ndarray, Constraints]:
    """The points of pairs (n, 2, d), triplets (n, 3, d) or quadruplets (n, 4, d), and what is said of them."""
    tuples = tuples if foreign(tuples) else np.asarray(tuples)
    size = tuples.shape[1]
    side: Constraints
    if size == 2:
        if y is None:
            raise ValueError(f"{owner}: pairs (n, 2, d) need y with ±1 per pair, but y is None.")
        X, side = Pairs.from_tuples(tuples, to_numpy(y))
    elif size == 3:
        X, side = Triplets.from_tuples(tuples, margin=None)
    elif size == 4:
        X, side = Quadruplets.from_tuples(tuples, margin=None)
    else:
        raise ValueError(
            f"{owner}: X must be (n, d), or pairs, triplets or quadruplets (n, 2 to 4, d), got shape {tuples.shape}."
        )
    return X, side
