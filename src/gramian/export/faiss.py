"""A learned metric inside a faiss index, whose file then works without this package."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from gramian import _validate, linalg
from gramian._settings import Count
from gramian.export.base import Map, Place, Reader, Target, delivered, read_file
from gramian.export.check import Nearest, between, settle
from gramian.export.points import Rows, Stream, labels, rows, single
from gramian.search.row_progress import progress

OPTIONS = {"n_links": 32, "ef_construction": 200, "n_bits": 256, "factor": 50, "n_lists": None, "n_probe": None}
TRAINING = 100_000
"""Points that a quantizer is trained on at most."""

RAW = """
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


class Faiss(Target):
    """Search under a learned metric in faiss.

    A faiss index of X whose squared L2 distance is d²(x, y) = |E(x) − E(y)|².

    For a linear metric the map x ↦ L(x − μ) is part of the index (``IndexPreTransform``), and by the angle the division
    by the length too, so that it takes raw queries, and saves and loads in plain faiss. Of a kernel it holds the
    coordinates of X and takes ``metric.transform(queries)``. faiss computes in float32; centering on the mean μ of X
    keeps its digits.
    """

    name, package, suffix = "faiss", "faiss", ".faiss"
    words = {
        "path": (
            "path, optional; or a faiss index to read from",
            """Where to write the index, with a README.md beside it. The beam of a graph and the number of lists to
            look into are then settled so that they find 0.995 of the exact neighbors of 100 queries.""",
        ),
        "kind": (
            '{"flat", "ivf", "hnsw", "lsh"} or a faiss factory string',
            "Exact scan, inverted file (√n lists), HNSW graph, or bits with a flat re-ranking.",
        ),
        "options": (
            "",
            """``n_links`` (HNSW, 32), ``ef_construction`` (HNSW, 200), ``n_lists`` and ``n_probe`` (inverted file, √n
            and √n_lists), ``n_bits`` (LSH, 256), ``factor`` (LSH, candidates per neighbor, 50).""",
        ),
    }
    returns = "path, or the index where no path is given"
    also = """gramian.to_hnswlib : A graph index.
gramian.HashIndex : Ours, which takes a new metric at once."""
    example = """
>>> X = np.random.default_rng(0).normal(size=(50, 2)).astype("float32")
>>> sqdist, ids = gm.to_faiss(metric, X).search(X[:2], 1)
>>> ids.ravel().tolist()
[0, 1]
"""
    handle = "ntotal"
    reads = '"items.faiss"'

    def write(
        self,
        map: Map,
        X: Stream,
        kind: str = "flat",
        path: Place = None,
        *,
        ids: Any = None,
        verbose: bool = False,
        callback: Callable[..., Any] | None = None,
        **options: Any,
    ) -> Any:
        faiss = self.needs(map.owner, "faiss")
        points = rows(X, ids, map.owner, map.n_features)
        index, nearest = _built(faiss, map, points, kind, options, verbose, callback)
        if path is None:
            return index
        _settle(faiss, index, nearest, "n_probe" in options)
        save = lambda file: faiss.write_index(index, str(file))  # noqa: E731
        return delivered(path, map, save, f"a faiss index ({kind}).", MAPPED if map.affine is None else RAW)

    def read(self, path: Any, *, block: Count = 8192) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Blocks (ids, vectors) of a faiss index, or of its file, as they are stored.

        An index that transforms its input yields what lies behind the transform: for one that ``to_faiss`` made these
        are the learned coordinates, whose Euclidean distance is the learned one. What is compressed comes back as it
        was kept, approximately.
        """
        faiss = self.needs("from_faiss", "faiss")
        whole = (
            read_file(faiss.read_index, path, "from_faiss") if isinstance(path, str | Path) else path
        )  # owns what follows
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

    def open(self, path: Any, map: Map, table: str | None, form: str) -> Reader:
        faiss = self.needs("check", "faiss")
        index = faiss.read_index(str(path))
        plain, raw = core(faiss, index), isinstance(index, faiss.IndexPreTransform)
        search = lambda Q, k: index.search(np.ascontiguousarray(Q, np.float32), k)[1]  # noqa: E731
        exact = isinstance(plain, faiss.IndexFlat)
        return Reader(plain.d, index.ntotal, search, takes="raw" if raw else "vector", exact=exact)


def _built(
    faiss: Any,
    map: Map,
    points: Rows,
    kind: str,
    options: dict[str, Any],
    verbose: bool,
    callback: Callable[..., Any] | None,
) -> tuple[Any, Nearest]:
    """The index of all points, and the exact neighbors of some queries in its coordinates."""
    sample = points.sample(TRAINING)
    center = None
    if map.affine is not None and not map.affine.by_angle:
        sample = linalg.dense(sample)  # (n, d)
        center = sample.mean(axis=0, dtype=np.float64)  # μ, (d,)
    Z = _coordinates(map, sample, center)
    core = _index(faiss, kind, map.width, points.total or len(Z), options)
    if not core.is_trained:
        core.train(Z)
    index = faiss.IndexIDMap2(core) if points.named else core
    nearest = Nearest(between(Z), 10)
    with progress(map.owner, points.total, verbose, callback) as report:
        for numbers, X in points.blocks:
            Z = _coordinates(map, X, center)
            index.add_with_ids(Z, labels(numbers, map.owner)) if points.named else index.add(Z)
            nearest.add(numbers, Z)
            report(len(numbers))
    for i, step in enumerate(reversed(_steps(faiss, map, center))):  # the last step lies nearest to the vectors
        if i == 0:
            index = faiss.IndexPreTransform(step, index)
        else:
            index.prepend_transform(step)
    return index, nearest


def _coordinates(map: Map, X: Any, center: np.ndarray | None) -> np.ndarray:
    """E(x), or L(x − μ): another origin, the same distances."""
    if center is None or map.affine is None or map.affine.L is None:
        return single(map(X), map.owner)
    return single((linalg.dense(X) - center) @ map.affine.L.T, map.owner)


def _steps(faiss: Any, map: Map, center: np.ndarray | None) -> list[Any]:
    """What an index does to raw points, in its order."""
    if map.affine is None:
        return []
    L, b, C = map.affine.L, map.affine.b, map.affine.C  # x ↦ Lx + b, its length one, C times it
    steps = [] if L is None else [_linear(faiss, L, b, center)]
    if map.affine.by_angle:
        steps.append(faiss.NormalizationTransform(map.inner_width, 2.0))
    return steps if C is None else [*steps, _linear(faiss, C, None, None)]


def _linear(faiss: Any, L: np.ndarray, b: np.ndarray | None, center: np.ndarray | None) -> Any:
    step = faiss.LinearTransform(L.shape[1], L.shape[0], True)
    b = np.zeros(len(L)) if b is None else b
    faiss.copy_array_to_vector(np.ascontiguousarray(L, np.float32).ravel(), step.A)
    faiss.copy_array_to_vector(np.ascontiguousarray(b if center is None else -L @ center, np.float32), step.b)
    step.is_trained = True
    return step


def _index(faiss: Any, kind: str, d: int, n: int, options: dict[str, Any]) -> Any:
    unknown = set(options) - set(OPTIONS)
    if unknown:
        raise TypeError(f"to_faiss: unknown option {sorted(unknown)[0]!r}; the options are {', '.join(OPTIONS)}.")
    take = OPTIONS | options
    if not isinstance(kind, str):
        raise TypeError(f"to_faiss: kind must be a string, got {_validate.shown(kind)}.")
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


def _settle(faiss: Any, index: Any, nearest: Nearest, fixed: bool) -> None:
    """Give a graph the beam, and an inverted file the number of lists, that find the neighbors of the queries."""
    plain = core(faiss, index)
    queries = np.ascontiguousarray(nearest.Q, np.float32)  # (m, r), behind the steps
    coordinates = index.index if isinstance(index, faiss.IndexPreTransform) else index
    if isinstance(plain, faiss.IndexHNSW):
        settings, name, most = plain.hnsw, "efSearch", 8192
    elif isinstance(plain, faiss.IndexIVF) and not fixed:
        settings, name, most = plain, "nprobe", plain.nlist
    else:
        return

    def search(beam: int) -> np.ndarray:
        setattr(settings, name, min(beam, most))
        return coordinates.search(queries, nearest.k)[1]

    setattr(settings, name, min(most, settle(search, nearest.ids, most)))


def core(faiss: Any, index: Any) -> Any:
    """The index below maps of ids and of points."""
    index = faiss.downcast_index(index)
    while isinstance(index, faiss.IndexPreTransform | faiss.IndexIDMap | faiss.IndexIDMap2):
        index = faiss.downcast_index(index.index)
    return index
