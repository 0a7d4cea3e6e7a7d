"""Priors and starts by name or as given, with metric-learn's rules and sentences."""

from typing import Any

import numpy as np
from numpy.linalg import LinAlgError
from sklearn.datasets import make_spd_matrix
from sklearn.utils.validation import check_array, check_random_state

import gramian as gm
from gramian import _validate, linalg
from gramian.compat.metric_learn.exceptions import NonPSDError, note


def metric_matrix(points: np.ndarray, init: Any, name: str, random_state: Any, definite: bool) -> np.ndarray:
    """M₀ (d, d): "identity", "covariance", "random" or a given matrix; ``name`` is the parameter it came from."""
    d = points.shape[-1]
    if isinstance(init, np.ndarray):
        return _given(check_array(init, copy=True), d, name, definite)
    if not isinstance(init, str) or init not in ("identity", "covariance", "random"):
        raise ValueError(
            f"`{name}` must be 'identity', 'covariance', 'random' or a numpy array of shape (n_features, n_features)."
        )
    if init == "identity":
        return np.eye(d)
    if init == "random":
        return make_spd_matrix(d, random_state=check_random_state(random_state))
    return _inverse_covariance(points, name, definite)


def _given(M: np.ndarray, d: int, name: str, definite: bool) -> np.ndarray:
    if M.shape != (d, d):
        raise ValueError(
            f"The input dimensionality {M.shape} of the given mahalanobis matrix `{name}` must match the "
            f"dimensionality of the given inputs ({d})."
        )
    if not np.allclose(M, M.T):
        raise ValueError(f"`{name}` is not symmetric.")
    if not is_definite(np.linalg.eigvalsh(M)) and definite:
        raise LinAlgError(
            f"You should provide a strictly positive definite matrix as `{name}`. This one is not definite. Try "
            f"another {name}, or an algorithm that does not require the {name} to be strictly positive definite."
        )
    return M


def _inverse_covariance(points: np.ndarray, name: str, definite: bool) -> np.ndarray:
    X = points if points.ndim == 2 else np.unique(np.concatenate(points), axis=0)
    C = np.atleast_2d(np.cov(X, rowvar=False))
    if not is_definite(np.linalg.eigvalsh(C)):
        if definite:
            raise LinAlgError(
                "Unable to get a true inverse of the covariance matrix since it is not definite. Try another "
                f"`{name}`, or an algorithm that does not require the `{name}` to be strictly positive definite."
            )
        _validate.warn(
            "The covariance matrix is not invertible: using the pseudo-inverse instead.To make the covariance matrix "
            "invertible you can remove any linearly dependent features and/or reduce the dimensionality of your input, "
            "for instance using `sklearn.decomposition.PCA` as a preprocessing step.",
        )
    return linalg.psd_power(C, -1.0)


def distance_bounds(pairs: np.ndarray, bounds: Any, owner: str) -> np.ndarray:
    """(u, l) as distances: given, or the 5th and 95th percentile of those among the points."""
    if bounds is None:
        u, l = gm.Pairs([0], [1], [True]).with_bounds(np.unique(np.concatenate(pairs), axis=0)).bounds
        return np.sqrt([u[0], l[0]])
    note(f"{owner}: bounds are distances here and compared as such; metric-learn compares them with squared distances.")
    bounds = check_array(bounds, ensure_2d=False, ensure_min_samples=0, dtype=float).ravel()
    if bounds.size != 2:
        raise ValueError("`bounds` should be an array-like of two elements.")
    return np.where(bounds == 0, 1e-9, bounds)


def is_definite(eigenvalues: np.ndarray) -> bool:
    """Whether a positive semi-definite matrix is definite, up to rounding; raises when it is neither."""
    tol = np.abs(eigenvalues).max() * len(eigenvalues) * np.finfo(float).eps
    if (eigenvalues < -tol).any():
        raise NonPSDError
    return bool((np.abs(eigenvalues) >= tol).all())


def check_n_components(d: int, n_components: Any) -> int:
    """The number of components, d when None."""
    if n_components is None:
        return d
    if 0 < n_components <= d:
        return n_components
    raise ValueError(f"Invalid n_components, must be in [1, {d}]")


def start(X: np.ndarray, y: Any, init: Any, n_components: int, has_classes: bool = True) -> Any:
    """The start of a descent, for ``init`` of our learners: a name, "auto" resolved, or a given array."""
    n, d = X.shape
    if isinstance(init, np.ndarray):
        return _given_start(check_array(init, copy=True), d, n_components)
    names = ["auto", "pca", "identity", "random"] + (["lda"] if has_classes else [])
    if not isinstance(init, str) or init not in names:
        listed = "', '".join(names)
        raise ValueError(f"`init` must be '{listed}' or a numpy array of shape (n_components, n_features).")
    if init != "auto":
        return init
    if has_classes and n_components <= min(d, len(_validate.labels(y, "start")[0]) - 1):
        return "lda"
    return "pca" if n_components < min(d, n) else "identity"


def _given_start(L: np.ndarray, d: int, n_components: int) -> np.ndarray:
    if L.shape[1] != d:
        raise ValueError(
            f"The input dimensionality ({L.shape[1]}) of the given linear transformation `init` must match the "
            f"dimensionality of the given inputs `X` ({d})."
        )
    if L.shape[0] > L.shape[1]:
        raise ValueError(
            f"The output dimensionality ({L.shape[0]}) of the given linear transformation `init` cannot be greater "
            f"than its input dimensionality ({L.shape[1]})."
        )
    if n_components != L.shape[0]:
        raise ValueError(
            f"The preferred dimensionality of the projected space `n_components` ({n_components}) does not match the "
            f"output dimensionality of the given linear transformation `init` ({L.shape[0]})!"
        )
    return L
