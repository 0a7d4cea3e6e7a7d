"""Written indexes, as the check asks them."""

from pathlib import Path

import numpy as np

from gramian.export.faiss import core
from gramian.export.places import needs


class HeldFaiss:
    """A written faiss index, as the check asks it."""

    dtype = "float32"

    def __init__(self, path: Path, width: int):
        faiss = needs("faiss", "check", "faiss")
        self.index = faiss.read_index(str(path))
        self.takes = "raw" if isinstance(self.index, faiss.IndexPreTransform) else "vector"
        self.count = self.index.ntotal
        plain = core(faiss, self.index)
        self.width = plain.d
        self.exact = isinstance(plain, faiss.IndexFlat)

    def search(self, Q: np.ndarray, k: int) -> np.ndarray:
        """Ids of the k nearest."""
        return self.index.search(np.ascontiguousarray(Q, np.float32), k)[1]


class HeldHnswlib:
    """A written hnswlib index, as the check asks it."""

    dtype, takes, exact = "float32", "vector", False

    def __init__(self, path: Path, width: int):
        hnswlib = needs("hnswlib", "check", "hnswlib")
        self.index = hnswlib.Index(space="l2", dim=width)
        try:
            self.index.load_index(str(path))
        except RuntimeError as error:
            raise ValueError(f"check: {str(path)!r} is not an hnswlib index of width {width} ({error}).") from error
        self.width, self.count = width, self.index.element_count

    def fetch(self, ids: np.ndarray) -> np.ndarray:
        """Stored vectors."""
        return np.asarray(self.index.get_items(ids))

    def search(self, Q: np.ndarray, k: int) -> np.ndarray:
        """Ids of the k nearest, with the beam that is wide enough for 0.99 of them on hard data."""
        self.index.set_ef(max(1024, k))
        return self.index.knn_query(Q, k, num_threads=1)[0].astype(np.int64)


class HeldUsearch:
    """A written usearch index, as the check asks it."""

    takes, exact = "vector", False

    def __init__(self, path: Path, width: int):
        usearch = needs("usearch.index", "check", "usearch")
        index = usearch.Index.restore(str(path))
        if index is None:
            raise ValueError(f"check: {str(path)!r} is not a usearch index.")
        self.index, self.width, self.count = index, index.ndim, len(index)
        self.dtype = {"F32": "float32", "F64": "float64", "F16": "float16"}.get(index.dtype.name, index.dtype.name)

    def fetch(self, ids: np.ndarray) -> np.ndarray:
        """Stored vectors."""
        return np.asarray(self.index.get(ids.astype(np.uint64)))

    def search(self, Q: np.ndarray, k: int) -> np.ndarray:
        """Ids of the k nearest, with the beam that is wide enough for 0.99 of them on hard data."""
        self.index.expansion_search = 1024
        found = self.index.search(np.ascontiguousarray(Q, np.float32), k, threads=1)
        return found.keys.astype(np.int64).reshape(len(Q), -1)
