"""Queries with the documents that answer them: the task, the exact loss in blocks, and what a ranking is worth."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from gramian import _validate, linalg
from gramian._arrays import to_numpy

BLOCK = 1024
"""Queries of a block of the loss: all are asked at once."""
CROWD = 2048
"""Documents that a block of queries is compared with, at most: their own, and others, evenly from all."""
MOST_DOCUMENTS = 20_000
"""Documents that answer none of the queries, of which more are not kept."""
LOOKED_AT = 10
"""Documents at the head of a list that recall and nDCG look at."""
HARD = np.log(4.0)
"""A hard negative counts as so many others do, as a logarithm."""


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
        U[rows] = linalg.unit_rows(X[rows] / linalg.row_extents(X[rows])[:, None])
    return U


def crowds(task: Retrieval) -> Iterator[tuple[slice, np.ndarray]]:
    """Blocks of queries, each with the documents that it is compared with: its own first, then others evenly."""
    n, m = task.answers.shape
    for start in range(0, n, BLOCK):
        rows = slice(start, min(start + BLOCK, n))
        if m <= CROWD:
            yield rows, np.arange(m)
            continue
        wanted = np.union1d(task.answers[rows].indices, task.hard[rows].indices)
        others = np.setdiff1d(linalg.spread(m, CROWD), wanted)
        yield rows, np.concatenate([wanted, others[: max(0, CROWD - len(wanted))]])


def contrast(task: Retrieval, U: np.ndarray, V: np.ndarray, temperature: float) -> tuple[float, np.ndarray, np.ndarray]:
    """f = Σ_i ω_i log(Σ_j e^{s_ij} / Σ_{j ~ i} g_ij e^{s_ij}) and ∂f/∂U, ∂f/∂V, with s = UVᵀ/τ.

    j ~ i are the answers of a query with their grades g, ω its weight over the number of queries, and a hard negative
    counts as several.
    """
    dU, dV, value = np.zeros_like(U), np.zeros_like(V), 0.0
    weights = (task.weights / len(U)).astype(U.dtype)  # (n,)
    tops = task.answers.max(axis=1).toarray().ravel()
    for rows, columns in crowds(task):
        near = V[columns]
        S = U[rows] @ near.T  # (b, c)
        S /= temperature
        hard, answers = task.hard[rows][:, columns].tocoo(), task.answers[rows][:, columns].tocoo()
        S[hard.row, hard.col] += HARD
        S -= S.max(axis=1, keepdims=True)
        np.exp(S, out=S)
        total = S.sum(axis=1)  # (b,)
        right = S[answers.row, answers.col] * (answers.data / tops[rows][answers.row]).astype(S.dtype)  # (a,)
        share = np.maximum(np.bincount(answers.row, right, len(total)), np.finfo(S.dtype).tiny)  # (b,)
        weight = weights[rows]
        value += float(weight @ np.log(total / share))
        # ∂f/∂s_ij = ω_i (p_ij − [j ~ i] g_ij e^{s_ij} / Σ_{l ~ i} g_il e^{s_il})
        S *= (weight / total)[:, None]
        S[answers.row, answers.col] -= (weight / share)[answers.row].astype(S.dtype) * right.astype(S.dtype)
        dU[rows] = S @ near / temperature
        dV[columns] += S.T @ U[rows] / temperature
    return value, dU, dV


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
