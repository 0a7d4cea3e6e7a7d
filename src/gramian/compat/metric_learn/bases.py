"""The bases of SCML: how many, which ones, and what is wrong with a number, in metric-learn's words."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_array

from gramian import _checks


def integer(estimator: Any, name: str) -> int:
    """A parameter that must be an integer."""
    value = getattr(estimator, name)
    if not isinstance(value, int):
        raise ValueError(f"{name} should be an integer, instead it is of type {type(value)}")
    return value


def given_bases(estimator: Any, d: int) -> Any:
    """The bases that were given, or "local" for those of ours."""
    if isinstance(estimator.basis, np.ndarray):
        basis = check_array(estimator.basis, copy=True)
        if basis.shape[1] != d:
            raise ValueError(
                f"The dimensionality ({basis.shape[1]}) of the provided bases must match the dimensionality of the "
                f"data ({d})."
            )
        return basis
    if estimator.basis not in estimator._authorized_basis:
        names = "', '".join(estimator._authorized_basis)
        raise ValueError(f"`basis` must be one of the options '{names}' or an array of shape (n_basis, n_features).")
    return "local"


def count_from_triplets(estimator: Any, n: int, d: int) -> int:
    """The number of bases from n triplets, 80 d unless it is given."""
    count = _count(estimator, 80 * d)
    if d > n:
        raise ValueError(
            f"Number of features ({d}) is greater than the number of triplets({n}).\nConsider using dimensionality "
            "reduction or using another basis generation scheme."
        )
    return count


def count_from_labels(estimator: Any, X: np.ndarray, y: Any) -> int:
    """The number of bases from points with labels, 20 d unless it is given or there are few points."""
    n_classes = len(np.unique(y))
    most = 2 * X.shape[0] * min(n_classes - 1, X.shape[1])
    count = _count(estimator, min(20 * X.shape[1], most - 1))
    if count < n_classes:
        _checks.warn(
            "The number of basis is less than the number of classes, which may lead to poor discriminative "
            "performance.",
        )
    elif count >= most:
        raise ValueError(f"Not enough samples to generate {count} LDA bases, n_basisshould be smaller than {most}")
    return count


def _count(estimator: Any, default: int) -> int:
    """``n_basis``, or a default that is announced."""
    if estimator.n_basis is not None:
        return integer(estimator, "n_basis")
    _checks.warn(f"As no value for `n_basis` was selected, the number of basis will be set to n_basis= {default}")
    return default
