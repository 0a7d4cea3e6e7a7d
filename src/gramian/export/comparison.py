"""Ask a written export 100 queries and compare its answers with ours."""

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from gramian import _checks, _parameters, linalg
from gramian._parameters import checked
from gramian.export.columns import check_query_form
from gramian.export.maps import Isometry, isometry
from gramian.export.nearest import Nearest, between
from gramian.export.rows import rows
from gramian.export.targets import TARGETS
from gramian.export.words import SOURCE, WORDS

N_QUERIES, K = 100, 10
CLOSE = 1e-5
"""Largest difference of a model in single precision, relative to the largest coordinate."""
FAR = 1e3
"""Distance from the origin, in spreads of the points, from which single precision loses neighbors."""


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
        found = "the same neighbors as ours" if self.same else f"recall {self.recall:.4f} of ours"
        error = "" if self.error is None else f", coordinates within {self.error:.1e}"
        return f"{self.target}: {self.queries} queries × {self.k} neighbors: {found}{error}"


@checked(**WORDS)
def check(
    metric: Any,
    target: str,
    path: Any,
    X: Any = None,
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
    _checks.one_of(target, "check", "target", tuple(TARGETS))
    inner = isometry(metric, "check")
    kind = TARGETS[target]
    _parameters.require(SOURCE["path"], path, "check", "path")
    if not kind.takes_data:
        module = import_module(f"gramian.export.{kind.module}")
        return _check_model(inner, target, Path(path), X, getattr(module, f"apply_{kind.function[3:]}"))
    if X is None:
        raise ValueError(f"check: X must be given to check {target}.")
    options = {} if table is None or not kind.table else {"table": table}
    options |= {"form": form} if kind.forms else {}
    home, name = kind.held.split(".")
    held = getattr(import_module(f"gramian.export.held.{home}"), name)(path, inner.width, **options)
    try:
        return _check_rows(inner, target, held, X, ids)
    finally:
        if hasattr(held, "close"):
            held.close()


def _check_model(inner: Isometry, target: str, path: Path, X: Any, apply: Callable) -> Report:
    if X is None:
        X = np.random.default_rng(0).normal(size=(2000, inner.n_features or 0))
    points = linalg.dense(rows(X, None, "check", inner.n_features).sample(2000)).astype(np.float64)
    ours = inner(points)
    theirs = np.asarray(apply(path, points), dtype=np.float64)
    if theirs.shape != ours.shape:
        raise ValueError(f"check: {path} must map to {ours.shape[1]} coordinates, it maps to {theirs.shape[1]}.")
    moved = theirs - theirs.mean(axis=0) - (ours - ours.mean(axis=0))  # a center moves all points alike
    error = float(np.abs(moved).max() / max(np.abs(ours).max(), np.finfo(float).tiny))
    if error > CLOSE:
        raise ValueError(
            f"check: coordinates of {path} must be ours to {CLOSE:g}, they differ by {error:.1e}; "
            "it belongs to another metric, export again."
        )
    raw, k = between(points), min(K, len(points))
    other = Nearest(np.asarray(apply(path, raw), dtype=np.float64), k)
    other.add(np.arange(len(points)), theirs)
    answer = Answer(inner(raw), other.ids)
    answer.add(np.arange(len(points)), ours)
    return Report(target, len(raw), k, answer.recall(), True, error=error)


def _check_rows(inner: Isometry, target: str, held: Any, X: Any, ids: Any) -> Report:
    points = rows(X, ids, "check", inner.n_features)
    raw = _queries(points.sample(N_QUERIES * 3), inner)
    _check_kind(held, target, inner.width if held.takes != "query" else inner.n_features)
    answer = Answer(inner(raw), held.search(_asked(inner, held, raw), min(K, held.count)))
    first, seen = None, 0
    for numbers, block in points.blocks:
        answer.add(numbers, inner(block))
        first = (numbers[:K], block[:K]) if first is None else first
        seen += len(numbers)
    if held.count != seen:
        raise ValueError(
            f"check: {target} must hold {seen} rows, it holds {held.count}; the collection is stale, export again."
        )
    assert first is not None
    _check_fresh(held, target, first[0], linalg.dense(first[1]) if held.takes == "query" else inner(first[1]))
    share = answer.recall()
    if held.exact and share < 0.999:
        raise ValueError(f"check: {target} must give our neighbors, recall is {share:.4f}; {_reason(inner, points)}")
    return Report(target, len(raw), answer.found.shape[1], share, held.exact)


@dataclass
class Answer:
    """The ids that an engine found for the queries Q, and what they are worth among all points that pass by."""

    Q: np.ndarray
    found: np.ndarray

    def __post_init__(self) -> None:
        self.near = Nearest(self.Q, self.found.shape[1])
        self.sqdist = np.full(self.found.shape, np.inf)

    def add(self, ids: np.ndarray, Z: np.ndarray) -> None:
        """See a block of points."""
        self.near.add(ids, Z)
        order = np.argsort(ids, kind="stable")
        at = np.minimum(np.searchsorted(ids, self.found, sorter=order), len(ids) - 1)
        rows = order[at]
        query, place = np.nonzero(ids[rows] == self.found)
        self.sqdist[query, place] = linalg.row_norms(self.Q[query] - Z[rows[query, place]])

    def recall(self) -> float:
        """Share of answers as near as the true k-th neighbor, to what single precision can tell."""
        edge = self.near.sqdist[:, -1:]
        slack = 1e-5 * edge + 4e-7 * self.Q.var(axis=0).sum()
        return float(np.mean(self.sqdist <= edge + slack))


def _queries(sample: Any, inner: Isometry) -> Any:
    """Points between points; the points themselves where they are not vectors."""
    if inner.n_features is None:
        return sample[:N_QUERIES]
    return between(linalg.dense(sample).astype(np.float64), N_QUERIES)


def _asked(inner: Isometry, held: Any, raw: Any) -> np.ndarray:
    """The queries as the target takes them."""
    if held.takes == "raw":
        return raw
    if held.takes == "query":
        check_query_form(inner)
        return raw @ inner.matrix
    return inner(raw)


def _check_kind(held: Any, target: str, width: int | None) -> None:
    if held.dtype != "float32":
        raise ValueError(f"check: vectors of {target} must be float32, they are {held.dtype}; export again.")
    if held.width != width:
        raise ValueError(
            f"check: vectors of {target} must have width {width}, they have {held.width}; the collection is stale or "
            "of another metric, export again."
        )
    if held.count == 0:
        raise ValueError(f"check: {target} must hold rows, it holds none; export again.")


def _check_fresh(held: Any, target: str, ids: np.ndarray, expected: np.ndarray) -> None:
    if not hasattr(held, "fetch"):
        return
    try:
        stored = np.asarray(held.fetch(ids), dtype=np.float64)
    except (KeyError, TypeError, RuntimeError) as error:
        raise ValueError(f"check: {target} must hold the id {ids[0]}, it does not; export again.") from error
    off = np.abs(stored - expected).max(axis=1) > 1e-5 * max(np.abs(expected).max(), np.finfo(float).tiny)
    if off.any():
        raise ValueError(
            f"check: the vector of id {ids[off][0]} in {target} must be that of this metric, it is not; "
            "the collection is stale, export again."
        )


def _reason(inner: Isometry, points: Any) -> str:
    Z = inner(points.sample(1000))
    spread = max(float(Z.std(axis=0).max()), np.finfo(float).tiny)
    if np.abs(Z.mean(axis=0)).max() > FAR * spread:
        return "the points lie far from the origin, where float32 has no digits left: subtract their mean first."
    return "what is stored is not what was exported; export again."
