"""``fit`` and ``transform`` over blocks: sums where the problem is sums, and rows in memory elsewhere.

Closed forms see all rows, as moments of groups (:class:`~gramian.learners.task.Sums`). Other learners see the rows that
their constraints speak of, or a sample by class, and the weight of a prior is chosen on such rows. Up to so many rows
it is the local fit.
"""

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from gramian import _settings, _validate
from gramian.clustering import DecorrelatedKMeans
from gramian.constraints import Chunklets, Constraints, Feedback, Labels
from gramian.coordinates import Plain, Rest
from gramian.dask.blocks import Blocks, pieces_of
from gramian.dask.cluster import computed, require_client
from gramian.dask.samples import some_rows
from gramian.dask.sources import OWNER, as_array, spooled
from gramian.features import KernelFeatures
from gramian.learners import Learner
from gramian.learners.base import in_subspace, keep, plan, task_of
from gramian.learners.door import enter, require_kind
from gramian.learners.task import Sums, Task

SAMPLE = 100_000
"""Rows that a learner sees in memory, where it does not learn from sums."""
SMALLER = "give a smaller sample"


def fit(
    client: Any,
    learner: Learner,
    X: Any,
    y: Any = None,
    *,
    unknown: Any = None,
    sample: int = SAMPLE,
    block_rows: int | None = None,
    verbose: bool = False,
) -> Any:
    """Learn from points that lie in blocks; the result is the ordinary fitted learner, a plain local value.

    Up to ``sample`` rows are fitted in memory as ever. Of more, RCA, PLDA, Covariance, and GMML from pairs learn from
    sums over all rows. Learners from pairs and comparisons see all rows that these speak of. Others see a sample by
    class, which a warning says, and so does the choice of the weight of a prior (``anchor="auto"``).

    Parameters
    ----------
    client : distributed.Client or None
        None: dask's own scheduler in this process.
    learner : Learner, KernelFeatures or DecorrelatedKMeans
        Fitted in place, and returned.
    X : dask array or frame (n, d), array, memory map, paths of ``.npy`` files, or iterator of blocks
        An iterator, which can be seen only once, is written to a temporary folder first.
    y : labels (n,) in any of these forms, or Constraints of row numbers
    unknown : label, optional
        What stands for "no label".
    sample : int
        Rows that are seen in memory.
    block_rows : int, optional
        Most rows of a block, for arrays and files; blocks of 32 MB when None. A dask array has its own.
    verbose : bool
        Show a bar for every pass.

    Examples
    --------
    >>> import numpy as np, gramian as gm
    >>> from gramian.dask import fit
    >>> X, y = gm.datasets.load("iris", return_X_y=True)
    >>> blocks = fit(None, gm.RCA(anchor=0), [X[:60], X[60:]], y, sample=50)
    >>> bool(np.allclose(blocks.metric_.matrix, gm.RCA(anchor=0).fit(X, y).metric_.matrix))
    True
    """
    if not isinstance(learner, Learner | KernelFeatures | DecorrelatedKMeans):
        wanted = "a Learner, KernelFeatures or DecorrelatedKMeans"
        raise TypeError(f"{OWNER}: learner must be {wanted}, got {_validate.shown(learner)}.")
    require_client(client)
    block_rows = rows_of_block(block_rows, OWNER)
    _settings.require(bool, verbose, OWNER, "verbose")
    sample = _validate.number(sample, OWNER, "sample", low=1, high=2**62, integer=True)
    with spooled(X, "X") as X, spooled(y, "y") as y:
        blocks = Blocks(as_array(X, rows=block_rows), client, verbose)
        return learn(learner, blocks, known_of(y, blocks), unknown, sample)


def rows_of_block(block_rows: Any, owner: str) -> int | None:
    """Most rows of a block, checked."""
    return None if block_rows is None else _validate.number(block_rows, owner, "block_rows", low=1, integer=True)


