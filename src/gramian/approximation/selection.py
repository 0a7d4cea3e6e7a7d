"""Which members of a set to measure against: the selection criteria of Epstein and Betke, §7.

Both criteria look at what the chosen rows K_RQ of the Gram matrix leave of it: with N the projection onto the null
space of K_RQ, (24) is min Tr(N K) and (27) is min ‖N K‖₁. Rows are projected out one at a time, so a greedy step
costs n² and sees every candidate.
"""

from collections.abc import Iterable
from itertools import combinations, islice
from math import comb
from typing import Any, Literal

import numpy as np

from gramian import _checks, linalg
from gramian._settings import Count, checked
from gramian.features.cholesky import pivoted_cholesky
from gramian.kernels.objects import Precomputed

Method = Literal["exchange", "greedy", "cholesky", "exhaustive"]
Criterion = Literal["trace", "l1"]
_DEPENDENT = 1e-20
"""A row whose squared length fell below this share lies in the span of the chosen ones."""
_STARTS = 1000
"""Starts of the exchange times the size of the set: all members start in sets of up to 31."""
_MOST_SUBSETS = 5_000_000


@checked
def select_subset(K: Any, m: Count, *, criterion: Criterion = "trace", method: Method = "exchange") -> np.ndarray:
    """Indices R of m members that keep most of a Gram matrix K (n, n).

    Parameters
    ----------
    K : array (n, n)
        Gram matrix of the set Q (DistanceKernel makes one of distances).
    m : int
        Size of R.
    criterion : {"trace", "l1"}
        max Tr(P_RQ K), Epstein and Betke (24), or min ‖N_RQ K‖₁, (27).
    method : {"exchange", "greedy", "cholesky", "exhaustive"}
        Greedy picks from several starts, and swaps of one member for a better one until none helps; greedy picks
        alone; pivots of
        :func:`~gramian.pivoted_cholesky` (cheapest, for another criterion); or all subsets, for tiny sets.

    Returns
    -------
    array (m,) of indices, in the order of choice.

    Notes
    -----
    The trace criterion is monotone but not submodular, and (27) neither: greedy has no guarantee, which is why
    exchange is the default. For (27) gains are evaluated lazily, a heuristic for the same reason.

    See Also
    --------
    gramian.SubsetDistance : Estimates distances from the chosen ones.
    gramian.pivoted_cholesky : A basis by greedy pivots.

    Examples
    --------
    >>> import numpy as np, gramian as gm
    >>> X = np.array([[0.0], [0.1], [5.0], [5.1], [9.0]])
    >>> sorted((gm.select_subset(gm.Gaussian(1.0)(X), 3) // 2).tolist())
    [0, 1, 2]
    """
    owner = "select_subset"
    K = linalg.symmetrize(_checks.points(Precomputed(K).matrix, owner, name="K"))
    _checks.number(m, owner, "m", low=1, high=len(K), integer=True)
    problem = CRITERIA[criterion](K)
    if method == "cholesky":
        chosen = pivoted_cholesky(Precomputed(K), np.arange(len(K)), rank=m, tol=0).pivots.tolist()
        return np.array(_filled(chosen, m, len(K)))
    if method == "exhaustive":
        return np.array(_exhaustive(problem, m))
    if method == "greedy":
        return np.array(_greedy(problem, [], m))
    # Swaps end in a local optimum, so they start from several: greedy, and greedy after other first members.
    firsts = np.linspace(0, len(K) - 1, min(max(_STARTS // len(K), 2), len(K))).astype(int)
    starts = [_greedy(problem, start, m) for start in ([], *([int(i)] for i in firsts))]
    known: dict[frozenset[int], tuple[int, float]] = {}
    return np.array(min((_exchange(problem, start, known) for start in starts), key=lambda R: _loss(problem, R)))


class TraceCriterion:
    """Tr(N K) of (24), with rows in the eigenbasis of K = Q Λ Qᵀ: u_i = N k_i, and u_iᵀKu_i = Σ_k λ_k u_ki²."""

    def __init__(self, K: np.ndarray):
        values, vectors = linalg.eigh(K)
        keep = np.abs(values) > 1e-14 * np.abs(values).max(initial=0.0)
        self.values = values[keep]
        self.rows = self.values[:, None] * vectors[:, keep].T

    def best(self, U: np.ndarray, free: np.ndarray, gains: np.ndarray) -> int:
        """Candidate with the largest gain u_iᵀKu_i / u_iᵀu_i of Tr(P K)."""
        gains[free] = (self.values @ U[:, free] ** 2) / linalg.row_norms(U[:, free].T)
        return int(free[gains[free].argmax()])

    def loss(self, V: np.ndarray) -> float:
        """Tr(N K) for an orthonormal basis V of the chosen rows."""
        return float(self.values.sum() - (self.values @ V**2).sum())


class EntryCriterion:
    """‖N K‖₁ of (27), entry by entry."""

    def __init__(self, K: np.ndarray):
        self.rows = K

    def best(self, U: np.ndarray, free: np.ndarray, gains: np.ndarray) -> int:
        """Candidate with the largest drop of ‖N K‖₁; a gain is evaluated again only when it leads (lazily)."""
        now, fresh = np.abs(U).sum(), set()
        while True:
            i = int(free[gains[free].argmax()])
            if i in fresh:
                return i
            v = U[:, i] / np.linalg.norm(U[:, i])
            gains[i] = now - np.abs(U - np.outer(v, v @ U)).sum()
            fresh.add(i)

    def loss(self, V: np.ndarray) -> float:
        """‖N K‖₁ for an orthonormal basis V of the chosen rows."""
        return float(np.abs(self.rows - V @ (V.T @ self.rows)).sum())


CRITERIA = {"trace": TraceCriterion, "l1": EntryCriterion}


def _basis(problem: Any, chosen: Iterable[int]) -> np.ndarray:
    """Orthonormal basis of the chosen rows; rows that depend on others add nothing."""
    U, s, _ = np.linalg.svd(problem.rows[:, list(chosen)], full_matrices=False)
    return U[:, s > 1e-10 * s.max(initial=0.0)]


def _loss(problem: Any, chosen: Iterable[int]) -> float:
    return problem.loss(_basis(problem, chosen))


def _greedy(problem: Any, chosen: list[int], m: int) -> list[int]:
    """Extend the chosen to m members, each the best next one."""
    V = _basis(problem, chosen)
    U = problem.rows - V @ (V.T @ problem.rows)
    size = linalg.row_norms(problem.rows.T)
    gains = np.full(len(size), np.inf)
    while len(chosen) < m:
        may = linalg.row_norms(U.T) > _DEPENDENT * size
        may[chosen] = False
        free = np.flatnonzero(may)
        if len(free) == 0:
            return _filled(chosen, m, len(size))
        chosen = [*chosen, problem.best(U, free, gains)]
        v = U[:, chosen[-1]] / np.linalg.norm(U[:, chosen[-1]])
        U = U - np.outer(v, v @ U)
    return chosen


def _filled(chosen: list[int], m: int, n: int) -> list[int]:
    """Members that are all dependent on the chosen ones, to make up the number."""
    return [*chosen, *islice((i for i in range(n) if i not in set(chosen)), m - len(chosen))]


def _exchange(
    problem: Any, chosen: list[int], known: dict[frozenset[int], tuple[int, float]], sweeps: int = 20
) -> list[int]:
    """Swap one member for a better one until no swap helps.

    ``known`` holds the best last member of a set and the loss with it: starts that meet share them.
    """
    loss = _loss(problem, chosen)
    for _ in range(sweeps):
        before = loss
        for i in range(len(chosen)):
            rest = chosen[:i] + chosen[i + 1 :]
            key = frozenset(rest)
            if key not in known:
                swapped = _greedy(problem, rest, len(chosen))
                known[key] = swapped[-1], _loss(problem, swapped)
            best, new = known[key]
            if new < loss - 1e-12 * abs(before):
                chosen, loss = [*rest, best], new
        if loss == before:
            break
    return chosen


def _exhaustive(problem: Any, m: int) -> list[int]:
    n = problem.rows.shape[1]
    if comb(n, m) > _MOST_SUBSETS:
        raise ValueError(
            f"select_subset: method='exhaustive' must look at no more than {_MOST_SUBSETS} subsets, "
            f"got {comb(n, m)}; use 'exchange'."
        )
    return list(min(combinations(range(n), m), key=lambda R: _loss(problem, R)))
