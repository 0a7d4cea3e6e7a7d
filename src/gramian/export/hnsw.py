"""Learned coordinates in the graphs of hnswlib and usearch."""

from abc import abstractmethod
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from gramian import _validate
from gramian._settings import Count
from gramian.export.base import Map, Place, Reader, Target, delivered
from gramian.export.check import Nearest, between, settle
from gramian.export.points import Stream, labels, rows, single
from gramian.search.row_progress import progress

WIDE = 128
"""Coordinates above which a graph needs more links for the same recall."""
WIDEST_BEAM = 1024
"""The beam of a check: wide enough for 0.99 of the neighbors on hard data."""

HNSWLIB = """
import gramian as gm, hnswlib
index = hnswlib.Index(space="l2", dim={width})
index.load_index("{name}")
index.set_ef({beam})
ids, sqdist = index.knn_query({metric}.transform([x]), k=10)
"""
USEARCH = """
import gramian as gm
from usearch.index import Index
index = Index.restore("{name}")
index.expansion_search = {beam}
ids = index.search({metric}.transform([x])[0].astype("float32"), 10).keys
"""


class Graph(Target):
    """A graph of E(x): subclasses give the engine's index, and how it adds, searches and is saved."""

    query: str
    returns = "path, or the index where no path is given"

    def write(
        self,
        map: Map,
        X: Stream,
        path: Place = None,
        *,
        ids: Any = None,
        n_links: Count | None = None,
        ef_construction: Count | None = None,
        verbose: bool = False,
        callback: Callable[..., Any] | None = None,
        random_state: int = 0,
    ) -> Any:
        points = rows(X, ids, map.owner, map.n_features)
        links, construction = (16, 200) if map.width <= WIDE else (32, 400)
        links = links if n_links is None else _validate.number(n_links, map.owner, "n_links", low=2, integer=True)
        seed = _validate.number(random_state, map.owner, "random_state", low=0, high=2**31 - 1, integer=True)
        settings = links, ef_construction or construction, seed
        index = self.begin(map, points.total or 1024, *settings)
        nearest = Nearest(between(single(map(points.sample(1000)), map.owner)), 10)
        with progress(map.owner, points.total, verbose, callback) as report:
            for numbers, X in points.blocks:
                Z = single(map(X), map.owner)  # (n, r), float32
                self.add(index, labels(numbers, map.owner), Z)
                nearest.add(numbers, Z)
                report(len(numbers))
        beam = settle(lambda beam: self.search(index, nearest.Q, nearest.ids.shape[1], beam), nearest.ids)
        self.search(index, nearest.Q[:1], 1, beam)  # the index keeps the beam it was asked with last
        if path is None:
            return index
        save = lambda file: self.save(index, str(file))  # noqa: E731
        what = f"the coordinates in an index of {self.name}."
        return delivered(path, map, save, what, self.query, width=map.width, beam=beam)

    def reader(self, index: Any, width: int, count: int, fetch: Callable[..., Any], dtype: str = "float32") -> Reader:
        """A written graph, with a wide beam."""
        search = lambda Q, k: self.search(index, np.ascontiguousarray(Q, np.float32), k, max(WIDEST_BEAM, k))  # noqa: E731
        return Reader(width, count, search, lambda ids: np.asarray(fetch(ids)), dtype=dtype, exact=False)

    @abstractmethod
    def begin(self, map: Map, count: int, links: int, construction: int, seed: int) -> Any:
        """An empty index."""

    @abstractmethod
    def add(self, index: Any, ids: np.ndarray, Z: np.ndarray) -> None:
        """Add points."""

    @abstractmethod
    def search(self, index: Any, Q: np.ndarray, k: int, beam: int) -> np.ndarray:
        """Ids of the k nearest; the beam stays."""

    @abstractmethod
    def save(self, index: Any, path: str) -> None:
        """Write a file."""


