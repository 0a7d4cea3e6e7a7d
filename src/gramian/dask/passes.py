"""Passes over the blocks: what is asked of rows where they lie, and the few rows that come into memory."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from gramian.dask import views
from gramian.dask.views import View, packed

if TYPE_CHECKING:
    from gramian.dask.rows import Rows

HELD_BYTES = 128 << 20
"""Rows, in double precision, that the client may hold between two passes."""


def tasks(X: "Rows") -> Iterator[tuple[Any, Any, Any]]:
    """For each block that holds some of the rows: where they stand in X, the part, and which of its rows."""
    edges = X.blocks.edges
    if X.rows is None:
        for start, stop, part in zip(edges[:-1], edges[1:], X.blocks.parts):
            if start < stop:
                yield slice(start, stop), part, None
        return
    order = None if (np.diff(X.rows) >= 0).all() else np.argsort(X.rows, kind="stable")
    numbers = X.rows if order is None else X.rows[order]
    for block, span in X.blocks.cut(numbers):
        places = span if order is None else order[span]
        size = int(edges[block + 1] - edges[block])
        yield places, X.blocks.parts[block], packed(numbers[span] - edges[block], size)


def sending(X: "Rows", wanted: list[np.ndarray]) -> list[tuple]:
    """Tasks in which each block takes out the rows, ascending, that several receivers want."""
    wanted = wanted if X.rows is None else [X.rows[names] for names in wanted]
    if X.rows is not None and not all((np.diff(names) > 0).all() for names in wanted):
        raise ValueError("dask.fit: rows in blocks must ascend here; sort them first.")
    ends = [np.searchsorted(names, X.blocks.edges) for names in wanted]
    found = []
    for block, part in enumerate(X.blocks.parts):
        low = X.blocks.edges[block]
        chosen = [names[at[block] : at[block + 1]] - low for names, at in zip(wanted, ends)]
        if any(len(rows) for rows in chosen):
            found.append((part, [rows.astype(np.int32) for rows in chosen]))
    return found


def total(X: "Rows", function: Any, *args: Any, merge: Any = None, each: Any = None) -> Any:
    """A reduction over the blocks; ``each`` (m, …) is cut along the rows and given to the function."""
    calls = [
        (part, chosen, X.view, *(() if each is None else (each[places],)), *args) for places, part, chosen in tasks(X)
    ]
    return X.engine.total(function, calls, **({} if merge is None else {"merge": merge}))


def laid(X: "Rows", function: Any, *args: Any) -> np.ndarray:
    """One result for each row, in order."""
    places, parts, chosen = zip(*tasks(X))
    found = X.engine.each(function, [(part, rows, X.view, *args) for part, rows in zip(parts, chosen)])
    out = np.empty((len(X), *found[0].shape[1:]), dtype=found[0].dtype)
    for at, result in zip(places, found):
        out[at] = result
    return out


def gathered(X: "Rows") -> np.ndarray:
    """The rows in memory."""
    if len(X) == 0:
        return np.zeros(X.shape)
    if X.minus is None:
        return laid(X, views.rows_of)
    out = np.empty(X.shape)
    for piece, V in differences(X):
        out[piece] = V
    return out


def differences(X: "Rows") -> Iterator[tuple[slice, np.ndarray]]:
    """Differences of rows, a few at a time."""
    assert X.minus is not None
    names, place = np.unique(np.concatenate([X.numbers, X.minus]), return_inverse=True)
    ends, m = stored(X, names), len(X)
    for piece in views.cut(m, X.view.width):
        yield piece, X.view.between(ends[place[:m][piece]], ends[place[m:][piece]])


def few(X: "Rows", names: np.ndarray) -> bool:
    """Whether so many rows of the blocks may be held in memory."""
    return 8 * X.view.width * len(names) <= HELD_BYTES


def stored(X: "Rows", names: np.ndarray) -> np.ndarray:
    """Rows of the blocks, ascending, as they are stored; few of them are held for the next pass."""
    held = X.blocks.held
    if "names" not in held or not np.array_equal(held["names"], names):
        found = laid(replace(X, rows=names, minus=None), views.stored_of)
        if not few(X, names):
            return found
        held.update(names=names, rows=found)
    return held["rows"]


def weighted(S: Any, X: "Rows") -> np.ndarray:
    """S V for weights S (k, m), dense or sparse, of all rows."""
    used = np.arange(S.shape[1])
    if sparse.issparse(S):
        S = sparse.csr_array(S)
        used = np.unique(S.indices)
        S = sparse.csr_array((S.data, np.searchsorted(used, S.indices), S.indptr), shape=(S.shape[0], len(used)))
    some = X if len(used) == len(X) else X[used]
    if some is not X and few(X, used) and (np.diff(some.numbers) > 0).all():
        return weighted_in_pieces(S, stored(X, some.numbers), X.view)
    out = np.zeros((S.shape[0], X.view.size))
    calls, targets = [], []
    S = S.tocsc() if sparse.issparse(S) else S
    for places, part, chosen in tasks(some):
        weights, rows = rows_used(S[:, places])
        targets.append(rows)
        calls.append((part, chosen, X.view, weights))
    for rows, result in zip(targets, X.engine.each(views.product_of, calls)):
        out[rows] += result
    return out


def weighted_in_pieces(S: Any, ends: np.ndarray, view: View) -> np.ndarray:
    """S V of stored rows for sparse weights S, a few of the sums at a time."""
    out = np.empty((S.shape[0], view.size))
    for piece in views.cut(S.shape[0], view.width):
        own = S[piece]
        used, place = np.unique(own.indices, return_inverse=True)
        own = sparse.csr_array((own.data, place, own.indptr), shape=(own.shape[0], len(used)))
        out[piece] = own @ view.of(ends[used])
    return out


def rows_used(weights: Any) -> tuple[Any, Any]:
    """The rows of sparse weights that hold any, and which they are; all of dense ones."""
    if not sparse.issparse(weights):
        return weights, slice(None)
    weights = weights.tocsr()
    rows = np.flatnonzero(np.diff(weights.indptr))
    return weights[rows], rows


def gram(X: "Rows", other: "Rows | None" = None) -> np.ndarray:
    """Σ v wᵀ over the rows."""
    if X.minus is not None:
        from gramian.dask.pairs import pair_gram

        return pair_gram(X)
    return total(X, views.gram_of, None if other is None or other is X else other.view)
