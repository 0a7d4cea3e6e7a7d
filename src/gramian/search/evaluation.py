"""Scores of a retrieval: recall against exact search, and precision, mAP and R-precision by relevance."""

from typing import Any

import numpy as np

from gramian import _validate
from gramian._settings import Count, checked, shown


@checked
def recall_at_k(found: Any, true: Any, k: Count | None = None) -> float:
    """Mean share of the k true neighbors that stand among the first k found, |F_k ∩ T_k| / |T_k|.

    Parameters
    ----------
    found, true : integer arrays (m, ≥ k)
        Ids in rank order, as ``query`` returns them; ``true`` from an exact index.
    k : int, optional
        All columns of ``true`` when None.

    Examples
    --------
    >>> from gramian.search.evaluation import recall_at_k
    >>> recall_at_k([[3, 1, 2]], [[1, 3, 9]], k=2)
    1.0
    """
    found, true = _numbers(found, "found"), _numbers(true, "true")
    if len(found) != len(true):
        raise ValueError(f"recall_at_k: found and true must have the same rows, got {len(found)} and {len(true)}.")
    k = true.shape[1] if k is None else _validate.number(k, "recall_at_k", "k", low=1, high=true.shape[1], integer=True)
    hits = (found[:, :k, None] == true[:, None, :k]).any(axis=1)
    return float(hits.mean())


def relevance(ids: Any, index_ids: Any, y: Any, y_query: Any) -> np.ndarray:
    """Whether each retrieved item has the label of its query, bool (m, k).

    Parameters
    ----------
    ids : (m, k), from ``query``
    index_ids : (n,), ascending, as ``index.ids``
    y : labels (n,) in the order of ``index_ids``
    y_query : labels (m,)
    """
    ids, own = _numbers(ids, "ids"), _row(index_ids, "index_ids")
    y, y_query = _row(y, "y"), _row(y_query, "y_query")
    if len(y) != len(own) or len(y_query) != len(ids):
        raise ValueError(
            f"relevance: y must have one label per item ({len(own)}) and y_query one per query ({len(ids)}), "
            f"got {len(y)} and {len(y_query)}."
        )
    if own.dtype.kind not in "iu" or (np.diff(own) <= 0).any():
        raise ValueError("relevance: index_ids must be distinct integers, ascending, as index.ids.")
    at = np.minimum(np.searchsorted(own, ids), len(own) - 1)
    if len(own) == 0 or (own[at] != ids).any():
        raise ValueError("relevance: ids must all be among index_ids, got some that are not.")
    return y[at] == y_query[:, None]


@checked
def precision_at_k(relevant: Any, k: Count | None = None) -> float:
    """Mean share of relevant items among the first k.

    Examples
    --------
    >>> from gramian.search.evaluation import precision_at_k
    >>> precision_at_k([[True, False, True, False]], k=2)
    0.5
    """
    relevant = _flags(relevant)
    return float(relevant[:, :k].mean())


def mean_average_precision(relevant: Any, n_relevant: Any = None) -> float:
    """Mean over queries of (1/R) Σ_i [item i relevant] · precision@i.

    Parameters
    ----------
    relevant : bool (m, k), in rank order
    n_relevant : int or (m,), optional
        R, the number of relevant items in the whole index; those retrieved when None. Queries with R = 0 are left out.
    """
    relevant = _flags(relevant)
    R = _totals(relevant, n_relevant)
    precision = np.cumsum(relevant, axis=1) / np.arange(1, relevant.shape[1] + 1)
    return _mean_where(np.divide((precision * relevant).sum(axis=1), np.maximum(R, 1)), R > 0)


def r_precision(relevant: Any, n_relevant: Any = None) -> float:
    """Mean over queries of the precision among the first R items, R the number of relevant ones.

    When fewer than R items were retrieved, those that are missing count as not relevant.
    """
    relevant = _flags(relevant)
    R = _totals(relevant, n_relevant)
    first = np.arange(relevant.shape[1]) < R[:, None]
    return _mean_where((relevant & first).sum(axis=1) / np.maximum(R, 1), R > 0)


def _table(values: Any, name: str, kinds: str, what: str) -> np.ndarray:
    try:
        array = np.asarray(values)
    except ValueError:
        array = np.zeros(0, dtype=object)
    if array.ndim != 2 or array.size == 0 or array.dtype.kind not in kinds:
        raise ValueError(f"evaluation: {name} must be a table (queries, ranks) of {what}, got {shown(values)}.")
    return array


def _numbers(values: Any, name: str) -> np.ndarray:
    return _table(values, name, "iu", "ids")


def _flags(values: Any) -> np.ndarray:
    return _table(values, "relevant", "biu", "True and False").astype(bool)


def _row(values: Any, name: str) -> np.ndarray:
    try:
        array = np.asarray(values)
    except ValueError:
        array = np.zeros((0, 0))
    if array.ndim != 1:
        raise ValueError(f"relevance: {name} must be a row of values, got {shown(values)}.")
    return array


def _totals(relevant: np.ndarray, n_relevant: Any) -> np.ndarray:
    if n_relevant is None:
        return relevant.sum(axis=1)
    R = _validate.plain(n_relevant, "evaluation", "n_relevant")
    if R.dtype.kind not in "iu" or R.shape not in ((), (len(relevant),)):
        raise ValueError(f"evaluation: n_relevant must be an integer, or one for each query, got {shown(n_relevant)}.")
    R = np.broadcast_to(R, len(relevant))
    if (relevant.sum(axis=1) > R).any():
        raise ValueError("evaluation: n_relevant must be at least the number of relevant items retrieved.")
    return R


def _mean_where(values: np.ndarray, keep: np.ndarray) -> float:
    if not keep.any():
        raise ValueError("evaluation: no query has a relevant item.")
    return float(values[keep].mean())
