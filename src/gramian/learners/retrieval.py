"""Queries with the documents that answer them: the one door, the task, and what a ranking is worth."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from gramian import _validate, linalg
from gramian._arrays import to_numpy

OWNER = "QueryAdapter"
MOST = 30_000
"""Queries that are learned from, at most."""
MOST_DOCUMENTS = 20_000
"""Documents that answer none of the queries, of which more are not kept."""
LOOKED_AT = 10
"""Documents at the head of a list that recall and nDCG look at."""


@dataclass(frozen=True, eq=False)
class Retrieval:
    """Rows of length one, each once: ``queries`` (n, d), ``documents`` (m, d), and what is known of them.

    ``answers`` (n, m) holds the grades of documents that answer, ``hard`` (n, m) ones where a document is near and
    wrong.
    """

    queries: np.ndarray
    documents: np.ndarray
    answers: sparse.csr_array
    hard: sparse.csr_array

    @property
    def weights(self) -> np.ndarray:
        """(n,): a query counts as its best answer does; they are 1 in the mean."""
        best = self.answers.max(axis=1).toarray().ravel()
        return best / best.mean()

    def mapped(self, queries: np.ndarray, documents: np.ndarray) -> "Retrieval":
        """The same task in other coordinates."""
        return replace(self, queries=queries, documents=documents)

    def of(self, rows: np.ndarray) -> "Retrieval":
        """Some of the queries with all documents, less those that answer other queries alone."""
        inside = np.zeros(self.answers.shape[0], dtype=bool)
        inside[rows] = True
        answered = np.diff(self.answers[rows].tocsc().indptr) > 0  # (m,)
        elsewhere = np.diff(self.answers[np.flatnonzero(~inside)].tocsc().indptr) > 0
        free = np.flatnonzero(~answered & ~elsewhere)
        free = free[linalg.spread(len(free), MOST_DOCUMENTS)]
        columns = np.union1d(np.flatnonzero(answered), free)
        return Retrieval(
            self.queries[rows], self.documents[columns], self.answers[rows][:, columns], self.hard[rows][:, columns]
        )

    def pairs(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Query, document and grade of each answer."""
        rows = np.repeat(np.arange(self.answers.shape[0]), np.diff(self.answers.indptr))
        return rows, self.answers.indices, self.answers.data


def retrieval(
    queries: Any, documents: Any, matches: Any, weight: Any, hard: Any, rng: np.random.RandomState
) -> Retrieval:
    """The one door: checked rows of length one, each once, in an order that their content decides."""
    Q, D = directed(queries, OWNER, "queries"), directed(documents, OWNER, "documents")
    if Q.shape[1] != D.shape[1]:
        raise ValueError(
            f"{OWNER}: queries and documents must have the same number of columns, got {Q.shape[1]} and {D.shape[1]}; "
            "vectors of two models are joined by ModelBridge."
        )
    if matches is None:
        if len(Q) != len(D):
            raise ValueError(
                f"{OWNER}: queries and documents must have the same number of rows, got {len(Q)} and {len(D)}; give "
                "matches, pairs of their rows, where they are not answered row by row."
            )
        pairs = np.column_stack([np.arange(len(Q))] * 2)
    else:
        pairs = index_pairs(matches, "matches", len(Q), len(D))
    grades = np.ones(len(pairs)) if weight is None else _validate.vector(weight, OWNER, "weight", len(pairs))
    if (grades < 0).any() or not (grades > 0).any():
        raise ValueError(f"{OWNER}: weight must be at least 0, and above 0 for some match, got {grades.max()} at most.")
    wrong = np.empty((0, 2), dtype=np.intp) if hard is None else index_pairs(hard, "hard", len(Q), len(D), empty=True)
    if len(Q) > MOST:
        Q, D, pairs, grades, wrong = fewer(Q, D, pairs, grades, wrong, rng)
    Q = unit(Q)  # one after the other: what was copied before is let go
    D = unit(D)
    places_q, of_q = distinct(Q)
    places_d, of_d = distinct(D)
    shape = (len(places_q), len(places_d))
    answers = graded(of_q[pairs[:, 0]], of_d[pairs[:, 1]], grades, shape)
    negatives = graded(of_q[wrong[:, 0]], of_d[wrong[:, 1]], np.ones(len(wrong)), shape)
    if answers.multiply(negatives).nnz:
        raise ValueError(f"{OWNER}: hard must hold no match, but one of its documents answers the query.")
    rows = np.flatnonzero(np.diff(answers.indptr))
    return Retrieval(Q[places_q[rows]], D[places_d], answers[rows], negatives[rows])


def fewer(
    Q: np.ndarray,
    D: np.ndarray,
    pairs: np.ndarray,
    grades: np.ndarray,
    wrong: np.ndarray,
    rng: np.random.RandomState,
) -> tuple[np.ndarray, ...]:
    """``MOST`` of the queries, what answers them, and others, evenly."""
    rows = np.sort(rng.permutation(np.unique(pairs[:, 0]))[:MOST])
    matched, negative = np.isin(pairs[:, 0], rows), np.isin(wrong[:, 0], rows)
    pairs, wrong = pairs[matched], wrong[negative]
    columns = np.unique(np.concatenate([pairs[:, 1], wrong[:, 1], linalg.spread(len(D), MOST_DOCUMENTS)]))
    near = [
        np.column_stack([np.searchsorted(rows, p[:, 0]), np.searchsorted(columns, p[:, 1])]) for p in (pairs, wrong)
    ]
    return Q[rows], D[columns], near[0], grades[matched], near[1]


