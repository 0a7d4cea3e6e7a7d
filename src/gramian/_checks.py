"""The one door: every input is validated here, once.

Each check raises one sentence that names the owner, the argument, what is expected and what came.
"""

from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import sparse


def points(
    X: Any,
    owner: str,
    *,
    n_features: int | None = None,
    allow_sparse: bool = True,
    min_points: int = 1,
    name: str = "X",
) -> Any:
    """Return X as a finite float array (n, d), or CSR when sparse; never a view that we write to."""
    if sparse.issparse(X):
        if not allow_sparse:
            raise TypeError(f"{owner}: {name} must be dense, got a sparse matrix; pass {name}.toarray().")
        X = sparse.csr_array(X)
        X = X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
        values = X.data
    else:
        try:
            X = np.asarray(X)
            if X.dtype.kind == "c":
                raise ValueError("complex numbers")
            X = X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{owner}: {name} must hold real numbers, got {error}.") from error
        values = X
    if X.ndim != 2:
        hint = f" Use {name}.reshape(1, -1) for a single point." if X.ndim == 1 else ""
        raise ValueError(f"{owner}: {name} must have shape (n, d), got shape {X.shape}.{hint}")
    if X.shape[0] < min_points:
        raise ValueError(f"{owner}: {name} must hold at least {min_points} point(s), got {X.shape[0]}.")
    if n_features is not None and X.shape[1] != n_features:
        raise ValueError(f"{owner}: {name} must have {n_features} features, got {X.shape[1]}.")
    if not np.isfinite(values).all():
        raise ValueError(f"{owner}: {name} contains NaN or infinity; impute or drop those rows first.")
    return X


def indices(i: Any, owner: str, name: str, n: int | None = None) -> np.ndarray:
    """Return a 1-D array of nonnegative integer indices, below n when n is given."""
    array = np.asarray(i)
    if array.size == 0:
        array = array.astype(np.intp)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise ValueError(
            f"{owner}: {name} must be a 1-D array of integer indices, got shape {array.shape} and dtype {array.dtype}."
        )
    array = array.astype(np.intp)
    if array.size and array.min() < 0:
        raise ValueError(f"{owner}: {name} must be nonnegative indices, got {array.min()}.")
    if n is not None and array.size and array.max() >= n:
        raise ValueError(f"{owner}: {name} must be below the number of points {n}, got {array.max()}.")
    return array


def labels(y: Any, owner: str, n: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return (classes, codes) of a 1-D label array of any type; every label is a class."""
    array = np.asarray(y)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise ValueError(f"{owner}: labels must be a 1-D array, got shape {array.shape}.")
    if n is not None and array.shape[0] != n:
        raise ValueError(f"{owner}: labels must have one entry per point ({n}), got {array.shape[0]}.")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise ValueError(f"{owner}: labels contain NaN or infinity; name unknown labels with unknown=.")
    return np.unique(array, return_inverse=True)


def number(
    value: Any,
    owner: str,
    name: str,
    *,
    low: float = -np.inf,
    high: float = np.inf,
    open_low: bool = False,
    integer: bool = False,
) -> Any:
    """Return a finite real (or integer) in [low, high], or (low, high] with open_low."""
    kind = Integral if integer else Real
    ok = isinstance(value, kind) and not isinstance(value, bool | np.bool_)
    if not ok or not low <= value <= high or abs(value) == np.inf or (open_low and value == low):
        what = "an integer" if integer else "a number"
        left = "(" if open_low or low == -np.inf else "["
        right = ")" if high == np.inf else "]"
        raise ValueError(f"{owner}: {name} must be {what} in {left}{low}, {high}{right}, got {value!r}.")
    return int(value) if integer else float(value)


def one_of(value: Any, owner: str, name: str, options: tuple) -> Any:
    """Return value when it is one of the options."""
    if isinstance(value, str) and value in options:
        return value
    listed = ", ".join(map(repr, options))
    raise ValueError(f"{owner}: {name} must be one of {listed}, got {value!r}.")


def psd(M: Any, owner: str, name: str = "matrix", d: int | None = None) -> np.ndarray:
    """Return a symmetric positive semi-definite matrix (checked, symmetrized) as float64."""
    M = np.array(M, dtype=np.float64)
    if M.ndim != 2 or M.shape[0] != M.shape[1]:
        raise ValueError(f"{owner}: {name} must be square, got shape {M.shape}.")
    if d is not None and M.shape[0] != d:
        raise ValueError(f"{owner}: {name} must have shape ({d}, {d}), got {M.shape}.")
    if not np.isfinite(M).all():
        raise ValueError(f"{owner}: {name} contains NaN or infinity.")
    scale = np.abs(M).max(initial=0.0)
    if np.abs(M - M.T).max(initial=0.0) > 1e-8 * scale:
        raise ValueError(f"{owner}: {name} must be symmetric.")
    M = (M + M.T) / 2
    if M.size:
        low = np.linalg.eigvalsh(M)[0]
        if low < -1e-8 * scale:
            raise ValueError(f"{owner}: {name} must be positive semi-definite, got eigenvalue {low:.3g}.")
    return M
