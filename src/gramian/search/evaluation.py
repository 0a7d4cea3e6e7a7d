"""Scores of a retrieval: recall against exact search, and precision, mAP and R-precision by relevance."""

from typing import Any

import numpy as np

from gramian import _checks


def recall_at_k(found: Any, true: Any, k: int | None = None) -> float:
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
    found, true = _table(found, "found"), _table(true, "true")
    if len(found) != len(true):
        raise ValueError(f"recall_at_k: found and true must have the same rows, got {len(found)} and {len(true)}.")
    k = true.shape[1] if k is None else _checks.number(k, "recall_at_k", "k", low=1, high=true.shape[1], integer=True)
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
    ids, own, y, y_query = _table(ids, "ids"), np.asarray(index_ids), np.asarray(y), np.asarray(y_query)
    if len(y) != len(own) or len(y_query) != len(ids):
        raise ValueError(
            f"relevance: y must have one label per item ({len(own)}) and y_query one per query ({len(ids)}), "
            f"got {len(y)} and {len(y_query)}."
        )
    return y[np.searchsorted(own, ids)] == y_query[:, None]


def precision_at_k(relevant: Any, k: int | None = None) -> float:
    """Mean share of relevant items among the first k.

    Examples
    --------
    >>> from gramian.search.evaluation import precision_at_k
    >>> precision_at_k([[True, False, True, False]], k=2)
    0.5
    """
    relevant = _table(relevant, "relevant").astype(bool)
    k = relevant.shape[1] if k is None else _checks.number(k, "precision_at_k", "k", low=1, integer=True)
    return float(relevant[:, :k].mean())


def mean_average_precision(relevant: Any, n_relevant: Any = None) -> float:
    """Mean over queries of (1/R) Σ_i [item i relevant] · precision@i.

    Parameters
    ----------
    relevant : bool (m, k), in rank order
    n_relevant : int or (m,), optional
        R, the number of relevant items in the whole index; those retrieved when None. Queries with R = 0 are left out.
    """
    relevant = _table(relevant, "relevant").astype(bool)
    R = _totals(relevant, n_relevant)
    precision = np.cumsum(relevant, axis=1) / np.arange(1, relevant.shape[1] + 1)
    return _mean_where(np.divide((precision * relevant).sum(axis=1), np.maximum(R, 1)), R > 0)


def r_precision(relevant: Any, n_relevant: Any = None) -> float:
    """Mean over queries of the precision among the first R items, R the number of relevant ones.

    When fewer than R items were retrieved, those that are missing count as not relevant.
    """
    relevant = _table(relevant, "relevant").astype(bool)
    R = _totals(relevant, n_relevant)
    first = np.arange(relevant.shape[1]) < R[:, None]
    return _mean_where((relevant & first).sum(axis=1) / np.maximum(R, 1), R > 0)


def _table(values: Any, name: str) -> np.ndarray:
    array = np.asarray(values)
    if array.ndim != 2 or array.size == 0:
        raise ValueError(f"evaluation: {name} must be a table (queries, ranks), got shape {array.shape}.")
    return array


def _totals(relevant: np.ndarray, n_relevant: Any) -> np.ndarray:
    if n_relevant is None:
        return relevant.sum(axis=1)
    R = np.broadcast_to(np.asarray(n_relevant), len(relevant))
    if (relevant.sum(axis=1) > R).any():
        raise ValueError("evaluation: n_relevant must be at least the number of relevant items retrieved.")
    return R


def _mean_where(values: np.ndarray, keep: np.ndarray) -> float:
    if not keep.any():
        raise ValueError("evaluation: no query has a relevant item.")
    return float(values[keep].mean())
