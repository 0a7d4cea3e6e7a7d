"""Written files, read back and scanned: no engine is asked but NumPy."""

import json
from pathlib import Path

import numpy as np

from gramian.export import arrow
from gramian.export.places import needs


class HeldParquet:
    """A written Parquet file, as the check asks it: a scan of its column."""

    exact = True

    def __init__(self, path: Path, width: int, table: str = "", form: str = "vector"):
        needs("pyarrow", "check", "parquet")
        import pyarrow.parquet as pq

        self.takes = form
        found = pq.read_table(path)
        name = "learned" if form == "vector" else "original"
        kind = found.schema.field(name).type.value_type
        self.dtype = {"float": "float32", "double": "float64", "halffloat": "float16"}.get(str(kind), str(kind))
        self.ids = found["id"].to_numpy()
        self.values = arrow.matrix(found[name])
        self.norm = found["norm"].to_numpy() if form == "query" else None
        self.count, self.width = self.values.shape

    def fetch(self, ids: np.ndarray) -> np.ndarray:
        """Stored vectors."""
        place = {value: row for row, value in enumerate(self.ids.tolist())}
        return self.values[[place[value] for value in ids.tolist()]]

    def search(self, Q: np.ndarray, k: int) -> np.ndarray:
        """Ids of the k nearest."""
        return self.ids[scan(self.values, self.norm, Q, k)]


class HeldBulk:
    """The documents of a bulk file, read back: no server is asked."""

    exact, dtype = True, "float32"

    def __init__(self, path: Path, width: int, table: str = "items", form: str = "vector"):
        self.takes = form
        name = "learned" if form == "vector" else "original"
        ids, vectors, norms = [], [], []
        with open(path, encoding="utf-8") as lines:
            for line in lines:
                document = json.loads(line)
                if "index" in document:
                    continue
                named = document.get("vectors", document)
                if name not in named:
                    raise ValueError(f"check: {str(path)!r} has documents without {name!r}; export to it first.")
                ids.append(document["properties"]["item"] if "properties" in document else document["id"])
                vectors.append(np.array(named[name], dtype=np.float32))
                norms.append(document.get("norm", 0.0))
        self.ids, self.values = np.array(ids), np.stack(vectors)
        self.norm = np.array(norms, dtype=np.float32) if form == "query" else None
        self.count, self.width = self.values.shape

    def fetch(self, ids: np.ndarray) -> np.ndarray:
        """Stored vectors."""
        place = {name: row for row, name in enumerate(self.ids.tolist())}
        return self.values[[place[name] for name in ids.tolist()]]

    def search(self, Q: np.ndarray, k: int) -> np.ndarray:
        """Ids of the k nearest."""
        return self.ids[scan(self.values, self.norm, Q, k)]


def scan(values: np.ndarray, norm: np.ndarray | None, Q: np.ndarray, k: int) -> np.ndarray:
    """Rows of the k nearest by |z|² − 2qᵀz, or by norm − 2qᵀx, in the precision of the values."""
    sizes = (values * values).sum(axis=1) if norm is None else norm
    scores = sizes[None] - 2 * Q.astype(values.dtype) @ values.T
    return np.argsort(scores, axis=1, kind="stable")[:, :k]
