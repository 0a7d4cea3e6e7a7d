"""Estimators from elsewhere as inner learners: their linear map, read off from what they do."""

from typing import Any

import numpy as np

from gramian.constraints import Constraints, Labels
from gramian.solvers.base import Solution


def solve_foreign(learner: Any, Z: np.ndarray, y: Labels | Constraints) -> Solution:
    """Fit a transformer or metric learner from elsewhere on the coordinates Z, and read off its linear map."""
    name = type(learner).__name__
    if isinstance(y, Constraints):
        raise TypeError(f"Kernelized: {name} takes labels, got {type(y).__name__}; use a learner of this package.")
    learner.fit(Z, y.classes[y.codes])
    L = linear_map(learner, Z)
    steps = getattr(learner, "n_iter_", None)
    return Solution(factor=L, n_iter=1 if steps is None else max(int(np.max(steps)), 1))


def linear_map(learner: Any, Z: np.ndarray) -> np.ndarray:
    """The matrix L (r, d) of a fitted estimator whose transform is Lz + constant; checked on the points Z."""
    name = type(learner).__name__
    d = Z.shape[1]
    if not hasattr(learner, "transform"):
        if getattr(learner, "components_", None) is None:
            raise TypeError(f"Kernelized: {name} must have a linear transform or components_.")
        return np.asarray(learner.components_, dtype=np.float64)
    ends = np.asarray(learner.transform(np.vstack([np.zeros((1, d)), np.eye(d)])), dtype=np.float64)
    L = (ends[1:] - ends[0]).T
    found = np.asarray(learner.transform(Z), dtype=np.float64)
    if np.abs(Z @ L.T + ends[0] - found).max(initial=0.0) > 1e-6 * max(np.abs(found).max(initial=0.0), 1e-300):
        raise TypeError(f"Kernelized: the transform of {name} is not linear, so it has no metric.")
    return L
