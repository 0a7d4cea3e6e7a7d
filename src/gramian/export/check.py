"""Ask a written export 100 queries and compare its answers with ours."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from gramian import _settings, _validate, linalg
from gramian._arrays import Array
from gramian.export.base import TARGETS, Map, Place, Reader, Target
from gramian.export.points import Rows, Stream, rows
from gramian.neighbors import smallest

N_QUERIES, K = 100, 10
CLOSE = 1e-5
"""Largest difference of a model in single precision, relative to the largest coordinate."""
FAR = 1e3
"""Distance from the origin, in spreads of the points, from which single precision loses neighbors."""
RECALL = 0.995
"""What a graph must find of its own exact neighbors on the queries that settle its beam."""


@dataclass(frozen=True)
class Report:
    """What a check found: the recall of our neighbors, whether they are the same, and the error of a model."""

    target: str
    queries: int
    k: int
    recall: float
    exact: bool
    error: float | None = field(default=None, kw_only=True)

    @property
    def same(self) -> bool:
        """Whether all neighbors are ours, up to ties in single precision."""
        return self.recall == 1.0

    def __str__(self) -> str:
        verdict = "the same neighbors as ours" if self.same else f"recall {self.recall:.4f} of ours"
        error = "" if self.error is None else f", coordinates within {self.error:.1e}"
        return f"{self.target}: {self.queries} queries × {self.k} neighbors: {verdict}{error}"


@_settings.checked
def check(
    metric: Any,
    target: str,
    path: Place,
    X: Stream | None = None,
    *,
    ids: Any = None,
    table: str | None = None,
    form: str = "vector",
) -> Report:
    """Run 100 queries on an export and compare with exact neighbors under the metric.

    An engine that promises exact answers must give ours, up to neighbors that single precision cannot tell apart; a
    graph is reported with its recall. A wrong width, type or number of rows, and vectors that belong to another metric
    or other data (a stale collection), raise one sentence.

    Parameters
    ----------
    metric : as in the export
    target : str
        One of :data:`gramian.export.TARGETS`.
    path : path or address
        What the export returned.
    X, ids : as in the export
        Models are tried on 2,000 random points when X is not given.
    table, form : as in the export

    Returns
    -------
    Report
        ``recall``, ``same``, and a sentence when printed.

    Examples
    --------
    >>> import numpy as np, gramian as gm, tempfile
    >>> metric = gm.Mahalanobis.from_matrix(np.diag([1.0, 4.0]))
    >>> path = gm.export.to_npz(metric, f"{tempfile.mkdtemp()}/metric.npz")
    >>> print(gm.export.check(metric, "npz", path))
    npz: 100 queries × 10 neighbors: the same neighbors as ours, coordinates within 0.0e+00
    """
    _validate.one_of(target, "check", "target", tuple(TARGETS))
    map, kind = Map.of(metric, "check"), TARGETS[target]
    if not kind.takes_data:
        _settings.require(_settings.Path, path, "check", "path")
        return _check_model(map, kind, Path(path), X)
    if X is None:
        raise ValueError(f"check: X must be given to check {target}.")
    reader = kind.open(path, map, table, form if kind.forms else "vector")
    try:
        return _check_rows(map, target, reader, rows(X, ids, "check", map.n_features))
    finally:
        reader.close()


def _check_model(map: Map, target: Target, path: Path, X: Any) -> Report:
    if X is None:
        X = np.random.default_rng(0).normal(size=(2000, map.n_features or 0))
    if not path.exists():
        raise FileNotFoundError(f"check: nothing at {str(path)!r}; export to it first.")
    points = linalg.dense(rows(X, None, "check", map.n_features).sample(2000)).astype(np.float64)  # (n, d)
    ours, theirs = map(points), np.asarray(target.apply(path, points), dtype=np.float64)
    if theirs.shape != ours.shape:
        raise ValueError(f"check: {path} must map to {ours.shape[1]} coordinates, it maps to {theirs.shape[1]}.")
    moved = theirs - theirs.mean(axis=0) - (ours - ours.mean(axis=0))  # a center moves all points alike
    error = float(np.abs(moved).max() / max(np.abs(ours).max(), np.finfo(float).tiny))
    if error > CLOSE:
        raise ValueError(
            f"check: coordinates of {path} must be ours to {CLOSE:g}, they differ by {error:.1e}; "
            "it belongs to another metric, export again."
        )
    raw, numbers = between(points), np.arange(len(points))  # (m, d), (n,)
    engine = Nearest(np.asarray(target.apply(path, raw), dtype=np.float64), min(K, len(points)))
    engine.add(numbers, theirs)
    answer = Answer(map(raw), engine.ids)
    answer.add(numbers, ours)
    return Report(target.name, len(raw), engine.k, answer.recall(), True, error=error)


def _check_rows(map: Map, target: str, reader: Reader, points: Rows) -> Report:
    raw = points.sample(N_QUERIES * 3)
    # Points between points; the points themselves where they are not vectors.
    raw = raw[:N_QUERIES] if map.n_features is None else between(linalg.dense(raw).astype(np.float64), N_QUERIES)
    _check_kind(reader, target, map.n_features if reader.column == "original" else map.width)
    answer = Answer(map(raw), reader.search(_as_taken(map, reader, raw), min(K, reader.count)))
    total, ids, X = 0, None, None
    for numbers, block in points.blocks:
        answer.add(numbers, map(block))
        ids, X = (numbers[:K], block[:K]) if ids is None else (ids, X)
        total += len(numbers)
    if reader.count != total:
        raise ValueError(
            f"check: {target} must hold {total} rows, it holds {reader.count}; the collection is stale, export again."
        )
    assert ids is not None
    _check_fresh(reader, target, ids, linalg.dense(X) if reader.column == "original" else map(X))
    share = answer.recall()
    if reader.exact and share < 0.999:
        raise ValueError(f"check: {target} must give our neighbors, recall is {share:.4f}; {_reason(map, points)}")
    return Report(target, len(raw), answer.ids.shape[1], share, reader.exact)


def _as_taken(map: Map, reader: Reader, raw: Any) -> np.ndarray:
    """The queries as the target takes them."""
    if reader.takes == "raw":
        return raw
    return np.column_stack(map.formula.query(raw)) if reader.takes == "query" else map(raw)


def _check_kind(reader: Reader, target: str, width: int | None) -> None:
    if reader.dtype != "float32":
        raise ValueError(f"check: vectors of {target} must be float32, they are {reader.dtype}; export again.")
    if reader.width != width:
        raise ValueError(
            f"check: vectors of {target} must have width {width}, they have {reader.width}; the collection is stale or "
            "of another metric, export again."
        )
    if reader.count == 0:
        raise ValueError(f"check: {target} must hold rows, it holds none; export again.")


def _check_fresh(reader: Reader, target: str, ids: np.ndarray, expected: np.ndarray) -> None:
    if reader.fetch is None:
        return
    try:
        stored = np.asarray(reader.fetch(ids), dtype=np.float64)
    except (KeyError, TypeError, RuntimeError) as error:
        raise ValueError(f"check: {target} must hold the id {ids[0]}, it does not; export again.") from error
    apart = np.abs(stored - expected).max(axis=1)  # (k,)
    off = apart > 1e-5 * max(np.abs(expected).max(), np.finfo(float).tiny)
    if off.any():
        raise ValueError(
            f"check: the vector of id {ids[off][0]} in {target} must be that of this metric, it is not; "
            "the collection is stale, export again."
        )


def _reason(map: Map, points: Rows) -> str:
    Z = map(points.sample(1000))  # (n, r)
    spread = max(float(Z.std(axis=0).max()), np.finfo(float).tiny)
    if np.abs(Z.mean(axis=0)).max() > FAR * spread:
        return "the points lie far from the origin, where float32 has no digits left: subtract their mean first."
    return "what is stored is not what was exported; export again."


@dataclass
class Nearest:
    """The k nearest of each query Q (m, r) among all points given to :meth:`add`, ties by id."""

    Q: np.ndarray
    k: int
    ids: np.ndarray = field(init=False)
    sqdist: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        self.ids = np.zeros((len(self.Q), 0), dtype=np.int64)
        self.sqdist = np.zeros((len(self.Q), 0))

    def add(self, ids: np.ndarray, Z: Array) -> None:
        """See a block of points."""
        best, sqdist = smallest(linalg.sqdist(self.Q, np.asarray(Z, np.float64)), min(self.k, len(Z)))
        names = np.concatenate([self.ids, ids[best]], axis=1)  # (m, at most 2k)
        sizes = np.concatenate([self.sqdist, sqdist], axis=1)  # the same, of their distances
        order = np.lexsort((names, sizes), axis=1)[:, : self.k]  # by distance, ties by id
        self.ids = np.take_along_axis(names, order, axis=1)
        self.sqdist = np.take_along_axis(sizes, order, axis=1)


@dataclass
class Answer:
    """The ids that an engine names for the queries Q, and what they are worth among all points that pass by."""

    Q: np.ndarray
    ids: np.ndarray

    def __post_init__(self) -> None:
        self.nearest = Nearest(self.Q, self.ids.shape[1])
        self.sqdist = np.full(self.ids.shape, np.inf)

    def add(self, ids: np.ndarray, Z: np.ndarray) -> None:
        """See a block of points."""
        self.nearest.add(ids, Z)
        order = np.argsort(ids, kind="stable")
        rows = order[np.minimum(np.searchsorted(ids, self.ids, sorter=order), len(ids) - 1)]
        query, rank = np.nonzero(ids[rows] == self.ids)  # those of this block
        self.sqdist[query, rank] = linalg.row_norms(self.Q[query] - Z[rows[query, rank]])

    def recall(self) -> float:
        """Share of answers as near as the true k-th neighbor, to what single precision can tell."""
        edge = self.nearest.sqdist[:, -1:]  # (m, 1)
        slack = 1e-5 * edge + 4e-7 * self.Q.var(axis=0).sum()  # rounding of float32, relative and of the cloud
        return float(np.mean(self.sqdist <= edge + slack))


def between(points: Any, count: int = N_QUERIES) -> np.ndarray:
    """Queries near points and equal to none: 0.9 x_i + 0.1 x_j for rows i and j spread over the points."""
    rows = linalg.spread(len(points), count)  # (m,)
    return 0.9 * points[rows] + 0.1 * points[(rows + max(1, len(points) // 3)) % len(points)]


def settle(search: Callable[[int], np.ndarray], true: np.ndarray, most: int = 8192) -> int:
    """The smallest beam 64, 128, … with which ``search(beam)`` finds the true neighbors."""
    beam = 64
    while beam < most and np.mean([np.isin(t, f).mean() for f, t in zip(search(beam), true)]) < RECALL:
        beam *= 2
    return beam
