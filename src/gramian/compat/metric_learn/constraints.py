"""Pairs, chunks and triplets from labels, negative labels being unknown."""

from typing import Any

import numpy as np

from gramian import _validate
from gramian.compat.metric_learn.settings import renamed, whole
from gramian.constraints import Chunklets, Labels
from gramian.constraints.sampling import dissimilar_pairs, similar_pairs
from gramian.learners.neighbor_targets import neighbor_triplets


class Constraints:
    """What labels say about points: negative ones say nothing.

    Parameters
    ----------
    partial_labels : array (n,)
        Integers; labels that are not numbers are taken as classes too.
    """

    def __init__(self, partial_labels: Any):
        labels = np.asanyarray(partial_labels)
        if labels.dtype.kind not in "biuf":
            labels = _validate.labels(labels, "Constraints")[1]
        self.partial_labels = labels.astype(int)

    @property
    def _labels(self) -> Labels:
        labeled = self.partial_labels >= 0
        codes = np.full(len(labeled), -1, dtype=np.intp)  # −1: unknown
        classes, codes[labeled] = np.unique(self.partial_labels[labeled], return_inverse=True)
        return Labels(codes, classes)

    def positive_negative_pairs(
        self,
        n_constraints: int,
        same_length: bool = False,
        random_state: Any = None,
        num_constraints: Any = "deprecated",
    ) -> tuple[np.ndarray, ...]:
        """Indices (a, b, c, d): pairs (a, b) of one class and (c, d) of two, about ``n_constraints`` of each."""
        count = whole("n_constraints", renamed("num_constraints", "n_constraints", num_constraints, n_constraints))
        self.n_constraints = count
        rng = _validate.random(random_state, "Constraints")
        a, b = self._pairs(similar_pairs, count, "positive", rng)
        c, d = self._pairs(dissimilar_pairs, count, "negative", rng)
        n = min(len(a), len(c)) if same_length else None
        return a[:n], b[:n], c[:n], d[:n]

    def _pairs(self, draw: Any, count: int, kind: str, rng: Any) -> tuple[np.ndarray, np.ndarray]:
        labels = self._labels
        i, j = draw(labels, count + len(labels.classes), rng)
        order = rng.permutation(len(i))[:count]
        if len(order) < count:
            _validate.warn(f"Only generated {len(order)} {kind} constraints (requested {count})")
        return i[order], j[order]

    def generate_knntriplets(self, X: Any, k_genuine: int, k_impostor: int) -> np.ndarray:
        """Triplets (m, 3) of indices: each point, a near one of its class, and a near one of another."""
        labels = self._labels
        labeled = np.flatnonzero(labels.codes >= 0)
        sizes = np.bincount(labels.codes[labeled])  # (classes,)
        for label, size in zip(labels.classes, sizes):
            if k_genuine + 1 > size:
                _validate.warn(
                    f"The class {label} has {size} elements, which is not sufficient to generate {k_genuine + 1} "
                    f"genuine neighbors as specified by k_genuine. Will generate {size - 1} genuine neighbors "
                    "instead.\n",
                )
            outside = len(labeled) - size
            if k_impostor > outside:
                _validate.warn(
                    f"The class {label} has {outside} elements of other classes, which is not sufficient to generate "
                    f"{k_impostor} impostor neighbors as specified by k_impostor. Will generate {outside} impostor "
                    "neighbors instead.\n",
                )
        side = neighbor_triplets(np.asarray(X, dtype=float)[labeled], labels.of(labeled), k_genuine, k_impostor)
        return labeled[np.stack([side.anchor, side.near, side.far], axis=1)]

    def chunks(
        self, n_chunks: int = 100, chunk_size: int = 2, random_state: Any = None, num_chunks: Any = "deprecated"
    ) -> np.ndarray:
        """Chunk of each point, −1 for none: disjoint groups of ``chunk_size`` points of one class."""
        count = whole("n_chunks", renamed("num_chunks", "n_chunks", num_chunks, n_chunks))
        chunk_size = _validate.number(chunk_size, "Constraints", "chunk_size", low=1, integer=True)
        labels = self._labels
        most = int(sum(len(group) // chunk_size for group in labels.groups()))
        if most < count:
            raise ValueError(
                f"Not enough possible chunks of {chunk_size} elements in each class to form expected {count} chunks - "
                f"maximum number of chunks is {most}"
            )
        side = Chunklets.from_labels(
            labels, count, size=chunk_size, random_state=_validate.random(random_state, "Constraints")
        )
        return np.array(side.ids)


def wrap_pairs(X: np.ndarray, constraints: Any) -> tuple[np.ndarray, np.ndarray]:
    """Pairs (n, 2, d) with ±1 from the indices of :meth:`Constraints.positive_negative_pairs`."""
    a, b, c, d = map(np.asarray, constraints)
    index = np.concatenate([np.column_stack([a, b]), np.column_stack([c, d])])
    return X[index], np.concatenate([np.ones(len(a), dtype=int), -np.ones(len(c), dtype=int)])


def drawn_pairs(X: np.ndarray, y: Any, n_constraints: Any, random_state: Any) -> tuple[np.ndarray, np.ndarray]:
    """Pairs (n, 2, d) with ±1 for the supervised forms."""
    return wrap_pairs(X, _drawn(y, n_constraints, random_state))


def drawn_quadruplets(X: np.ndarray, y: Any, n_constraints: Any, random_state: Any) -> np.ndarray:
    """Quadruplets (n, 4, d) for the supervised forms."""
    return X[np.column_stack(_drawn(y, n_constraints, random_state, same_length=True))]


def _drawn(y: Any, n_constraints: Any, random_state: Any, same_length: bool = False) -> tuple[np.ndarray, ...]:
    """Indices of pairs: 20 C² of each kind unless a number is given."""
    count = 20 * len(_validate.labels(y, "Constraints")[0]) ** 2 if n_constraints is None else n_constraints
    return Constraints(y).positive_negative_pairs(count, same_length=same_length, random_state=random_state)
