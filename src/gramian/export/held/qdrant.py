"""A written Qdrant collection, as the check asks it."""

from typing import Any

import numpy as np

from gramian.export.places import needs
from gramian.export.qdrant import connected, point_ids, vector_sizes


class HeldQdrant:
    """A written collection, as the check asks it."""

    exact = True

    def __init__(self, path: Any, width: int, table: str = "items", form: str = "vector"):
        needs("qdrant_client", "check", "qdrant")
        self.client, self.opened = connected(path, "check")
        self.table, self.takes = table, form
        self.name = "learned" if form == "vector" else "original"
        sizes = vector_sizes(self.client, table) if self.client.collection_exists(table) else {}
        if self.name not in sizes:
            self.close()
            raise ValueError(f"check: collection {table!r} has no vector {self.name!r}; export to it first.")
        self.width, self.count = sizes[self.name], self.client.count(table).count
        self.dtype = "float32"

    def fetch(self, ids: np.ndarray) -> np.ndarray:
        """Stored vectors."""
        found = self.client.retrieve(self.table, ids=point_ids(ids, "check"), with_vectors=[self.name])
        values = {point.id: point.vector[self.name] for point in found}
        return np.array([values[name] for name in point_ids(ids, "check")])

    def search(self, Q: np.ndarray, k: int) -> np.ndarray:
        """Ids of the k nearest."""
        from qdrant_client import models

        found = []
        for q in Q.astype(np.float32).tolist():
            if self.takes == "vector":
                answer = self.client.query_points(self.table, query=q, using="learned", limit=k)
            else:
                near = models.Prefetch(query=q, using="original", limit=self.count)
                norm = models.MultExpression(mult=[-0.5, "norm"])
                formula = models.FormulaQuery(formula=models.SumExpression(sum=["$score", norm]))
                answer = self.client.query_points(self.table, prefetch=near, query=formula, limit=k)
            found.append([(point.payload or {}).get("id", point.id) for point in answer.points])
        return np.array(found)

    def close(self) -> None:
        """Let go of the folder, which one client at a time may open."""
        if self.opened is not None:
            self.client.close()
