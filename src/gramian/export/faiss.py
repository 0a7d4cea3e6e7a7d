"""A learned metric inside a faiss index, whose file then works without this package."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from gramian import _checks, linalg
from gramian._parameters import checked
from gramian.export.columns import single
from gramian.export.maps import Isometry, isometry
from gramian.export.nearest import Nearest, between, settle
from gramian.export.places import loading, needs, place, readme
from gramian.export.rows import Rows, is_path, labels, rows
from gramian.export.words import SOURCE, WORDS
from gramian.persist import replacing
from gramian.search.progress import progress

OPTIONS = {"n_links": 32, "ef_construction": 200, "n_bits": 256, "factor": 50, "n_lists": None, "n_probe": None}
TRAINING = 100_000
"""Points that a quantizer is trained on at most."""

LINEAR = """
import faiss
import numpy as np
index = faiss.read_index("{name}")  # takes raw points: the metric is inside
x = np.asarray(x, dtype="float32").reshape(1, -1)
sqdist, ids = index.search(x, 10)
"""
MAPPED = """
import faiss
import gramian as gm
z = {metric}.transform([x]).astype("float32")
index = faiss.read_index("{name}")
sqdist, ids = index.search(z, 10)
"""


@checked(**WORDS)
def to_faiss(
    metric: Any,
    X: Any,
    kind: Any = "flat",
    ids: Any = None,
    *,
    path: Any = None,
    out: Any = None,
    verbose: bool = False,
    callback: Callable | None = None,
    **options: Any,
) -> Any:
    """Search under a learned metric in faiss.

    A faiss index of X whose squared L2 distance is d²_M(x, y) = |Lx − Ly|².

    For a linear metric the map x ↦ L(x − μ) is part of the index (``IndexPreTransform``), so that it takes
    raw queries, and saves and loads in plain faiss. For a KernelMetric with α = 0 the index holds the coordinates of
    X and takes ``metric.transform(queries)``. faiss computes in float32; centering on the mean μ of X keeps its digits.

    Parameters
    ----------
    metric : Metric with finite coordinates, KernelFeatures, fitted learner, or the file of a metric
        What maps the points.
    X : array (n, d), or an iterator of blocks (ids, X)
        The points to put in.
    kind : {"flat", "ivf", "hnsw", "lsh"} or a faiss factory string
        Exact scan, inverted file (√n lists), HNSW graph, or bits with a flat re-ranking. A path here is ``path``.
    ids : int64 (n,), optional
        Ids to return instead of 0 … n − 1.
    path, out : path, optional
        Where to write the index, with a README.md beside it; ``out`` is the same. The beam of a graph and the number of
        lists to look into are then settled so that they find 0.995 of the exact neighbors of 100 queries.
    verbose, callback
        A progress bar; ``callback(rows, total)``.
    **options
        ``n_links`` (HNSW, 32), ``ef_construction`` (HNSW, 200), ``n_lists`` and ``n_probe`` (inverted file, √n and
        √n_lists), ``n_bits`` (LSH, 256), ``factor`` (LSH, candidates per neighbor, 50).

    Returns
    -------
    path, or the index where no path is given

    See Also
    --------
    gramian.to_hnswlib : A graph index.
    gramian.HashIndex : Ours, which takes a new metric at once.

    Examples
    --------
    >>> import numpy as np, gramian as gm
    >>> X = np.random.default_rng(0).normal(size=(50, 3)).astype("float32")
    >>> metric = gm.Mahalanobis.from_matrix(np.diag([1.0, 2.0, 0.0]))
    >>> index = gm.to_faiss(metric, X)  # doctest: +SKIP
    >>> sqdist, ids = index.search(X[:2], 1)  # doctest: +SKIP
    """
    owner = "to_faiss"
    kind, path = ("flat", kind) if is_path(kind) and path is None and out is None else (kind, path)
    target = place(path, out, owner)
    faiss = needs("faiss", owner, "faiss")
    inner = isometry(metric, owner)
    points = rows(X, ids, owner, inner.n_features)
    index, near = _built(faiss, inner, points, kind, options, verbose, callback)
    if target is None:
        return index
    _settle(faiss, index, near, "n_probe" in options)
    with replacing(target, owner) as temporary:
        faiss.write_index(index, str(temporary))
    code = LINEAR if inner.is_linear else MAPPED
    readme(target, inner, f"a faiss index ({kind}).", code.format(name=target.name, metric=loading(inner, target)))
    return target


def _built(
    faiss: Any,
    inner: Isometry,
    points: Rows,
    kind: str,
    options: dict[str, Any],
    verbose: bool,
    callback: Callable | None,
) -> tuple[Any, Nearest]:
    """The index of all points, and the exact neighbors of some queries in its coordinates."""
    sample = linalg.dense(points.sample(TRAINING)) if inner.is_linear else points.sample(TRAINING)
    center = sample.mean(axis=0, dtype=np.float64) if inner.is_linear else None
    Z = _coordinates(inner, sample, center)
    core = _index(faiss, kind, inner.width, points.total or len(Z), options)
    if not core.is_trained:
        core.train(Z)
    index = faiss.IndexIDMap2(core) if points.named else core
    near = Nearest(between(Z), 10)
    with progress(inner.owner, points.total, verbose, callback) as report:
        for numbers, X in points.blocks:
            Z = _coordinates(inner, X, center)
            index.add_with_ids(Z, labels(numbers, inner.owner)) if points.named else index.add(Z)
            near.add(numbers, Z)
            report(len(numbers))
    if center is None:
        return index, near
    return faiss.IndexPreTransform(_transform(faiss, inner.components, center), index), near


def _coordinates(inner: Isometry, X: Any, center: np.ndarray | None) -> np.ndarray:
    if center is None:
        return single(inner(X), inner.owner)
    return single((linalg.dense(X) - center) @ inner.components.T, inner.owner)


def _transform(faiss: Any, L: np.ndarray, center: np.ndarray) -> Any:
    linear = faiss.LinearTransform(L.shape[1], L.shape[0], True)
    faiss.copy_array_to_vector(np.ascontiguousarray(L, np.float32).ravel(), linear.A)
    faiss.copy_array_to_vector(np.ascontiguousarray(-L @ center, np.float32), linear.b)
    linear.is_trained = True
    return linear


def _index(faiss: Any, kind: str, d: int, n: int, options: dict[str, Any]) -> Any:
    unknown = set(options) - set(OPTIONS)
    if unknown:
        raise TypeError(f"to_faiss: unknown option {sorted(unknown)[0]!r}; the options are {', '.join(OPTIONS)}.")
    take = OPTIONS | options
    if not isinstance(kind, str):
        raise TypeError(f"to_faiss: kind must be a string, got {_checks.shown(kind)}.")
    if kind == "flat":
        return faiss.IndexFlatL2(d)
    if kind == "hnsw":
        index = faiss.IndexHNSWFlat(d, take["n_links"])
        index.hnsw.efConstruction = take["ef_construction"]
        return index
    if kind == "ivf":
        lists = take["n_lists"] or max(1, int(np.sqrt(n)))
        index = faiss.index_factory(d, f"IVF{lists},Flat")
        index.nprobe = take["n_probe"] or max(1, int(np.sqrt(lists)))
        return index
    if kind == "lsh":
        index = faiss.IndexRefineFlat(faiss.IndexLSH(d, take["n_bits"]))
        index.k_factor = take["factor"]
        return index
    try:
        return faiss.index_factory(d, kind)
    except RuntimeError as error:
        raise ValueError(
            f"to_faiss: kind must be 'flat', 'ivf', 'hnsw', 'lsh' or a factory string of faiss, got {kind!r}."
        ) from error


def _settle(faiss: Any, index: Any, near: Nearest, fixed: bool) -> None:
    """Give a graph the beam, and an inverted file the number of lists, that find the neighbors of the queries."""
    plain = core(faiss, index)
    queries = np.ascontiguousarray(near.Q, np.float32)
    coordinates = index.index if isinstance(index, faiss.IndexPreTransform) else index
    if isinstance(plain, faiss.IndexHNSW):
        settings, name, most = plain.hnsw, "efSearch", 8192
    elif isinstance(plain, faiss.IndexIVF) and not fixed:
        settings, name, most = plain, "nprobe", plain.nlist
    else:
        return

    def search(beam: int) -> np.ndarray:
        setattr(settings, name, min(beam, most))
        return coordinates.search(queries, near.k)[1]

    setattr(settings, name, min(most, settle(search, near.ids, most)))


@checked(**SOURCE)
def from_faiss(path: Any, *, block: int = 8192) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Blocks (ids, vectors) of a faiss index, or of its file, as they are stored.

    An index that transforms its input yields what lies behind the transform: for one that ``to_faiss`` made these are
    the learned coordinates, whose Euclidean distance is the learned one. What is compressed comes back as it was kept,
    approximately.

    Parameters
    ----------
    path : path or faiss index
    block : int
        Vectors at a time.

    Examples
    --------
    >>> import gramian as gm
    >>> index = gm.export.fill(gm.HashIndex(metric), gm.export.from_faiss("items.faiss"))  # doctest: +SKIP
    """
    faiss = needs("faiss", "from_faiss", "faiss")
    whole = faiss.read_index(str(path)) if isinstance(path, str | Path) else path  # owns the parts looked at below
    index = faiss.downcast_index(whole)
    if isinstance(index, faiss.IndexPreTransform):
        index = faiss.downcast_index(index.index)
    numbers = np.arange(index.ntotal, dtype=np.int64)
    if isinstance(index, faiss.IndexIDMap | faiss.IndexIDMap2):
        numbers = faiss.vector_to_array(index.id_map)
        index = faiss.downcast_index(index.index)
    if isinstance(index, faiss.IndexIVF):
        index.make_direct_map()
    try:
        if index.ntotal:
            index.reconstruct(0)  # one alone can be refused; faiss ends the process when many cannot be given back
    except RuntimeError as error:
        raise ValueError(f"from_faiss: a {type(index).__name__} keeps no vectors to give back.") from error
    for start in range(0, index.ntotal, block):
        count = min(block, index.ntotal - start)
        yield numbers[start : start + count], index.reconstruct_n(start, count)


def core(faiss: Any, index: Any) -> Any:
    """The index below maps of ids and of points."""
    index = faiss.downcast_index(index)
    while isinstance(index, faiss.IndexPreTransform | faiss.IndexIDMap | faiss.IndexIDMap2):
        index = faiss.downcast_index(index.index)
    return index
