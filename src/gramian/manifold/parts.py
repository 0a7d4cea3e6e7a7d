"""Few labels among very many points: the geometry of a part of them, along which the others are placed."""

from typing import Any

import numpy as np

from gramian import _checks, _device, linalg
from gramian.constraints import Labels
from gramian.learners.subsample import some
from gramian.manifold.voting import Choice

MANY = 30_000
"""Points from which on a part of so many is used."""
DENSE = {"isomap": 3_000, "rbf": 3_000}
"""Points of a part where a matrix of all pairs is decomposed."""
OWN = ("classes_", "codes_", "n_features_in_")
"""What a model has from all of its points."""


def applies(model: Any, side: Any, choice: Any) -> bool:
    """Whether a fit is on a part: labels of many points, and a geometry that is named, not given."""
    return side is None and isinstance(choice, str) and len(model.codes_) > MANY


def fitted(model: Any, X: Any, choice: Any, remedy: str, **whole: Any) -> Any:
    """The model, fitted on a part of the points: what it would be with the settings ``whole`` on these alone.

    All points have coordinates and, where they are unknown, labels: those of the part as it found them, the others as
    new points have them. All labeled points vote.
    """
    n, owner = len(model.codes_), type(model).__name__
    rng = _checks.random(model.random_state, owner)
    rows = drawn(Labels(model.codes_, model.classes_), min(MANY, DENSE.get(choice, MANY)), rng)
    _checks.warn(
        f"{owner}: learns the geometry of {len(rows):,} of the {n:,} points, labeled ones first, since its work grows "
        f"with n²; give {remedy} to learn that of all of them."
    )
    X = _device.to_host(X)
    inner = type(model)(**{**model.get_params(deep=False), **whole})
    inner.fit(linalg.take(X, rows), model.codes_[rows])
    vars(model).update({k: v for k, v in vars(inner).items() if k.endswith("_") and k not in OWN})
    model.part_ = rows
    model.embedding_ = model.metric_.transform_of(X)
    model._appoint(Choice(np.nan, inner.anchor_, **inner.evidence_), X)
    return model


def drawn(labels: Labels, most: int, rng: np.random.RandomState) -> np.ndarray:
    """Rows, ascending: the labeled points, by class where they are more than half, and others at random."""
    unknown = np.flatnonzero(labels.codes < 0)
    known = np.flatnonzero(labels.codes >= 0)
    room = max(most // 2, most - len(unknown))
    if len(known) > room:
        known = some(labels, room, rng)
    others = rng.choice(unknown, min(most - len(known), len(unknown)), replace=False)
    return np.sort(np.concatenate([known, others]))
