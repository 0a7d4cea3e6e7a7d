"""The matrix M₀ that a metric is kept close to."""

from typing import Any

import numpy as np

from gramian import _checks, linalg


def prior_matrix(prior: Any, X: Any, owner: str) -> np.ndarray:
    """M₀ (d, d): "identity", "covariance" (the inverse covariance of X), "zero", or a given PSD matrix.

    The covariance gets a ridge of 1e-6 of its mean eigenvalue, so that constant features do no harm.
    """
    d = X.shape[1]
    if not isinstance(prior, str):
        return _checks.psd(prior, owner, "prior", d)
    _checks.one_of(prior, owner, "prior", ("identity", "covariance", "zero"))
    if prior == "identity":
        return np.eye(d)
    if prior == "zero":
        return np.zeros((d, d))
    C = np.atleast_2d(np.cov(X, rowvar=False))
    ridge = 1e-6 * np.trace(C) / d
    return linalg.symmetrize(np.linalg.inv(C + (ridge if ridge > 0 else 1.0) * np.eye(d)))
