"""``fit`` and ``transform`` over blocks."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from gramian import _checks
from gramian._settings import Count, Loudness, require
from gramian.constraints import Labels
from gramian.dask.blocks import OWNER, Blocks, read
from gramian.dask.engine import Here, engine
from gramian.dask.labels import side_of
from gramian.dask.rows import Rows
from gramian.dask.views import View
from gramian.learners.base import MetricLearner, labeled


def fit(
    client: Any,
    learner: Any,
    X: Any,
    y: Any = None,
    *,
    unknown: Any = None,
    block_rows: int | None = None,
    verbose: bool = False,
) -> Any:
    """Learn from points that lie in blocks; the result is the ordinary fitted learner, a plain local value.

    The learner's own problem is solved: what it asks of all points becomes passes over the blocks, and what it asks of
    few points is gathered. Blocks are read again for every pass and pinned nowhere, so a lost worker costs time only.

    Parameters
    ----------
    client : distributed.Client or None
        None: this process, one block after the other.
    learner : MetricLearner, KernelFeatures or DecorrelatedKMeans
        Fitted in place, and returned.
    X : dask array (n, d), array or memory map, paths of ``.npy``, Parquet or Zarr parts, or an iterator of blocks
        An iterator, which can be seen only once, is written to a temporary folder first.
    y : labels (n,) in any of these forms, or Constraints of row numbers
    unknown : label, optional
        What stands for "no label".
    block_rows : int, optional
        Most rows of a block, for arrays and files; blocks of 32 MB when None. A dask array and Parquet have their own.
    verbose : bool
        Show a bar for every pass.

    Examples
    --------
    >>> import numpy as np, gramian as gm
    >>> from gramian.dask import fit
    >>> X, y = gm.datasets.load("iris", return_X_y=True)
    >>> blocks = fit(None, gm.RCA(anchor=0), [X[:60], X[60:]], y)
    >>> bool(np.allclose(blocks.metric_.matrix, gm.RCA(anchor=0).fit(X, y).metric_.matrix))
    True
    """
    from gramian.dask.learners import inner_of

    block_rows = _rows(block_rows, OWNER)
    require(Loudness, verbose, OWNER, "verbose")
    runs = engine(client, bool(verbose))
    blocks = Blocks.of(X, rows=block_rows)
    points = Rows(blocks, runs, View(blocks.columns))
    own = inner_of(learner)
    with _checks.intact(learner):
        if isinstance(learner, MetricLearner):
            _fit_learner(own, points, side_of(y, len(points), runs, learner, unknown))
        else:
            own.fit_blocks(points)
        vars(learner).update(vars(own))
        learner.n_features_in_ = blocks.width
    return learner


def _fit_learner(learner: Any, points: Rows, side: Any) -> None:
    owner = type(learner).__name__
    if len(points) < learner._min_points:
        raise ValueError(f"{owner}: X must hold at least {learner._min_points} points, got {len(points)}.")
    if isinstance(side, Labels):
        points, side = labeled(points, side, owner)
    rng = _checks.random(getattr(learner, "random_state", None), owner)
    learner._fit_checked(points, side, rng)


def transform(client: Any, metric: Any, X: Any, *, block_rows: int | None = None) -> Any:
    """Points in coordinates in which the Euclidean distance is the learned one, block by block when they are asked for.

    Parameters
    ----------
    client : distributed.Client or None
    metric : Metric, or a fitted learner or transformer
    X : as in :func:`fit`

    Returns
    -------
    dask array (n, r) that is not computed yet; without a client an iterator of blocks.

    Examples
    --------
    >>> import numpy as np, gramian as gm
    >>> from gramian.dask import transform
    >>> metric = gm.Mahalanobis.from_matrix(np.diag([4.0, 1.0]))
    >>> [block.tolist() for block in transform(None, metric, [np.eye(2), -np.eye(2)])]
    [[[2.0, 0.0], [0.0, 1.0]], [[-2.0, 0.0], [0.0, -1.0]]]
    """
    engine(client)
    metric = getattr(metric, "metric_", metric)
    fits = hasattr(metric, "pair_sqdist") or hasattr(metric, "fit")  # tables have another transform
    if isinstance(metric, type) or not (fits and hasattr(metric, "transform")):
        raise TypeError(
            f"dask.transform: metric must be a metric, or a fitted learner or transformer, got {_checks.shown(metric)}."
        )
    block_rows = _rows(block_rows, "dask.transform")
    if client is None:
        return _streamed(metric, X, block_rows)
    blocks = Blocks.of(X, rows=block_rows)
    width = transformed(np.zeros((1, blocks.columns)), metric).shape[1]
    import dask
    import dask.array as da

    lazy = dask.delayed(transformed, pure=True)
    value = dask.delayed(metric)
    sizes = np.diff(blocks.edges)
    arrays = [da.from_delayed(lazy(part, value), (int(n), width), float) for part, n in zip(blocks.parts, sizes)]
    return da.concatenate(arrays)


def _rows(block_rows: Any, owner: str) -> int | None:
    """Most rows of a block, checked."""
    require(Count | None, block_rows, owner, "block_rows")
    return block_rows


def _streamed(metric: Any, X: Any, block_rows: int | None) -> Iterator[np.ndarray]:
    """Blocks under the metric, one at a time; those of an iterator are seen once and not kept."""
    if callable(X) or isinstance(X, Iterator):
        parts = X() if callable(X) else X
        if not isinstance(parts, Iterable):
            raise TypeError(f"dask.transform: X must give blocks when it is called, got {_checks.shown(parts)}.")
    else:
        parts = Blocks.of(X, rows=block_rows).parts
    for part in parts:
        yield Here().each(transformed, [(part, metric)])[0]


def transformed(part: Any, metric: Any) -> np.ndarray:
    """A block under the metric, a few rows at a time."""
    X = read(part)
    view = View(X.shape[1])
    out = np.empty((len(X), metric.transform(np.zeros((1, X.shape[1]))).shape[1]))
    for rows, V in view.pieces(X):
        out[rows] = metric.transform(V)
    return out