class Hnswlib(Graph):
    """Search under a learned metric in hnswlib.

    The index holds E(x), so that its squared L2 distance is d²; query it with ``metric.transform(points)``.

    hnswlib holds no map, so queries must be transformed first; a metric without an isometry of finite dimension
    (α > 0 outside of the basis of a kernel) is refused.
    """

    name, package, suffix, query = "hnswlib", "hnswlib", ".hnsw", HNSWLIB
    words = {
        "path": (
            "path, optional; or an hnswlib index to read from",
            """Where to write the index, with a README.md beside it. hnswlib does not store its beam: the README says
            which one finds 0.995 of the exact neighbors of 100 queries.""",
        ),
        "dim": ("int", 'Width of the vectors, which the file of an index in the space "l2" does not tell.'),
    }
    also = """gramian.to_faiss : Indexes of faiss.
gramian.HashIndex : Ours, which takes a new metric at once."""
    example = """
>>> X = np.random.default_rng(0).normal(size=(50, 2))
>>> ids, sqdist = gm.to_hnswlib(metric, X).knn_query(metric.transform(X[:2]), 1)
>>> ids.ravel().tolist()
[0, 1]
"""
    handle = "get_items"
    reads = '"items.hnsw", dim=384'

    def begin(self, map: Map, count: int, links: int, construction: int, seed: int) -> Any:
        index = self.needs(map.owner, "hnswlib").Index(space="l2", dim=map.width)
        index.init_index(count, M=links, ef_construction=construction, random_seed=seed)
        return index

    def add(self, index: Any, ids: np.ndarray, Z: np.ndarray) -> None:
        if index.element_count + len(Z) > index.max_elements:
            index.resize_index(2 * (index.element_count + len(Z)))
        index.add_items(Z, ids, num_threads=1)

    def search(self, index: Any, Q: np.ndarray, k: int, beam: int) -> np.ndarray:
        index.set_ef(beam)
        return index.knn_query(Q, k, num_threads=1)[0].astype(np.int64)

    def save(self, index: Any, path: str) -> None:
        index.save_index(path)

    def open(self, path: Any, map: Map, table: str | None, form: str) -> Reader:
        index = self.needs("check", "hnswlib").Index(space="l2", dim=map.width)
        loaded(index, path, f"check: {str(path)!r} is not an hnswlib index of width {map.width}")
        return self.reader(index, map.width, index.element_count, index.get_items)

    def read(
        self, path: Any, dim: Count | None = None, *, block: Count = 8192
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Blocks (ids, vectors) of an hnswlib index, or of its file."""
        index = path
        if isinstance(path, str | Path):
            if dim is None:
                raise TypeError("from_hnswlib: dim must be given, the file of an index does not tell it.")
            index = self.needs("from_hnswlib", "hnswlib").Index(space="l2", dim=dim)
            loaded(index, path, f"from_hnswlib: {str(path)!r} is not an hnswlib index of width {dim}")
        numbers = np.sort(np.asarray(index.get_ids_list(), dtype=np.int64))  # (n,)
        for start in range(0, len(numbers), block):
            span = numbers[start : start + block]
            yield span, np.asarray(index.get_items(span), dtype=np.float32)


def loaded(index: Any, path: Any, sentence: str) -> None:
    """Fill an index of hnswlib from its file."""
    try:
        index.load_index(str(path))
    except RuntimeError as error:
        raise ValueError(f"{sentence} ({error}).") from error


class Usearch(Graph):
    """A usearch index of E(x) whose squared L2 distance is d²; query it with ``metric.transform(points)``."""

    name, package, suffix, query = "usearch", "usearch.index", ".usearch", USEARCH
    without = ("random_state",)
    words = {
        "path": (
            "path, optional",
            """Where to write the index, with a README.md beside it. usearch does not store its beam: the README says
            which one finds 0.995 of the exact neighbors of 100 queries.""",
        )
    }
    example = """
>>> X = np.random.default_rng(0).normal(size=(50, 2))
>>> gm.export.to_usearch(metric, X).search(metric.transform(X[:1])[0].astype("float32"), 1).keys.tolist()
[0]
"""

    def begin(self, map: Map, count: int, links: int, construction: int, seed: int) -> Any:
        settings = {"connectivity": links, "expansion_add": construction}
        return self.needs(map.owner, "usearch.index").Index(ndim=map.width, metric="l2sq", dtype="f32", **settings)

    def add(self, index: Any, ids: np.ndarray, Z: np.ndarray) -> None:
        index.add(ids.astype(np.uint64), Z, threads=1)

    def search(self, index: Any, Q: np.ndarray, k: int, beam: int) -> np.ndarray:
        index.expansion_search = beam
        return index.search(Q, k, threads=1).keys.astype(np.int64).reshape(len(Q), -1)

    def save(self, index: Any, path: str) -> None:
        index.save(path)

    def open(self, path: Any, map: Map, table: str | None, form: str) -> Reader:
        index = self.needs("check", "usearch.index").Index.restore(str(path))
        if index is None:
            raise ValueError(f"check: {str(path)!r} is not a usearch index.")
        dtype = {"F32": "float32", "F64": "float64", "F16": "float16"}.get(index.dtype.name, index.dtype.name)
        return self.reader(index, index.ndim, len(index), lambda ids: index.get(ids.astype(np.uint64)), dtype)
