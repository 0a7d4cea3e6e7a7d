"""The one door: every input is validated here, once.

Each check raises one sentence that names the owner, the argument, what is expected and what came.
"""

import sys
import warnings
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from gramian import _arrays
from gramian._arrays import Array, Matrix
from gramian._settings import shown as shown

LARGEST = 1e300
"""No power of the data may exceed it, or double precision would overflow."""
SINGLE = 1e-15, 1e15
"""Magnitudes whose squares may be taken in single precision."""
CACHED = 1 << 15
"""Numbers that the nearest cache holds together."""


_PACKAGE = str(Path(__file__).parent)


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line of the caller's code that called into the package, however deep we are."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def points(
    X: Any,
    owner: str,
    *,
    n_features: int | None = None,
    allow_sparse: bool = True,
    min_points: int = 1,
    name: str = "X",
    devices: bool = False,
    degree: int = 2,
    learns: bool = False,
) -> Any:
    """Return X as a finite float array (n, d), or CSR when sparse; never a view that we write to.

    With ``devices`` an array of another library stays where it is. ``degree`` is the largest power that X enters in;
    what is learned from must also have a scale at which these powers are not all zero.
    """
    X = placed(X, owner, name, devices)
    if _arrays.foreign(X):
        xp = _arrays.namespace(X)
        X = X if X.dtype in (xp.float32, xp.float64) else xp.astype(X, xp.float64)
    elif sparse.issparse(X):
        if not allow_sparse:
            raise TypeError(f"{owner}: {sparse_refusal(X, name)}")
        X = sparse.csr_array(X)
        if X.dtype.kind == "c":
            raise ValueError(f"{owner}: {name} must hold real numbers, got complex numbers.")
        X = X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
    else:
        try:
            X = np.asarray(X)
            if X.dtype.kind in "cMm":
                raise ValueError("complex numbers" if X.dtype.kind == "c" else "dates or times")
            X = X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{owner}: {name} must hold real numbers, got {error}.") from error
    if X.ndim != 2:
        hint = f" Use {name}.reshape(1, -1) for a single point." if X.ndim == 1 else ""
        raise ValueError(f"{owner}: {name} must have shape (n, d), got shape {X.shape}.{hint}")
    if X.shape[0] < min_points:
        raise ValueError(f"{owner}: {name} must hold at least {min_points} point(s), got {X.shape[0]}.")
    if n_features is not None and X.shape[1] != n_features:
        raise ValueError(f"{owner}: {name} must have {n_features} features, got {X.shape[1]}.")
    return _sound(X, owner, name, degree, learns)


def csr(A: Any, dtype: Any = None) -> sparse.csr_array:
    """A sparse matrix as CSR with each entry once and in order, so that nothing called later tidies it in place."""
    A = sparse.csr_array(A, dtype=dtype)
    if not A.has_canonical_format:
        A = A.copy()  # its arrays are the caller's
        A.sum_duplicates()
    return A


def placed(X: Any, owner: str, name: str = "X", devices: bool = True) -> Any:
    """X where it is with ``devices``; otherwise on the host, or one sentence where that takes a copy."""
    unmasked(X, owner, name)
    if not _arrays.foreign(X):
        return X
    if devices:
        _arrays.precise(X, owner, name)
        return _arrays.detached(X)
    try:
        return np.asarray(X)
    except (TypeError, RuntimeError, ValueError) as error:
        raise TypeError(_arrays.refusal(owner, name, X)) from error


def unmasked(values: Any, owner: str, name: str) -> None:
    """One sentence for a masked array with hidden entries, which would count as the numbers behind the mask."""
    if np.ma.is_masked(values):
        hidden = int(np.asarray(values.mask).sum())
        raise ValueError(f"{owner}: {name} must hold no masked entries, got {hidden}; fill them, or drop those rows.")


