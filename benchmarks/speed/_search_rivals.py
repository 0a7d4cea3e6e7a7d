"""Other engines for the search benchmark: how each is built, and its settings in order of cost."""

from collections.abc import Callable
from typing import Any

import numpy as np

K = 10
FACTORS = (2, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 256, 512)
BEAMS = (10, 20, 40, 60, 80, 120, 160, 320, 640)


def rivals(d: int) -> dict[str, tuple[Callable, list, float]]:
    """Method → (build on points, [(setting, function of index → search)], bytes per item)."""
    import faiss

    faiss.omp_set_num_threads(1)
    row, lsh = 4 * d, max(256, -(-d // 64) * 64)
    plain = [("-", lambda index: lambda Q: index.search(Q, K)[1])]
    short = d / 8 + 8
    return {
        "faiss Flat": (lambda X: _added(faiss.IndexFlatL2(d), X), plain, row),
        "scikit-learn brute": (_sklearn, [("-", lambda index: lambda Q: index.kneighbors(Q)[1])], row),
        "faiss LSH + refine": (lambda X: _Refined(faiss.IndexLSH(d, lsh), X), _factors(), row + lsh / 8),
        "faiss RaBitQ + refine": (lambda X: _Refined(faiss.IndexRaBitQ(d), X), _factors(), row + short),
        "faiss RaBitQ fast scan + refine": (
            lambda X: _Refined(faiss.IndexRaBitQFastScan(d), X),
            _factors(),
            row + short,
        ),
        "faiss IVF-RaBitQ fast scan + refine": (_ivf, _probes(), row + short + 8),
        "faiss IVFFlat": (_ivf_flat, [_lists(p) for p in (4, 8, 12, 16, 24, 32, 48, 64, 96, 128)], row + 8),
        "faiss HNSW": (lambda X: _added(faiss.IndexHNSWFlat(d, 32), X), [_beam(e) for e in BEAMS], row + 4 * 64),
        "hnswlib": (_hnswlib, [_ef(e) for e in BEAMS], row + 4 * 34),
        "usearch": (_usearch, [_expansion(e) for e in BEAMS], row + 4 * 34),
    }


def _added(index: Any, X: np.ndarray) -> Any:
    index.train(X)
    index.add(X)
    return index


class _Refined:
    """Codes whose candidates are compared again by the points; faiss keeps no reference to the parts."""

    def __init__(self, inner: Any, X: np.ndarray, *parts: Any) -> None:
        import faiss

        self.inner = inner
        self.parts = parts
        self.whole = _added(faiss.IndexRefineFlat(inner), X)

    def search(self, Q: np.ndarray, factor: int) -> np.ndarray:
        self.whole.k_factor = factor
        return self.whole.search(Q, K)[1]


def _ivf(X: np.ndarray) -> Any:
    import faiss

    quantizer = faiss.IndexFlatL2(X.shape[1])
    inner = faiss.IndexIVFRaBitQFastScan(quantizer, X.shape[1], int(np.sqrt(len(X))))
    return _Refined(inner, X, quantizer)


class _Lists:
    """An inverted file of the points themselves; faiss keeps no reference to the quantizer."""

    def __init__(self, X: np.ndarray) -> None:
        import faiss

        self.quantizer = faiss.IndexFlatL2(X.shape[1])
        self.whole = _added(faiss.IndexIVFFlat(self.quantizer, X.shape[1], int(np.sqrt(len(X)))), X)

    def search(self, Q: np.ndarray, lists: int) -> np.ndarray:
        self.whole.nprobe = lists
        return self.whole.search(Q, K)[1]


def _ivf_flat(X: np.ndarray) -> Any:
    return _Lists(X)


def _lists(lists: int) -> tuple:
    return f"{lists} lists", lambda index: lambda Q: index.search(Q, lists)


def _sklearn(X: np.ndarray) -> Any:
    from sklearn.neighbors import NearestNeighbors

    return NearestNeighbors(n_neighbors=K, algorithm="brute").fit(X)


def _hnswlib(X: np.ndarray) -> Any:
    import hnswlib

    index = hnswlib.Index("l2", X.shape[1])
    index.init_index(len(X), M=16, ef_construction=100)
    index.add_items(X, num_threads=1)
    return index


def _usearch(X: np.ndarray) -> Any:
    from usearch.index import Index

    index = Index(ndim=X.shape[1], metric="l2sq", dtype="f32", connectivity=16, expansion_add=100)
    index.add(np.arange(len(X)), X, threads=1)
    return index


def _factors() -> list:
    def prepare(factor: int) -> Callable:
        return lambda index: lambda Q: index.search(Q, factor)

    return [(f"{factor} candidates per neighbor", prepare(factor)) for factor in FACTORS]


def _probes() -> list:
    def prepare(probes: int, factor: int) -> Callable:
        def search(index: Any) -> Callable:
            index.inner.nprobe = probes
            return lambda Q: index.search(Q, factor)

        return search

    pairs = [(4, 8), (8, 8), (8, 16), (16, 16), (16, 32), (32, 16), (32, 32), (64, 32), (128, 64)]
    return [(f"{p} lists, {f} candidates", prepare(p, f)) for p, f in pairs]


def _beam(ef: int) -> tuple:
    def prepare(index: Any) -> Callable:
        index.hnsw.efSearch = ef
        return lambda Q: index.search(Q, K)[1]

    return f"beam {ef}", prepare


def _ef(ef: int) -> tuple:
    return f"beam {ef}", lambda index: index.set_ef(ef) or (lambda Q: index.knn_query(Q, K, num_threads=1)[0])


def _expansion(ef: int) -> tuple:
    def prepare(index: Any) -> Callable:
        index.expansion_search = ef
        return lambda Q: index.search(Q, K, threads=1).keys

    return f"beam {ef}", prepare
