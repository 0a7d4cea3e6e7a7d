"""The matrix M₀ that a metric is kept close to."""

from typing import Any

import numpy as np

from gramian import _validate, linalg
from gramian.coordinates import Rest


def prior_matrix(prior: Any, Z: Any, rest: Rest, owner: str, C: Any = None) -> np.ndarray:
    """M₀ (r, r) on coordinates: "identity", "covariance" (the inverse covariance of Z), "zero", or a PSD matrix.

    The covariance gets a ridge of 1e-6 of its mean eigenvalue, so that constant features do no harm. It
    is C (r, r) where that is given.
    """
    d = Z.shape[1]
    if not isinstance(prior, str):
        matrix = rest.lower(_validate.array(prior, owner, "prior"))
        return _validate.psd(matrix, owner, "prior", d)
    _validate.one_of(prior, owner, "prior", ("identity", "covariance", "zero"))
    if prior == "identity":
        return np.eye(d)
    if prior == "zero":
        return np.zeros((d, d))
    C = linalg.covariance(Z) if C is None else C
    ridge = 1e-6 * np.trace(C) / d
    return linalg.symmetrize(np.linalg.inv(C + (ridge if ridge > 0 else 1.0) * np.eye(d)))


def positive(M0: np.ndarray, owner: str) -> np.ndarray:
    """M₀ that log det can be taken of."""
    values = np.linalg.eigvalsh(M0)
    if not values[0] > 1e-14 * values[-1]:
        raise ValueError(
            f"{owner}: prior must be positive definite, got eigenvalues from {values[0]:.3g} to {values[-1]:.3g}; "
            "add a multiple of the identity."
        )
    return M0