def estimator_points(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    reset: bool,
    allow_sparse: bool = True,
    min_points: int = 1,
    degree: int = 2,
    devices: bool = False,
) -> Any:
    """Return X, or (X, y), of an estimator through scikit-learn's ``validate_data``, with our sentences.

    ``degree`` is the largest power that X enters in. With ``reset`` X is what the estimator learns from, so it must
    also have a scale at which these powers are not all zero. With ``devices`` an array of another library stays where
    it is.
    """
    from sklearn.utils.validation import validate_data

    owner = type(estimator).__name__
    X = placed(X, owner, devices=devices)
    unmasked(y, owner, "y")
    if sparse.issparse(X) and X.ndim != 2:
        raise ValueError(f"{owner}: X must have shape (n, d), got shape {X.shape}.")
    if _arrays.foreign(X):
        X = _device_points(estimator, X, reset, min_points, degree)
        return X if y is None else (X, np.asarray(y))
    if getattr(getattr(X, "dtype", None), "kind", "") == "c":
        raise ValueError(f"{owner}: X must hold real numbers, got complex ones. Complex data not supported.")
    if getattr(getattr(X, "dtype", None), "kind", "") in ("M", "m"):
        remedy = "encode them with skrub.TableVectorizer(), or drop them"
        raise ValueError(f"{owner}: X must hold real numbers, got dates or times; {remedy}.")
    if reset and _is_plain(X, y, min_points):
        estimator.n_features_in_ = X.shape[1]
        vars(estimator).pop("feature_names_in_", None)
        X = _sound(X, owner, degree=degree, learns=True)
        return X if y is None else (X, y)
    try:
        checked = validate_data(
            estimator,
            X,
            *(() if y is None else (y,)),
            reset=reset,
            accept_sparse="csr" if allow_sparse else False,
            dtype=[np.float64, np.float32],
            ensure_all_finite=False,
            ensure_min_samples=min_points,
        )
    except (ValueError, TypeError) as error:
        mixed = isinstance(error, np.exceptions.DTypePromotionError)  # columns of a table, with old versions of pandas
        kind = TypeError if isinstance(error, TypeError) and not mixed else ValueError
        raise kind(f"{owner}: {_reason(error, X)}") from error
    X, *rest = (checked,) if y is None else checked
    X = _sound(X, owner, degree=degree, learns=reset)
    return (X, *rest) if rest else X


def _is_plain(X: Any, y: Any, min_points: int) -> bool:
    """Whether scikit-learn would take points and labels as they are and have nothing to say of them."""
    if type(X) is not np.ndarray or X.ndim != 2 or X.dtype not in (np.float64, np.float32):
        return False
    labels = y is None or (type(y) is np.ndarray and y.shape == X.shape[:1] and y.dtype.kind in "biu")
    return labels and X.shape[0] >= min_points and X.shape[1] > 0


def _device_points(estimator: Any, X: Matrix, reset: bool, min_points: int, degree: int) -> Any:
    """The points of an estimator, on a device."""
    owner = type(estimator).__name__
    width = None if reset else getattr(estimator, "n_features_in_", None)
    if X.ndim == 2 and X.shape[1] == 0:
        raise ValueError(f"{owner}: X must have at least one feature, got shape {X.shape}.")
    X = points(X, owner, n_features=width, min_points=min_points, devices=True, degree=degree, learns=reset)
    if reset:
        estimator.n_features_in_ = X.shape[1]
    return X


def _reason(error: Exception, X: Any) -> str:
    """What scikit-learn found wrong, without the data themselves."""
    if "Complex data" in str(error):
        return "y must hold labels, got complex numbers."
    if "inhomogeneous" in str(error):
        return "X and y must be arrays, got rows of different lengths."
    if sparse.issparse(X) and isinstance(error, TypeError):
        return sparse_refusal(X)
    columns = _not_numeric(X)
    if columns:
        listed = ", ".join(columns[:5]) + (f" and {len(columns) - 5} others" if len(columns) > 5 else "")
        reason = f" ({error})" if "argument must be" in str(error) else ""
        return (
            f"X must hold real numbers, but {listed}{reason}; encode them with skrub.TableVectorizer(), or drop them."
        )
    if "convert string" in str(error):
        return f"X must hold real numbers, but {error}."
    if "Expected 2D array" in str(error):
        return f"X must have shape (n, d), got shape {np.shape(X)}. Reshape your data: X.reshape(1, -1) is one point."
    return str(error)


