"""Linear maps of queries and documents, and the roads to one: closed forms, and descents on an exact loss in blocks."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from gramian import linalg
from gramian._arrays import asarray, foreign
from gramian.learners.retrieval import Retrieval
from gramian.persist import Stored
from gramian.solvers.descent import descend


@dataclass(frozen=True, eq=False)
class TwoSided(Stored):
    """q ↦ Aq and d ↦ Bd for rows of length one, compared by cosine; where B is None documents stay."""

    A: np.ndarray
    B: np.ndarray | None = None

    def queries(self, Q: Any) -> Any:
        """Queries of length one, mapped, of length one."""
        return linalg.unit_rows(Q @ as_precise(self.A.T, Q))

    def documents(self, D: Any) -> Any:
        """Documents of length one, mapped, of length one."""
        return D if self.B is None else linalg.unit_rows(D @ as_precise(self.B.T, D))

    def after(self, W: np.ndarray, tied: bool) -> "TwoSided":
        """W after this one: for queries, or for both."""
        return TwoSided(W @ self.A, (W if self.B is None else W @ self.B) if tied else self.B)

    def scaled(self, task: Retrieval) -> "TwoSided":
        """The same directions, of mean squared length one on a task: so that a blend with the identity is even."""

        def size(X: np.ndarray, M: np.ndarray) -> float:
            return float(np.sqrt(np.mean(linalg.row_norms(X @ M.T)))) or 1.0

        B = None if self.B is None else self.B / size(task.documents, self.B)
        return TwoSided(self.A / size(task.queries, self.A), B)

    def blended(self, weight: float) -> "TwoSided":
        """w · identity + (1 − w) · this."""
        eye, rest = weight * np.eye(len(self.A)), 1 - weight
        return TwoSided(eye + rest * self.A, None if self.B is None else eye + rest * self.B)


def as_precise(M: np.ndarray, X: Any) -> Any:
    """Numbers where points are, and as precise as these."""
    return asarray(M, X) if foreign(X) else M.astype(X.dtype)


def mean_of(maps: list[TwoSided]) -> TwoSided:
    """The mean of maps of one scale."""
    A = np.mean([one.A for one in maps], axis=0)
    if all(one.B is None for one in maps):
        return TwoSided(A)
    return TwoSided(A, np.mean([np.eye(len(A)) if one.B is None else one.B for one in maps], axis=0))


BLOCK = 1024
"""Queries of a block of the loss: all are asked at once."""
CROWD = 2048
"""Documents that a block of queries is compared with, at most: their own, and others, evenly from all."""
HARD = np.log(4.0)
"""A hard negative counts as so many others do, as a logarithm."""
FLOOR = 0.1
"""Least share of the mean variance that every direction is given."""


def shrunk_power(C: np.ndarray, n: int, power: float) -> np.ndarray:
    """(C/c̄ + ε)^power of a covariance of n points: the fewer they are, the nearer to the identity."""
    values, vectors = np.linalg.eigh(C)  # (d,), (d, d)
    values = np.maximum(values, 0) / max(float(values.mean()), np.finfo(float).tiny)
    root = (values + FLOOR + len(C) / n) ** power
    return (vectors * root) @ vectors.T


def whitened(task: Retrieval, power: float, within: bool = False) -> TwoSided:
    """q ↦ C^{−power} q: as if both sides were mapped by C^{−power/2}, and documents stay.

    C is the covariance of all points around the mean of their side or, ``within``, that of queries around their
    answers: directions in which a query and its answer differ say little.
    """
    Q, D = task.queries, task.documents
    q, d = Q.mean(axis=0), D.mean(axis=0)
    if within:
        rows, columns, _ = task.pairs()
        V = (Q[rows] - q) - (D[columns] - d)
    else:
        V = np.concatenate([Q - q, D - d])
    C = (V.T @ V).astype(float) / len(V)
    return TwoSided(shrunk_power(C, len(V), -power)).scaled(task)


def ridge(task: Retrieval, reg: float) -> TwoSided:
    """argmin_A Σ |A q_i − d_i|² + reg · n/d ‖A − I‖²: queries are moved onto their answers."""
    rows, columns, _ = task.pairs()
    Q, D = task.queries[rows].astype(float), task.documents[columns].astype(float)
    d = Q.shape[1]
    lam = reg * len(Q) / d
    A = np.linalg.solve(Q.T @ Q + lam * np.eye(d), Q.T @ (D - Q)).T
    return TwoSided(np.eye(d) + A).scaled(task)


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


def contrast(
    task: Retrieval, U: np.ndarray, V: np.ndarray, temperature: float, both: bool = True
) -> tuple[float, np.ndarray, np.ndarray]:
    """f = Σ_i ω_i log(Σ_j e^{s_ij} / Σ_{j ~ i} g_ij e^{s_ij}) and ∂f/∂U, ∂f/∂V, with s = UVᵀ/τ; ∂f/∂V only for both.

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
        if both:
            dV[columns] += S.T @ U[rows] / temperature
    return value, dU, dV


def contrasted(task: Retrieval, start: TwoSided, tied: bool, temperature: float, reg: float, steps: int) -> TwoSided:
    """W after a start, by a few steps of descent on mean contrast + reg/2 ‖W − I‖², from W = I.

    Of queries alone the cosine has no length of Wq in it, so that s = (Wq)ᵀd/τ is linear in W and the problem convex.
    ``tied`` moves both sides by one W, by their angle.
    """
    inside = task.mapped(start.queries(task.queries), start.documents(task.documents))
    Q, D = inside.queries, inside.documents
    eye = np.eye(Q.shape[1])

    def objective(W: np.ndarray) -> tuple[float, np.ndarray]:
        L = W.astype(Q.dtype)
        if tied:
            value, gradient = angles(inside, Q @ L.T, D @ L.T, temperature)
        else:
            value, dU, _ = contrast(inside, Q @ L.T, D, temperature, both=False)
            gradient = dU.T @ Q
        return value + reg / 2 * float(np.sum((W - eye) ** 2)), gradient.astype(float) + reg * (W - eye)

    def angles(inside: Retrieval, X: np.ndarray, Y: np.ndarray, temperature: float) -> tuple[float, np.ndarray]:
        value, dU, dV = contrast(inside, linalg.unit_rows(X), linalg.unit_rows(Y), temperature)
        return value, through_length(dU, X).T @ Q + through_length(dV, Y).T @ D

    W = descend(objective, eye, max_iter=steps).point
    return start.after(W, tied).scaled(task)


def through_length(slope: np.ndarray, X: np.ndarray) -> np.ndarray:
    """∂f/∂X of what f says of X/|X|."""
    size = np.sqrt(linalg.row_norms(X))[:, None]
    size[size == 0] = 1.0
    U = X / size
    return (slope - U * linalg.row_inner(U, slope)[:, None]) / size


def low_rank(full: TwoSided, rank: int) -> TwoSided:
    """The same with A − I (and B − I) cut to its leading directions."""

    def cut(M: np.ndarray) -> np.ndarray:
        eye = np.eye(len(M))
        U, s, Vt = np.linalg.svd(M - eye)
        return eye + (U[:, :rank] * s[:rank]) @ Vt[:rank]

    return TwoSided(cut(full.A), None if full.B is None else cut(full.B))