def known_of(y: Any, blocks: Blocks) -> Any:
    """Constraints as they are, and labels in memory from wherever they lie."""
    if y is None or isinstance(y, Constraints | Feedback | Labels):
        return y
    paths = y if isinstance(y, list | tuple) else []
    files = bool(paths) and all(isinstance(path, str | os.PathLike) and str(path).endswith(".npy") for path in paths)
    if files or hasattr(y, "to_delayed") or isinstance(y, str | os.PathLike | np.memmap):
        return computed(blocks.client, [as_array(y, "y", ndim=1)], blocks.verbose)[0]
    return y


def learn(learner: Any, blocks: Blocks, y: Any, unknown: Any, sample: int) -> Any:
    """Fit in memory where the rows are few, and on some rows with sums over all of them elsewhere."""
    owner, options = type(learner).__name__, {} if unknown is None else {"unknown": unknown}
    if blocks.n <= sample or isinstance(y, Feedback):
        return learner.fit(blocks.rows(None, owner, SMALLER), *answers(learner, y), **options)
    side = side_of(learner, y, blocks, unknown)
    by_class = isinstance(learner, Learner) and learner.traits.by_class and learner.traits.labels == "classes"
    whole = isinstance(side, Labels) and int((side.codes >= 0).sum()) <= sample  # all labeled rows

    def drawn() -> tuple[np.ndarray, Any]:
        rng = _validate.random(getattr(learner, "random_state", None), owner)
        rows, side_of_rows = some_rows(side, blocks.n, sample, by_class, rng)
        return rows, values_of(y)[rows] if isinstance(side_of_rows, Labels) else side_of_rows

    if isinstance(learner, Learner) and not whole and by_sums(learner, side):
        return fit_sums(learner, blocks, side, drawn, unknown)
    rows, side_of_rows = drawn()
    if not whole and (isinstance(side, Chunklets) or not isinstance(side, Constraints)):
        by_group = isinstance(side, Chunklets) or (isinstance(side, Labels) and by_class)
        how = "by class" if by_group else "at random"
        warn_of_sample(f"{owner}: learns from", len(rows), blocks.n, f"drawn {how}; give a larger sample for more")
    learner.fit(blocks.rows(rows, owner, SMALLER), *answers(learner, side_of_rows), **options)
    if isinstance(learner, DecorrelatedKMeans):
        learner.labels_ = labels_of(learner, blocks)
    return learner


def answers(learner: Learner, y: Any) -> tuple[Any, ...]:
    """What is known, as an argument of ``fit`` where that takes one."""
    return (y,) if isinstance(learner, Learner) else ()


def side_of(learner: Learner, y: Any, blocks: Blocks, unknown: Any) -> Labels | Constraints | None:
    """Labels or constraints of the rows, checked; None where a learner asks for nothing."""
    owner = type(learner).__name__
    if not isinstance(learner, Learner) or learner.traits.labels == "none":
        return None
    if y is None:
        raise ValueError(f"{owner}: requires y, got None; give labels or constraints with row numbers to {OWNER}.")
    if isinstance(y, Constraints):
        require_kind(learner, y)
        return y.check(blocks.X, owner, fill=False)
    return Labels.from_array(y, owner, blocks.n, unknown, learner.traits.labels == "numbers").by_appearance()


def values_of(y: Any) -> np.ndarray:
    """Labels as an array."""
    return y.classes[y.codes] if isinstance(y, Labels) else np.asarray(y)


def warn_of_sample(what: str, count: int, n: int, remedy: str) -> None:
    """Say how many rows were seen."""
    _validate.warn(f"{what} {count:,} of the {n:,} rows, {remedy}.")


def labels_of(clusterings: Any, blocks: Blocks) -> np.ndarray:
    """Labels of all rows, from the clusters that were found on some."""
    width = clusterings.labels_.shape[1]
    lazy = blocks.X.map_blocks(
        clusterings.predict, dtype=np.int32, chunks=(blocks.X.chunks[0], (width,)), meta=np.zeros((0, width), np.int32)
    )
    return np.asarray(computed(blocks.client, [lazy], blocks.verbose)[0])