def sparse_refusal(X: Matrix, name: str = "X") -> str:
    """Why a sparse matrix is not taken, and the ways there are."""
    if X.shape[1] <= 1000:
        return f"{name} must be dense, got a sparse matrix; pass {name}.toarray()."
    return (
        f"{name} must be dense, got a sparse matrix of {X.shape[1]:,} columns, too many for a metric on all; take "
        "TruncatedSVD(100) of scikit-learn before it in a pipeline, or learn in the space of a kernel: "
        "Kernelized(learner, Cosine(), rank=200), or ITML(rank=100)."
    )


def _not_numeric(X: Any) -> list[str]:
    """Columns of a frame, or of an array of objects, that are no numbers, each with an example."""
    if hasattr(X, "columns") and hasattr(X, "iloc"):
        columns = {repr(name): np.asarray(X[name]) for name in X.columns}
    elif isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "OUSM":
        columns = {str(j): X[:, j] for j in range(X.shape[1])}
    else:
        return []
    return [f"column {name} holds {_example(cells)}" for name, cells in columns.items() if _example(cells)]


def _example(cells: Any) -> str:
    """The first cell that is no number, as text; nothing where all are."""
    if cells.dtype.kind in "biuf":
        return ""
    if cells.dtype.kind == "M":
        return "dates"
    for cell in cells.tolist():
        try:
            float("nan" if cell is None else cell)
        except (TypeError, ValueError):
            return shown(cell)
    return ""


def _sound(X: Matrix, owner: str, name: str = "X", degree: int = 2, learns: bool = False) -> Any:
    """X when its entries and their powers are finite; in double precision where single would not do."""
    if sparse.issparse(X):
        X = csr(X)
    values = X.data if sparse.issparse(X) else X
    size = largest(values)
    if not np.isfinite(size):
        raise ValueError(f"{owner}: {name} contains NaN or infinity; impute or drop those rows first.")
    high = LARGEST ** (1 / degree)
    if size > high or (learns and 0 < size < 1 / high):
        raise ValueError(
            f"{owner}: {name} must have its largest entry between {1 / high:g} and {high:g}, got {size:.3g}; "
            f"rescale {name}."
        )
    single = "float32" in str(X.dtype) and (size == 0 or SINGLE[0] <= size <= SINGLE[1])
    if single:
        return X
    return (
        _arrays.namespace(X).astype(X, _arrays.namespace(X).float64)
        if _arrays.foreign(X)
        else X.astype(np.float64, copy=False)
    )