def index_pairs(values: Any, name: str, n: int, m: int, empty: bool = False) -> np.ndarray:
    """Checked rows of queries and of documents, (k, 2)."""
    pairs = _validate.plain(values, OWNER, name)
    if empty and pairs.size == 0:
        return np.empty((0, 2), dtype=np.intp)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu" or not len(pairs):
        raise ValueError(
            f"{OWNER}: {name} must be pairs (k, 2) of rows of queries and of documents, got shape {pairs.shape} of "
            f"{pairs.dtype}."
        )
    for column, count, side in ((0, n, "queries"), (1, m, "documents")):
        low, high = int(pairs[:, column].min()), int(pairs[:, column].max())
        if low < 0 or high >= count:
            bad = low if low < 0 else high
            raise ValueError(f"{OWNER}: {name} must be rows of {side} from 0 to {count - 1}, got {bad}.")
    return pairs.astype(np.intp)


def distinct(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows that stand for equal ones, ordered by content, and which of them each row is."""
    as_bytes = X.view(np.dtype((np.void, X.dtype.itemsize * X.shape[1]))).ravel()
    _, first, inverse = np.unique(as_bytes, return_index=True, return_inverse=True)
    return first, inverse


def graded(rows: np.ndarray, columns: np.ndarray, grades: np.ndarray, shape: tuple[int, int]) -> sparse.csr_array:
    """A matrix of the highest grade of each pair that is above 0."""
    order = np.lexsort((-grades, columns, rows))
    order = order[grades[order] > 0]
    rows, columns, grades = rows[order], columns[order], grades[order]
    first = np.ones(len(rows), dtype=bool)
    first[1:] = (rows[1:] != rows[:-1]) | (columns[1:] != columns[:-1])
    matrix = sparse.csr_array((grades[first], (rows[first], columns[first])), shape=shape)
    matrix.sort_indices()
    return matrix


def directed(X: Any, owner: str, name: str) -> np.ndarray:
    """Checked rows, each with a direction."""
    X = np.asarray(to_numpy(_validate.points(X, owner, allow_sparse=False, name=name, devices=True)))
    if X.shape[1] == 0:
        raise ValueError(f"{owner}: {name} must have at least one column, got shape {X.shape}.")
    empty = np.flatnonzero(~X.any(axis=1))
    if len(empty):
        raise ValueError(
            f"{owner}: {name} must have no rows of zeros, which have no direction, got row {empty[0]}; drop it."
        )
    return X


def unit(X: np.ndarray) -> np.ndarray:
    """Rows of length one, in single precision."""
    U = np.empty(X.shape, np.float32)
    for rows in linalg.blocks(len(X), 8 * X.shape[1]):
        U[rows] = linalg.unit_rows(X[rows] / linalg.row_extents(X[rows])[:, None]) + 0.0  # −0 is 0
    return U


def places(U: np.ndarray, V: np.ndarray, answers: sparse.csr_array) -> np.ndarray:
    """The place of each answer in the list of its query, from 1, (answers.nnz,); ties take the middle."""
    rank = np.empty(answers.nnz)
    for rows in linalg.blocks(len(U), V.itemsize * len(V)):
        S = U[rows] @ V.T  # (b, m)
        within = np.repeat(np.arange(len(S)), np.diff(answers.indptr[rows.start : rows.stop + 1]))
        inside = slice(answers.indptr[rows.start], answers.indptr[rows.stop])
        values = S[within, answers.indices[inside]]
        for first in range(0, len(within), len(S)):  # no more comparisons at once than a block holds
            few = slice(first, first + len(S))
            lists = S[within[few]] if len(within) > len(S) else S
            above = np.count_nonzero(lists > values[few, None], axis=1)
            level = np.count_nonzero(lists == values[few, None], axis=1) - 1
            rank[inside][few] = 1 + above + level / 2
    return rank


MEASURES = ("MRR", f"recall@{LOOKED_AT}", f"nDCG@{LOOKED_AT}")


def measures(rank: np.ndarray, answers: sparse.csr_array) -> np.ndarray:
    """MRR, recall@10 and nDCG@10 of each query, (n, 3), from the places of its answers."""
    n = answers.shape[0]
    rows = np.repeat(np.arange(n), np.diff(answers.indptr))
    reciprocal = np.zeros(n)
    np.maximum.at(reciprocal, rows, 1 / rank)
    head = rank <= LOOKED_AT
    recall = np.bincount(rows, head, n) / np.bincount(rows, minlength=n)
    gain = np.bincount(rows, np.where(head, answers.data / np.log2(1 + rank), 0.0), n)
    order = np.lexsort((-answers.data, rows))
    ideal_place = 1 + np.arange(len(rows)) - answers.indptr[rows]
    best = answers.data[order] / np.log2(1 + ideal_place)
    ideal = np.bincount(rows, np.where(ideal_place <= LOOKED_AT, best, 0.0), n)
    return np.column_stack([reciprocal, recall, gain / ideal])


def scores(U: np.ndarray, V: np.ndarray, answers: sparse.csr_array) -> np.ndarray:
    """The measures of rows of length one, (n, 3)."""
    return measures(places(U, V, answers), answers)
