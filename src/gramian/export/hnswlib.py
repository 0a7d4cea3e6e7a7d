"""Learned coordinates in an hnswlib graph."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from gramian._parameters import checked
from gramian.export.columns import single
from gramian.export.maps import isometry
from gramian.export.nearest import Nearest, between, settle
from gramian.export.places import loading, needs, place, readme
from gramian.export.rows import is_path, labels, rows
from gramian.export.words import SOURCE, WORDS
from gramian.persist import replacing
from gramian.search.progress import progress

WIDE = 128
"""Coordinates above which a graph needs more links for the same recall."""

QUERY = """
import gramian as gm, hnswlib
index = hnswlib.Index(space="l2", dim={width})
index.load_index("{name}")
index.set_ef({beam})
ids, sqdist = index.knn_query({metric}.transform([x]), k=10)
"""


@checked(**WORDS)
def to_hnswlib(
    metric: Any,
    X: Any,
    ids: Any = None,
    *,
    path: Any = None,
    out: Any = None,
    n_links: int | None = None,
    ef_construction: int | None = None,
    verbose: bool = False,
    callback: Callable | None = None,
    random_state: int = 0,
) -> Any:
    """Search under a learned metric in hnswlib.

    The index holds Lx, so that its squared L2 distance is d²_M; query it with ``metric.transform(points)``.

    hnswlib holds no linear map, so queries must be transformed first; a metric without an isometry of finite
    dimension (α > 0 outside of the basis of a kernel) is refused.

    Parameters
    ----------
    metric : Metric with finite coordinates, KernelFeatures, fitted learner, or the file of a metric
        What maps the points.
    X : array (n, d), or an iterator of blocks (ids, X)
        The points to put in.
    ids : int64 (n,), optional
        A path in this place is ``path``.
    path, out : path, optional
        Where to write the index, with a README.md beside it; ``out`` is the same. hnswlib does not store its beam:
        the README says which one finds 0.995 of the exact neighbors of 100 queries.
    n_links, ef_construction, random_state
        M, ef_construction and the seed of hnswlib; 16 and 200 up to 128 coordinates, 32 and 400 above, when not given.
    verbose, callback
        A progress bar; ``callback(rows, total)``.

    Returns
    -------
    path, or the index where no path is given

    See Also
    --------
    gramian.to_faiss : Indexes of faiss.
    gramian.HashIndex : Ours, which takes a new metric at once.

    Examples
    --------
    >>> import numpy as np, gramian as gm
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> metric = gm.Mahalanobis.from_matrix(np.diag([1.0, 2.0, 0.0]))
    >>> index = gm.to_hnswlib(metric, X)  # doctest: +SKIP
    >>> ids, sqdist = index.knn_query(metric.transform(X[:2]), 1)  # doctest: +SKIP
    """
    owner = "to_hnswlib"
    ids, path = (None, ids) if is_path(ids) and path is None and out is None else (ids, path)
    target = place(path, out, owner)
    hnswlib = needs("hnswlib", owner, "hnswlib")
    inner = isometry(metric, owner)
    points = rows(X, ids, owner, inner.n_features)
    links, construction = graph_size(inner.width, n_links, ef_construction)
    index = hnswlib.Index(space="l2", dim=inner.width)
    index.init_index(points.total or 1024, M=links, ef_construction=construction, random_seed=random_state)
    near = Nearest(between(single(inner(points.sample(1000)), owner)), 10)
    with progress(owner, points.total, verbose, callback) as report:
        for numbers, X in points.blocks:
            Z = single(inner(X), owner)
            if index.element_count + len(Z) > index.max_elements:
                index.resize_index(2 * (index.element_count + len(Z)))
            index.add_items(Z, labels(numbers, owner), num_threads=1)
            near.add(numbers, Z)
            report(len(numbers))
    if target is None:
        return index
    beam = _settled(index, near)
    with replacing(target, owner) as temporary:
        index.save_index(str(temporary))
    code = QUERY.format(name=target.name, width=inner.width, beam=beam, metric=loading(inner, target))
    readme(target, inner, "the coordinates in an hnswlib index.", code)
    return target


def graph_size(width: int, n_links: int | None, ef_construction: int | None) -> tuple[int, int]:
    """Links of a point and beam of the construction."""
    links, construction = (16, 200) if width <= WIDE else (32, 400)
    return n_links or links, ef_construction or construction


def _settled(index: Any, near: Nearest) -> int:
    def search(beam: int) -> np.ndarray:
        index.set_ef(beam)
        return index.knn_query(near.Q, near.ids.shape[1], num_threads=1)[0]

    beam = settle(search, near.ids)
    index.set_ef(beam)
    return beam


@checked(**SOURCE)
def from_hnswlib(path: Any, dim: int | None = None, *, block: int = 8192) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Blocks (ids, vectors) of an hnswlib index, or of its file.

    Parameters
    ----------
    path : path or hnswlib index
    dim : int
        Width of the vectors, which the file of an index in the space "l2" does not tell.
    block : int
        Vectors at a time.

    Examples
    --------
    >>> import gramian as gm
    >>> blocks = gm.export.from_hnswlib("items.hnsw", dim=384)  # doctest: +SKIP
    >>> index = gm.export.fill(gm.HashIndex(metric), blocks)  # doctest: +SKIP
    """
    index = path
    if isinstance(path, str | Path):
        hnswlib = needs("hnswlib", "from_hnswlib", "hnswlib")
        if dim is None:
            raise TypeError("from_hnswlib: dim must be given, the file of an index does not tell it.")
        index = hnswlib.Index(space="l2", dim=dim)
        index.load_index(str(path))
    numbers = np.sort(np.asarray(index.get_ids_list(), dtype=np.int64))
    for start in range(0, len(numbers), block):
        part = numbers[start : start + block]
        yield part, np.asarray(index.get_items(part), dtype=np.float32)