def by_sums(learner: Learner, side: Any) -> bool:
    """Whether all rows count: in a problem of groups of rows, or in a blend where constraints tell which others do."""
    if learner.traits.summed:
        return True
    return isinstance(side, Constraints) and not isinstance(side, Chunklets) and not learner.traits.lifts


def fit_sums(learner: Any, blocks: Blocks, side: Any, drawn: Callable[[], tuple[Any, ...]], unknown: Any) -> Any:
    """The metric of sums over all rows, and of those rows that constraints speak of.

    For labels and chunklets some rows come into memory only where the weight of the prior is to be chosen.
    """
    owner, d, grouped = type(learner).__name__, blocks.d, learner.traits.summed
    with _settings.intact(learner):
        blends = learner.blends(side)
        X, y = np.zeros((0, d)), side  # no row is needed where sums are all there is
        if not grouped or (blends and isinstance(learner.anchor, str)):
            rows, y = drawn()
            if grouped:
                choice = f"{owner}: chooses the weight of the prior on"
                warn_of_sample(choice, len(rows), blocks.n, "give anchor a number, or a larger sample")
            remedy = SMALLER if grouped else "give fewer constraints"
            X, y = enter(learner, blocks.rows(rows, owner, remedy), y, unknown)
        learner.n_features_in_ = d
        covariance = grouped or blends or _validate.is_word(learner.prior, "covariance")
        sums = sums_of(learner, blocks, side) if covariance and not in_subspace(learner) else None
        task = task_of(learner, X, y, sums)
        keep(learner, task.rest.coordinates, plan(learner, y).solve(task))
        learner._learn_to_decide(task)
    return learner


def sums_of(learner: Learner, blocks: Blocks, side: Constraints) -> Sums:
    """What is asked of all rows; unlabeled ones do not count."""
    counted = side.codes >= 0 if isinstance(side, Labels) else np.ones(blocks.n, dtype=bool)
    groups = None
    if hasattr(learner, "chunklets"):
        empty = np.zeros((0, blocks.d))
        rng = _validate.random(learner.random_state, type(learner).__name__)
        groups = learner.chunklets(Task(empty, side, Rest(Plain(blocks.d), empty, empty), rng))
    return blocks.sums(groups, counted)


def transform(client: Any, metric: Any, X: Any, *, block_rows: int | None = None) -> Any:
    """Points in coordinates in which the Euclidean distance is the learned one, block by block when they are asked for.

    Parameters
    ----------
    client : distributed.Client or None
    metric : Metric, or a fitted learner or transformer
    X : as in :func:`fit`
    block_rows : int, optional
        As in :func:`fit`.

    Returns
    -------
    dask array (n, r) that is not computed yet.

    Examples
    --------
    >>> import numpy as np, gramian as gm
    >>> from gramian.dask import transform
    >>> metric = gm.Mahalanobis.from_matrix(np.diag([4.0, 1.0]))
    >>> [block.compute().tolist() for block in transform(None, metric, [np.eye(2), -np.eye(2)]).blocks]
    [[[2.0, 0.0], [0.0, 1.0]], [[-2.0, 0.0], [0.0, -1.0]]]
    """
    require_client(client)
    metric = getattr(metric, "metric_", metric)
    fits = hasattr(metric, "pair_sqdist") or hasattr(metric, "fit")  # tables have another transform
    if isinstance(metric, type) or not (fits and hasattr(metric, "transform")):
        raise TypeError(
            "dask.transform: metric must be a metric, or a fitted learner or transformer, "
            f"got {_validate.shown(metric)}."
        )
    array = as_array(X, rows=rows_of_block(block_rows, "dask.transform"))
    width = metric.transform(np.zeros((1, array.shape[1]))).shape[1]  # r
    shape = {"chunks": (array.chunks[0], (width,)), "dtype": np.float64, "meta": np.zeros((0, width))}
    return array.map_blocks(transformed, metric=metric, width=width, **shape)


def transformed(block: Any, metric: Any, width: int) -> np.ndarray:
    """A block under the metric, a few rows at a time."""
    out = np.empty((len(block), width))  # (n, r)
    for rows, X in pieces_of(block):
        out[rows] = metric.transform(X)
    return out
