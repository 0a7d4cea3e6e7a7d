"""Which members of a set to measure against: the selection criteria of Epstein and Betke, §7.

Both criteria look at what the chosen rows K_RQ of the Gram matrix leave of it: with N the projection onto the null
space of K_RQ, (24) is min Tr(N K) and (27) is min ‖N K‖₁. Rows are projected out one at a time, so a greedy step
costs n² and sees every candidate. Below them is what is known of a set before any choice: squared distances, and the
kernel (3) of them.
"""

from collections.abc import Iterable
from itertools import combinations, islice
from math import comb
from typing import Any, Literal

import numpy as np

from gramian import _validate, linalg
from gramian._settings import Count, checked
from gramian.features.cholesky import pivoted_cholesky
from gramian.kernels.objects import Precomputed

Method = Literal["exchange", "greedy", "cholesky", "exhaustive"]
Criterion = Literal["trace", "l1"]
OWNER = "SubsetDistance"
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
    K = linalg.symmetrize(_validate.points(Precomputed(K).matrix, owner, name="K"))
    _validate.number(m, owner, "m", low=1, high=len(K), integer=True)
    problem = CRITERIA[criterion](K)
    if method == "cholesky":
        pivots = pivoted_cholesky(Precomputed(K), np.arange(len(K)), rank=m, tol=0).pivots.tolist()
        return np.array(_filled(pivots, m, len(K)))
    if method == "exhaustive":
        return np.array(_exhaustive(problem, m))
    if method == "greedy":
        return np.array(_greedy(problem, [], m))
    # Swaps end in a local optimum, so they start from several: greedy, and greedy after other first members.
    firsts = np.linspace(0, len(K) - 1, min(max(_STARTS // len(K), 2), len(K))).astype(int)
    starts = [_greedy(problem, start, m) for start in ([], *([int(i)] for i in firsts))]
    memory: Memory = {}
    return np.array(min((_exchange(problem, start, memory) for start in starts), key=lambda R: _loss(problem, R)))


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


Problem = TraceCriterion | EntryCriterion
CRITERIA: dict[str, type[Problem]] = {"trace": TraceCriterion, "l1": EntryCriterion}
Memory = dict[frozenset[int], tuple[int, float]]
"""The best last member of a set and the loss with it: starts that meet share them."""


def _basis(problem: Problem, members: Iterable[int]) -> np.ndarray:
    """Orthonormal basis V (n, r) of the members' rows; rows that depend on others add nothing."""
    U, s, _ = np.linalg.svd(problem.rows[:, list(members)], full_matrices=False)
    return U[:, s > 1e-10 * s.max(initial=0.0)]


def _loss(problem: Problem, members: Iterable[int]) -> float:
    return problem.loss(_basis(problem, members))


def _greedy(problem: Problem, members: list[int], m: int) -> list[int]:
    """Extend the members to m, each the best next one."""
    V = _basis(problem, members)
    U = problem.rows - V @ (V.T @ problem.rows)  # (r, n): N k_i as columns
    size = linalg.row_norms(problem.rows.T)  # (n,)
    gains = np.full(len(size), np.inf)
    while len(members) < m:
        may = linalg.row_norms(U.T) > _DEPENDENT * size
        may[members] = False
        free = np.flatnonzero(may)
        if len(free) == 0:
            return _filled(members, m, len(size))
        members = [*members, problem.best(U, free, gains)]
        v = U[:, members[-1]] / np.linalg.norm(U[:, members[-1]])
        U = U - np.outer(v, v @ U)  # the new row is projected out
    return members


def _filled(members: list[int], m: int, n: int) -> list[int]:
    """Members and others that all depend on them, to make up the number."""
    return [*members, *islice((i for i in range(n) if i not in set(members)), m - len(members))]


def _exchange(problem: Problem, members: list[int], memory: Memory, sweeps: int = 20) -> list[int]:
    """Swap one member for a better one until no swap helps."""
    loss = _loss(problem, members)
    for _ in range(sweeps):
        before = loss
        for i in range(len(members)):
            rest = members[:i] + members[i + 1 :]
            best, new = _completion(problem, rest, memory)
            if new < loss - 1e-12 * abs(before):
                members, loss = [*rest, best], new
        if loss == before:
            break
    return members


def _completion(problem: Problem, rest: list[int], memory: Memory) -> tuple[int, float]:
    """The best member to add to a set, and the loss with it."""
    key = frozenset(rest)
    if key not in memory:
        swapped = _greedy(problem, rest, len(rest) + 1)
        memory[key] = swapped[-1], _loss(problem, swapped)
    return memory[key]


def _exhaustive(problem: Problem, m: int) -> list[int]:
    n = problem.rows.shape[1]
    if comb(n, m) > _MOST_SUBSETS:
        raise ValueError(
            f"select_subset: method='exhaustive' must look at no more than {_MOST_SUBSETS} subsets, "
            f"got {comb(n, m)}; use 'exchange'."
        )
    return list(min(combinations(range(n), m), key=lambda R: _loss(problem, R)))


def kernel_values(g: np.ndarray, D: np.ndarray) -> np.ndarray:
    """K of (3) among objects with squared distances D."""
    K: np.ndarray = g[:, None] - D / 2 + g
    return K


def medoid(D: np.ndarray, subset: np.ndarray | None) -> int:
    """The place in Q of what is nearest to all of it, among a subset where there is one."""
    sums = D.sum(axis=1)
    return int(sums.argmin()) if subset is None else int(subset[sums[subset].argmin()])


def roots(distances: Any, shape: tuple[int, int]) -> np.ndarray:
    """Distances that are known, finite and nonnegative."""
    d = _validate.array(distances, OWNER, "distances").astype(np.float64)
    if d.shape != shape or not np.isfinite(d).all() or (d < 0).any():
        raise ValueError(f"{OWNER}: distances must be finite, nonnegative, of shape {shape}, got shape {d.shape}.")
    return d


def squares(distances: Any, n: int) -> np.ndarray:
    """Squares of the known distances among n objects."""
    d = roots(distances, (n, n))
    if np.abs(d - d.T).max(initial=0.0) > 1e-8 * d.max(initial=0.0) or d.diagonal().any():
        raise ValueError(f"{OWNER}: distances must be symmetric with a diagonal of 0.")
    return linalg.symmetrize(d) ** 2


def joined(Q: Any, new: Any) -> Any:
    """Objects after objects."""
    if isinstance(Q, np.ndarray):
        return np.concatenate([Q, new])
    return [*Q, *new]


def selected(selection: Method | np.ndarray, criterion: Criterion, K: np.ndarray, m: int) -> np.ndarray:
    """The m members that a method chooses by the Gram matrix of Q, or those that were given."""
    if isinstance(selection, str):
        return select_subset(K, m, criterion=criterion, method=selection)
    subset = _validate.indices(selection, OWNER, "selection", len(K))
    if len(subset) != m or len(set(subset.tolist())) != m:
        raise ValueError(f"{OWNER}: selection must hold m={m} distinct indices, got {len(subset)}.")
    return subset
