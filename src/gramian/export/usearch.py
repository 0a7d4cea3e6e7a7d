"""Learned coordinates in a usearch graph."""

from collections.abc import Callable
from typing import Any

import numpy as np

from gramian._parameters import checked
from gramian.export.columns import single
from gramian.export.hnswlib import graph_size
from gramian.export.maps import isometry
from gramian.export.nearest import Nearest, between, settle
from gramian.export.places import loading, needs, place, readme
from gramian.export.rows import is_path, labels, rows
from gramian.export.words import WORDS
from gramian.persist import replacing
from gramian.search.progress import progress

QUERY = """
import gramian as gm
from usearch.index import Index
index = Index.restore("{name}")
index.expansion_search = {beam}
ids = index.search({metric}.transform([x])[0].astype("float32"), 10).keys
"""


@checked(**WORDS)
def to_usearch(
    metric: Any,
    X: Any,
    path: Any = None,
    *,
    ids: Any = None,
    out: Any = None,
    n_links: int | None = None,
    ef_construction: int | None = None,
    verbose: bool = False,
    callback: Callable | None = None,
) -> Any:
    """A usearch index of Lx whose squared L2 distance is d²_M; query it with ``metric.transform(points)``.

    Parameters
    ----------
    metric : Metric with finite coordinates, KernelFeatures, fitted learner, or the file of a metric
    X : array (n, d), or an iterator of blocks (ids, X)
    path : path, optional
        Where to write the index, with a README.md beside it; ``out`` is the same. usearch does not store its beam:
        the README says which one finds 0.995 of the exact neighbors of 100 queries.
    ids : int64 (n,), optional
    n_links, ef_construction
        Connectivity and expansion of the construction; 16 and 200 up to 128 coordinates, 32 and 400 above.
    verbose, callback
        A progress bar; ``callback(rows, total)``.

    Returns
    -------
    path, or the index where no path is given

    Examples
    --------
    >>> import numpy as np, gramian as gm
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> metric = gm.Mahalanobis.from_matrix(np.diag([1.0, 2.0, 0.0]))
    >>> index = gm.export.to_usearch(metric, X)  # doctest: +SKIP
    >>> index.search(metric.transform(X[:1])[0], 3).keys  # doctest: +SKIP
    """
    owner = "to_usearch"
    ids, path = (path, None) if path is not None and not is_path(path) else (ids, path)
    target = place(path, out, owner)
    usearch = needs("usearch.index", owner, "usearch")
    inner = isometry(metric, owner)
    points = rows(X, ids, owner, inner.n_features)
    links, construction = graph_size(inner.width, n_links, ef_construction)
    index = usearch.Index(ndim=inner.width, metric="l2sq", dtype="f32", connectivity=links, expansion_add=construction)
    near = Nearest(between(single(inner(points.sample(1000)), owner)), 10)
    with progress(owner, points.total, verbose, callback) as report:
        for numbers, X in points.blocks:
            Z = single(inner(X), owner)
            index.add(labels(numbers, owner).astype(np.uint64), Z, threads=1)
            near.add(numbers, Z)
            report(len(numbers))
    beam = _settled(index, near)
    if target is None:
        return index
    with replacing(target, owner) as temporary:
        index.save(str(temporary))
    code = QUERY.format(name=target.name, beam=beam, metric=loading(inner, target))
    readme(target, inner, "the coordinates in a usearch index.", code)
    return target


def _settled(index: Any, near: Nearest) -> int:
    def search(beam: int) -> np.ndarray:
        index.expansion_search = beam
        return index.search(near.Q, near.ids.shape[1], threads=1).keys.reshape(near.ids.shape)

    beam = settle(search, near.ids)
    index.expansion_search = beam
    return beam
