"""The questions that an index answers: nearest neighbors, all within a radius, and why."""

from collections.abc import Callable, Iterable, Iterator
from typing import Annotated, Any

import numpy as np
from scipy import sparse

from gramian import _threads, linalg
from gramian._arrays import asarray, foreign, namespace, to_numpy
from gramian._settings import Count, Loudness, Rule, Size, checked
from gramian.metrics import Metric
from gramian.search.items import Items, mask_of, positions
from gramian.search.row_progress import progress


def _are_batches(value: Any) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, str | bytes)


Batches = Annotated[Any, Rule("a generator or a list of points", _are_batches)]


class Queries:
    """Answers from the snapshot that stands when a query begins.

    A subclass gives the hooks of :class:`.Index`: ``_check(X)`` at the door, ``_search`` and ``_search_radius``.
    """

    metric: Metric
    _owner: str
    _items: Items
    _check: Any
    _search: Any
    _search_radius: Any

    @checked
    def query(
        self, X: Any, k: Count = 10, *, n_jobs: int | None = None, within: Any = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Ids and squared distances of the k nearest items, ascending, ties by id.

        Parameters
        ----------
        X : points (m, d)
        k : int
            Neighbors per point; all n items when k > n.
        n_jobs : int, optional
            Threads; None is one, −1 all.
        within : array of ids, or of bool (n,) in the order of ``ids``, optional
            Only these items are neighbors.

        Returns
        -------
        ids : int64 (m, min(k, n))
        sqdist : float64 (m, min(k, n))
        """
        items, Q, mask, threads = self._asked(X, within, n_jobs)
        k = min(k, items.n if mask is None else int(mask.sum()))
        if linalg.count(Q) == 0 or k == 0:
            return np.zeros((linalg.count(Q), k), np.int64), np.zeros((linalg.count(Q), k))
        with _threads.beside(threads):
            rows, sqdist = self._search(items, Q, k, mask, threads)
        return answer(names(items, rows), Q), answer(sqdist, Q)

    @checked
    def query_batches(
        self,
        batches: Batches,
        k: Count = 10,
        *,
        n_jobs: int | None = None,
        within: Any = None,
        verbose: Loudness = False,
        callback: Callable[[int, int | None], Any] | None = None,
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Answers of :meth:`query` for one batch of points after the other, for more of them than memory holds.

        Parameters
        ----------
        batches : iterable of points (m, d)
            A generator, or a list, of which the end is known.
        k, n_jobs, within
            As in :meth:`query`.
        verbose, callback
            A progress bar; ``callback(points answered so far, total or None)`` after each batch.
        """
        listed = isinstance(batches, list | tuple) and all(hasattr(X, "__len__") for X in batches)
        total = sum(map(linalg.count, batches)) if listed else None  # type: ignore[arg-type]  # a list then
        with progress(self._owner, total, bool(verbose), callback) as report:
            for X in batches:
                found = self.query(X, k, n_jobs=n_jobs, within=within)
                report(len(found[0]))
                yield found

    @checked
    def query_radius(
        self, X: Any, r: Size, *, n_jobs: int | None = None, within: Any = None
    ) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Ids and squared distances of all items at a distance of at most r, ascending, ties by id.

        Parameters
        ----------
        X : points (m, d)
        r : float
            A distance as ``metric.distance`` gives it, not squared: d ≤ r.
        n_jobs, within
            As in :meth:`query`.

        Returns
        -------
        ids : list of m arrays of int64
        sqdist : list of m arrays of float64
        """
        items, Q, mask, threads = self._asked(X, within, n_jobs)
        if linalg.count(Q) == 0:
            return [], []
        with _threads.beside(threads):
            found = self._search_radius(items, Q, r * r, mask, threads)
        ids = [answer(names(items, rows), Q) for rows, _ in found]
        return ids, [answer(sqdist, Q) for _, sqdist in found]

    def explain(self, q: Any, item: int, *, names: Any = None, by: str = "features") -> Any:
        """What each feature adds to the squared distance of a point and an item; see :meth:`.Metric.explain`.

        :func:`gramian.plotting.shares` draws it.

        Parameters
        ----------
        q : point (d,)
        item : int
            Id of an item.
        names : list of str, optional
            Names of the features: the answer is then a dict, the largest share first.
        by : {"features", "basis"}
            What the distance is shared among; "basis" is for kernels on strings, sets and other objects.
        """
        items = self._items
        row = positions(items, [item], self._owner, "item")
        point = linalg.take(items["points"], row)
        return self.metric.explain(q, point if sparse.issparse(point) else to_numpy(point)[0], names=names, by=by)

    def _asked(self, X: Any, within: Any, n_jobs: int | None) -> tuple[Items, Any, np.ndarray | None, int]:
        """The snapshot that answers, the queries, which items may be found, and the number of threads."""
        threads = _threads.count(n_jobs, self._owner)
        items, Q = self._items, self._check(X)
        items.same_place(Q, self._owner)
        if items.n == 0:
            raise ValueError(f"{self._owner}: the index is empty; add points before a query.")
        items.unchanged(self._owner)
        return items, Q, mask_of(items, within, self._owner), threads


def names(items: Items, rows: Any) -> Any:
    """Ids of positions, where these are."""
    if not foreign(rows):
        return items["ids"][rows]
    return linalg.take(items.cached("ids there", lambda: asarray(items.ids, rows)), rows)


def answer(x: Any, Q: Any) -> Any:
    """An answer as the queries came: on their device, or as a NumPy array."""
    if not foreign(Q):
        return to_numpy(x)
    xp = namespace(x)
    return xp.astype(x, Q.dtype) if xp.isdtype(x.dtype, "real floating") else x