def largest(values: Any) -> float:
    """Largest magnitude, NaN where there is one; large arrays in blocks that the cache holds, so read once."""
    if _arrays.foreign(values):
        return float(_arrays.namespace(values).max(abs(values))) if 0 not in values.shape else 0.0
    if values.size <= CACHED or not isinstance(values, np.ndarray):
        return max(float(values.max(initial=0)), -float(values.min(initial=0)))
    step = max(1, CACHED * len(values) // values.size)
    blocks = (values[start : start + step] for start in range(0, len(values), step))
    return float(np.max([(block.max(), -block.min()) for block in blocks]))


def feature_names(names: Any, owner: str, n_features: int | None) -> tuple[str, ...]:
    """Names of columns, one for each feature."""
    if not np.iterable(names):
        raise ValueError(f"{owner}: feature_names must be {n_features} names, got {shown(names)}.")
    words = tuple(str(name) for name in names)
    if len(words) != n_features:
        raise ValueError(f"{owner}: feature_names must be {n_features} names, got {len(words)}.")
    return words


def same_columns(X: Any, names: tuple[str, ...] | None, owner: str, name: str = "X") -> None:
    """Raise where a frame, or one row of it, has other columns than ``names``, or has them in another order."""
    labels = getattr(X, "columns", getattr(X, "index", None)) if hasattr(X, "iloc") else getattr(X, "columns", None)
    if names is None or labels is None or not all(isinstance(label, str) for label in labels):
        return
    labels_ = tuple(labels)
    if labels_ == names:
        return
    absent = [label for label in names if label not in labels_]
    unknown = [label for label in labels_ if label not in names]
    if absent or unknown:
        reason = f"lacks {shown(absent)}" if absent else f"also has {shown(unknown)}"
    else:
        reason = "has them in another order"
    raise ValueError(
        f"{owner}: {name} must have the columns that the metric was learned on, but {reason}; "
        f"take {name}[list(metric.feature_names)]."
    )


def vector(v: Any, owner: str, name: str, size: int | None = None) -> np.ndarray:
    """Return a copy of v as finite float64 numbers (m,), m = size when given."""
    array = plain(v, owner, name)
    if array.dtype.kind not in "biuf" or array.ndim != 1 or (size is not None and len(array) != size):
        wanted = "numbers" if size is None else f"{size} numbers"
        raise ValueError(f"{owner}: {name} must be {wanted} in one row, got shape {array.shape} of {array.dtype}.")
    if not np.isfinite(array).all():
        raise ValueError(f"{owner}: {name} contains NaN or infinity.")
    return array.astype(np.float64)


def indices(i: Any, owner: str, name: str, n: int | None = None) -> np.ndarray:
    """Return a 1-D array of nonnegative integer indices, below n when n is given."""
    array = plain(i, owner, name)
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


def labels(
    y: Any, owner: str, n: int | None = None, unknown: Any = None, numbers: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Return (classes, codes) of 1-D labels of any type; None, and entries equal to ``unknown``, have the code −1.

    Measurements are refused unless ``numbers`` may stand for themselves.
    """
    array = plain(y, owner, "labels")
    if array.dtype.kind == "c":
        raise ValueError(f"{owner}: labels must be classes, got complex numbers.")
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise ValueError(f"{owner}: labels must be a 1-D array, got shape {array.shape}.")
    if n is not None and array.shape[0] != n:
        raise ValueError(f"{owner}: labels must have one entry per point ({n}), got {array.shape[0]}.")
    labeled = np.array([value is not None for value in array]) if array.dtype == object else np.full(len(array), True)
    several = sparse.issparse(unknown) or (hasattr(unknown, "__len__") and not isinstance(unknown, str | bytes))
    if several:
        raise ValueError(f"{owner}: unknown must be one label, got {shown(unknown)}.")
    if unknown is not None:
        labeled &= ~_equal(array, unknown)
    if array.dtype.kind == "f" and not np.isfinite(array[labeled]).all():
        raise ValueError(f"{owner}: labels contain NaN or infinity; name unknown labels with unknown=.")
    codes = np.full(len(array), -1, dtype=np.intp)
    try:
        classes, codes[labeled] = _ranked(array[labeled])
    except TypeError as error:
        kinds = sorted({type(value).__name__ for value in array[labeled]})
        raise ValueError(
            f"{owner}: labels must be of one type, got {', '.join(kinds)}; convert them, or name gaps with unknown=."
        ) from error
    if not numbers:
        refuse_continuous(classes, int(labeled.sum()), owner)
    return classes, codes


def _ranked(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct values, ascending, and the place of each entry among them; by a table for small whole numbers."""
    if values.dtype.kind in "iu" and len(values):
        low, high = int(values.min()), int(values.max())
        if high - low < 4 * len(values) and high < 2**62:
            places = values.astype(np.int64) - low
            used = np.bincount(places) > 0
            return (np.flatnonzero(used) + low).astype(values.dtype), (np.cumsum(used) - 1)[places]
    return np.unique(values, return_inverse=True)


def refuse_continuous(classes: np.ndarray, n: int, owner: str) -> None:
    """Raise when labels are measurements: fractions of which most occur only once."""
    if classes.dtype.kind == "f" and 2 * len(classes) > max(n, 4) and (classes != np.round(classes)).any():
        raise ValueError(
            f"{owner}: labels must be classes, got {len(classes)} different numbers for {n} points, such as "
            f"{classes[0]:g}; use Pairs.from_targets for continuous targets, or give classes as whole numbers or text."
        )


def plain(values: Any, owner: str, name: str) -> np.ndarray:
    """An array of anything that has the shape of one."""
    unmasked(values, owner, name)
    try:
        return np.asarray(_arrays.to_numpy(values))
    except ValueError as error:
        raise ValueError(f"{owner}: {name} must be a 1-D array, got {shown(values)}.") from error


def tuples(values: Any, size: int, owner: str) -> np.ndarray:
    """Return an array (m, size, d) of tuples of points, where these are."""
    if _arrays.foreign(values):
        xp = _arrays.namespace(values)
        _arrays.precise(values, owner, "tuples")
        stacked = xp.astype(_arrays.detached(values), xp.float64)
    else:
        stacked = array(values, owner, "tuples")
    if stacked.ndim != 3 or stacked.shape[1] != size:
        raise ValueError(f"{owner}: tuples must have shape (m, {size}, d), got {stacked.shape}.")
    return stacked


def _equal(array: np.ndarray, value: Any) -> np.ndarray:
    """Where a label equals a value; NaN equals NaN here, and what says neither yes nor no equals itself."""
    nan = isinstance(value, Real) and value != value
    equal = np.asarray(array != array if nan else array == value)
    if equal.dtype != bool:
        equal = np.array([label is value for label in array], dtype=bool)
    return np.broadcast_to(equal, array.shape)


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
    ok = isinstance(value, kind) and not isinstance(value, bool | np.bool_ | np.timedelta64)
    if not ok or not low <= value <= high or abs(value) == np.inf or (open_low and value == low):
        what = "an integer" if integer else "a number"
        left = "(" if open_low or low == -np.inf else "["
        right = ")" if high == np.inf else "]"
        raise ValueError(f"{owner}: {name} must be {what} in {left}{low}, {high}{right}, got {shown(value)}.")
    return int(value) if integer else float(value)


def is_word(value: Any, word: str) -> bool:
    """Whether a setting that may also be an array or a number is this word."""
    return isinstance(value, str) and value == word


def one_of(value: Any, owner: str, name: str, options: tuple[Any, ...]) -> Any:
    """Return value when it is one of the options."""
    if isinstance(value, str) and value in options:
        return value
    listed = ", ".join(map(repr, options))
    raise ValueError(f"{owner}: {name} must be one of {listed}, got {shown(value)}.")


def percentiles(value: Any, owner: str) -> tuple[float, float]:
    """Return two numbers in [0, 100]."""
    two = tuple(value) if isinstance(value, tuple | list | np.ndarray) and len(value) == 2 else ()
    if not two or not all(isinstance(p, Real) and 0 <= float(p) <= 100 for p in two):
        raise ValueError(f"{owner}: percentiles must be two numbers in [0, 100], got {shown(value)}.")
    return float(two[0]), float(two[1])


def array(value: Any, owner: str, name: str) -> np.ndarray:
    """Return a copy of an array of real numbers, float64."""
    value = _arrays.to_numpy(value)
    unmasked(value, owner, name)
    try:
        if np.iscomplexobj(value):
            raise TypeError("complex numbers")
        return np.array(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{owner}: {name} must hold real numbers, got {shown(value)}.") from error


STREAM = 1_735_549_293
"""The seed where none was given: the same call gives the same answer."""


def random(random_state: Any, owner: str) -> np.random.RandomState:
    """The RandomState of a seed, or the one that shares its stream with a RandomState or Generator.

    None is one fixed stream, so that every draw of every call without a seed is the same from one time to the next.
    """
    from sklearn.utils import check_random_state

    if random_state is None:
        return np.random.RandomState(STREAM)
    if isinstance(random_state, np.random.Generator):
        return np.random.RandomState(random_state.bit_generator)
    try:
        return check_random_state(random_state)
    except Exception as error:  # whatever comes of writing it down, too
        raise ValueError(
            f"{owner}: random_state must be None, an integer in [0, 2**32), a RandomState or a Generator, "
            f"got {shown(random_state)}."
        ) from error


def psd(M: Array, owner: str, name: str = "matrix", d: int | None = None) -> np.ndarray:
    """Return a symmetric positive semi-definite matrix (checked, symmetrized) as float64."""
    M = array(M, owner, name)
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
