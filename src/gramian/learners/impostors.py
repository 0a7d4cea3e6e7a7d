"""Hinge losses: over impostors that are searched for, kept as one sparse graph of pairs, and over given comparisons."""

import sys
import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import LinAlgError, eigh

from gramian import linalg
from gramian._arrays import asarray, foreign, namespace, to_numpy
from gramian.constraints import Comparisons, Labels
from gramian.learners import factor_descent, neighbor_targets
from gramian.solvers.descent import dot, share, stationarity

BUFFER = 0.15
"""How far beyond the margin a pair is still a candidate impostor."""
MU = 0.25
"""First sharpness of the hinges."""
CACHE_BYTES = 1 << 20
BLOCK_BYTES = 16 << 20
"""Size of a block of differences where the device is a processor with caches."""
DENSE = 1 / 16
"""From this share of all pairs on, matrices over all pairs cost less than lists of them."""


@dataclass(frozen=True, eq=False)
class PairGraph:
    """Targets (n, k) of each point, and m pairs in the order of their anchors."""

    targets: Any
    anchor: Any
    impostor: Any

    def sqdist(self, E: Any) -> Any:
        """Squared distances of the m pairs of rows of E, (m,)."""
        if self.places is not None:
            return linalg.sqdist(E).take(self.places)
        far = np.empty(len(self.anchor))  # (m,)
        for rows in linalg.blocks(len(far), 24 * E.shape[1], CACHE_BYTES):
            V = E.take(self.anchor[rows], axis=0)
            V -= E.take(self.impostor[rows], axis=0)
            far[rows] = linalg.row_norms(V)
        return far

    def sums(self, values: Any) -> Any:
        """Sums (n, k) of values (m, k) over the pairs of each anchor."""
        return self.by_anchor @ values

    def scatter(self, Z: Any, pull: Any, push: Any) -> Any:
        """Σ w vvᵀ over all pairs, with weights ``pull`` (n, k) of the targets and ``push`` (m,) of the others."""
        n = len(self.targets)
        if self.places is not None:
            W = np.zeros((n, n))
            np.put(W, self.places, push)
            np.put_along_axis(W, self.targets, pull, axis=1)
            return linalg.scatter(Z, W)
        order, columns, pointers = self.pattern
        weights = np.concatenate([pull.ravel(), push])[order]
        return linalg.scatter(Z, sparse.csr_array((weights, columns, pointers), shape=(n, n)))

    @cached_property
    def pattern(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Order, columns and row pointers of the sparse matrix that holds target pairs and the others."""
        n, k = self.targets.shape
        rows = np.concatenate([np.repeat(np.arange(n), k), self.anchor])  # (n k + m,)
        order = np.argsort(rows, kind="stable")
        columns = np.concatenate([self.targets.ravel(), self.impostor])[order]
        return order, columns, np.searchsorted(rows[order], np.arange(n + 1))

    @cached_property
    def by_anchor(self) -> sparse.csr_array:
        """The matrix (n, m) that sums over the pairs of each anchor."""
        m, n = len(self.anchor), len(self.targets)
        pointers = np.searchsorted(self.anchor, np.arange(n + 1))
        return sparse.csr_array((np.ones(m), np.arange(m), pointers), shape=(n, m))

    @cached_property
    def places(self) -> np.ndarray | None:
        """Places of the pairs in an n × n matrix, where that is the cheaper way; otherwise None."""
        n = len(self.targets)
        return self.anchor * n + self.impostor if len(self.anchor) >= DENSE * n**2 else None


class DevicePairGraph(PairGraph):
    """The same on a device: sums over listed pairs of rows, and weighted scatters of their differences.

    On CUDA the list is the pattern of a sparse matrix, so that no difference is ever written down; elsewhere pairs are
    taken in blocks.
    """

    def sqdist(self, E: Any) -> Any:
        """Squared distances of the m pairs of rows of E, (m,)."""
        torch, xp = torch_on_cuda(E), namespace(E)
        if torch is None:
            parts = [linalg.row_norms(self._apart(E, rows)) for rows in self._blocks(E)]
            return xp.concat(parts) if parts else linalg.empty(0, E)
        norms = linalg.row_norms(E)
        pattern = self._matrix(torch, torch.zeros(self.anchor.shape[0], dtype=E.dtype, device=E.device))
        products = torch.sparse.sampled_addmm(pattern, E, E.T, beta=0.0).values()
        return linalg.at_least(norms[self.anchor] + norms[self.impostor] - 2 * products, 0.0)

    def sums(self, values: Any) -> Any:
        """Sums (n, k) of values (m, k) over the pairs of each anchor."""
        xp, k = namespace(values), values.shape[1]
        # Sums along the last axis of rows that lie in one piece are fast, those down columns are not.
        rows = xp.cumulative_sum(xp.asarray(values.T, copy=True), axis=1)  # (k, m)
        rows = xp.concat([linalg.full((k, 1), 0.0, values), rows], axis=1)
        ends = xp.take(rows, self.pointers, axis=1).T  # (n + 1, k)
        return ends[1:, :] - ends[:-1, :]

    def scatter(self, Z: Any, pull: Any, push: Any) -> Any:
        """Σ w vvᵀ over all pairs."""
        total, torch = linalg.neighbor_scatter(Z, self.targets, pull), torch_on_cuda(Z)
        if torch is None:
            for rows in self._blocks(Z):
                V = self._apart(Z, rows)
                total += V.T @ (V * push[rows][:, None])
            return total
        degree = self.sums(push[:, None])[:, 0]
        degree = degree + torch.zeros_like(degree).index_add_(0, self.impostor, push)
        # Folded into one graph Laplacian, as in linalg.scatter.
        H = Z.T @ (Z * (degree / 2)[:, None] - self._matrix(torch, push) @ Z)
        return total + H + H.T

    @cached_property
    def pointers(self) -> Any:
        """Where the pairs of each anchor begin, (n + 1,)."""
        return namespace(self.anchor).searchsorted(self.anchor, linalg.numbers(self.targets.shape[0] + 1, self.anchor))

    def _apart(self, E: Any, rows: slice) -> Any:
        return linalg.take(E, self.anchor[rows]) - linalg.take(E, self.impostor[rows])

    def _blocks(self, E: Any) -> Any:
        return linalg.blocks(self.anchor.shape[0], 32 * max(E.shape[1], 1), BLOCK_BYTES, of=E)

    @cached_property
    def _pattern(self) -> tuple[Any, Any]:
        xp = namespace(self.anchor)
        return xp.astype(self.pointers, xp.int32), xp.astype(self.impostor, xp.int32)

    def _matrix(self, torch: Any, values: Any) -> Any:
        n = self.targets.shape[0]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch calls its sparse matrices a beta
            return torch.sparse_csr_tensor(*self._pattern, values, size=(n, n), check_invariants=False)


def torch_on_cuda(x: Any) -> Any:
    """The module torch where an array is one of its tensors on CUDA, otherwise None."""
    torch = sys.modules.get("torch")
    return torch if torch is not None and isinstance(x, torch.Tensor) and x.is_cuda else None


@dataclass(frozen=True, eq=False)
class Triplets:
    """Hinges Σ c_i [1 + d²_ij − d²_il]₊ over targets j = targets[i] and candidate impostors l, with multipliers λ.

    c_i = push · w_i with the weights w of the points, which count in the pull Σ w_i d²_ij as well; 1 when None.

    For pair t = (anchor, impostor) and target j the smoothed hinge is max_{0≤λ≤cap} λ s − (μ/2c)(λ − λ⁰)²: the
    augmented Lagrangian of the hinge, exact when λ⁰ is the optimal multiplier, whatever μ.
    """

    Z: np.ndarray
    targets: np.ndarray
    push: float
    anchor: np.ndarray
    impostor: np.ndarray
    lam: np.ndarray
    mu: float = MU
    weight: np.ndarray | None = None
    order: np.ndarray | None = None
    """The points in the order of their classes, once it was needed."""

    @classmethod
    def none(cls, Z: np.ndarray, near: np.ndarray, push: float, weight: np.ndarray | None = None) -> "Triplets":
        """No impostor yet."""
        empty = linalg.numbers(0, Z)
        lam = linalg.full((0, near.shape[1]), 0.0, Z)
        return cls(Z, near, float(push), empty, empty, lam, weight=None if weight is None else asarray(weight, Z))

    def renewed(self, L: np.ndarray, labels: Labels) -> "Triplets":
        """Candidates within the buffer of the margin at L; multipliers of pairs that stay are kept."""
        E, xp = self.Z @ L.T, namespace(L)
        reach = 1 + BUFFER + xp.max(self.target_sqdist(E), axis=1)  # (n,)
        order = neighbor_targets.by_class(labels, E) if self.order is None else self.order
        anchor, impostor = neighbor_targets.closer_than(
            E, labels, xp.where(xp.any(self.real, axis=1), reach, -xp.inf), order
        )
        lam = linalg.full((anchor.shape[0], self.targets.shape[1]), 0.0, E)
        if self.anchor.shape[0]:
            n = self.Z.shape[0]
            old, new = self.anchor * n + self.impostor, anchor * n + impostor
            place = xp.clip(xp.searchsorted(old, new), None, old.shape[0] - 1)
            stays = linalg.take(old, place) == new
            lam = xp.where(stays[:, None], linalg.take(self.lam, place), lam)
        return Triplets(self.Z, self.targets, self.push, anchor, impostor, lam, self.mu, self.weight, order)

    def updated(self, L: np.ndarray) -> "Triplets":
        """λ⁰ ← λ(L)."""
        return replace(self, lam=self.multipliers(self.slacks(self.Z @ L.T)[1]))

    @cached_property
    def real(self) -> np.ndarray:
        """Which targets there are, (n, k); a point stands for one that is missing."""
        return self.targets != linalg.numbers(self.targets.shape[0], self.targets)[:, None]

    @cached_property
    def cap(self) -> np.ndarray:
        """Upper bounds c of the multipliers, (m, k): ``push`` times the weight, or zero where the target is missing."""
        cap = self.push * namespace(self.lam).astype(linalg.take(self.real, self.anchor), self.lam.dtype)
        return cap if self.weight is None else cap * linalg.take(self.weight, self.anchor)[:, None]

    def _pulled(self, near: np.ndarray) -> float:
        """Σ w_i d²_ij of target distances (n, k)."""
        return linalg.total(near if self.weight is None else near * self.weight[:, None])

    @cached_property
    def pairs(self) -> PairGraph:
        """The pairs of points that distances are needed of, where the points are."""
        kind = DevicePairGraph if foreign(self.Z) else PairGraph
        return kind(self.targets, self.anchor, self.impostor)

    def slacks(self, E: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Target distances d²_ij (n, k) and s = 1 + d²_ij − d²_il (m, k) of the embedded points E."""
        pulls = self.target_sqdist(E)
        s = namespace(pulls).take(pulls, self.anchor, axis=0)
        s -= (self.pairs.sqdist(E) - 1)[:, None]  # 1 + d²_ij − d²_il, (m, k)
        return pulls, s

    def target_sqdist(self, E: np.ndarray) -> np.ndarray:
        """Target distances d²_ij (n, k) of the embedded points E."""
        columns = (self.targets[:, j] for j in range(self.targets.shape[1]))
        return namespace(E).stack([linalg.pair_sqdist(E, linalg.take(E, column)) for column in columns], axis=1)

    def multipliers(self, s: np.ndarray) -> np.ndarray:
        """λ = clip(λ⁰ + c s/μ, 0, c) (m, k); a missing target has c = 0."""
        lam = self.cap * s
        lam /= self.mu
        lam += self.lam
        if foreign(lam):
            xp = namespace(lam)
            return xp.minimum(linalg.at_least(lam, 0.0), self.cap)
        return np.clip(lam, 0, self.cap, out=lam)

    def scatter(self, lam: np.ndarray) -> np.ndarray:
        """S = Σ_ij w_i v_ij v_ijᵀ + Σ_ijl λ_ijl (v_ij v_ijᵀ − v_il v_ilᵀ), through one sparse Laplacian."""
        pull: Any = 1 if self.weight is None else self.weight[:, None]
        pairs = self.pairs
        return pairs.scatter(self.Z, pull + pairs.sums(lam), -namespace(lam).sum(lam, axis=1))

    def pull(self) -> np.ndarray:
        """Σ_ij w_i v_ij v_ijᵀ over target pairs."""
        return factor_descent.pull(self.Z, self.targets, self.weight)

    def smoothed(self, L: np.ndarray) -> tuple[float, np.ndarray]:
        """Pull plus smoothed hinges, and the gradient 2 L S."""
        pulls, s = self.slacks(self.Z @ L.T)
        lam = self.multipliers(s)
        value = self._pulled(pulls) + dot(lam, s)
        moved = lam - self.lam if foreign(s) else np.subtract(lam, self.lam, out=s)
        if self.weight is not None:
            moved = moved / namespace(moved).sqrt(linalg.take(self.weight, self.anchor))[:, None]
        return float(value - self.mu / (2 * self.push) * dot(moved, moved)), 2 * L @ self.scatter(lam)

    def state(self, L: np.ndarray, ridge: np.ndarray) -> "State":
        """Objective and optimality at L."""
        pulls, s = self.slacks(self.Z @ L.T)
        lam = self.multipliers(s)
        hinges = linalg.total(self.cap * linalg.at_least(s, 0.0))
        return State(
            objective=self._pulled(pulls) + hinges + linalg.total(ridge * L**2),
            slackness=hinges - dot(lam, s),
            dual=linalg.total(lam),
            scatter=self.scatter(lam) + linalg.identity(ridge.shape[0], ridge) * ridge,
        )


@dataclass(frozen=True, eq=False)
class State:
    """The exact objective, and how far L and λ are from the optimality conditions.

    With S = P + Σ λ_t A_t and P the scatter of target pairs, f(M) − Σ λ_t = ⟨S, M⟩ + Σ_t (c [s_t]₊ − λ_t s_t).
    """

    objective: float
    slackness: float
    dual: float
    scatter: np.ndarray

    def residual(self, L: np.ndarray, scale: float) -> float:
        """(‖LS‖ ‖L‖ + Σ_t (c [s_t]₊ − λ_t s_t)) / scale: zero exactly at a stationary point."""
        return stationarity(L, L @ self.scatter, scale) + share(self.slackness, scale)

    def gap(self, L: np.ndarray, pull: np.ndarray) -> float:
        """Objective minus the dual bound Σ λ_t / (1 + ε), S ⪰ −ε P; nan where the rank or a singular P gives none."""
        if L.shape[0] < L.shape[1] or 0 in L.shape:
            return np.nan
        try:
            low = eigh(to_numpy(self.scatter), pull, eigvals_only=True, subset_by_index=[0, 0])[0]
        except LinAlgError:
            return np.nan
        # λ/(1 + ε) is dual feasible: P + Σ λ_t A_t / (1 + ε) = (S + ε P) / (1 + ε) ⪰ 0.
        return self.objective - self.dual / (1 + max(0.0, -float(low)))


@dataclass(frozen=True, eq=False)
class Hinges:
    """Σ_near pairs d² + Σ_t cap_t [margin_t + d²(near_t) − d²(far_t)]₊ with multipliers λ, as augmented Lagrangians.

    Rows of ``V`` are the differences of the pairs that occur, each once; ``near`` and ``far`` (m,) are places among
    them. The interface is that of :class:`Triplets`.
    """

    V: np.ndarray
    near: np.ndarray
    far: np.ndarray
    margin: np.ndarray
    cap: np.ndarray
    lam: np.ndarray
    mu: float = MU

    @classmethod
    def of(cls, Z: np.ndarray, side: Comparisons, push: float) -> "Hinges":
        """The hinges of some comparisons, whose margins are 1 on average."""
        n = linalg.count(Z)
        keys = np.concatenate([i * n + j for i, j in (side.near_ends, side.far_ends)])
        pairs, place = np.unique(keys, return_inverse=True)
        return cls(
            Z[pairs // n] - Z[pairs % n],
            near=place[: len(side)],
            far=place[len(side) :],
            margin=side.margin / side.margin.mean(),
            cap=push * side.weight,
            lam=np.zeros(len(side)),
        )

    def renewed(self, L: np.ndarray, labels: Any) -> "Hinges":
        """The same: there is nothing to search for."""
        return self

    def updated(self, L: np.ndarray) -> "Hinges":
        """λ⁰ ← λ(L)."""
        return replace(self, lam=self.multipliers(self.slacks(L)[1]))

    @cached_property
    def pulled(self) -> np.ndarray:
        """1 for the pairs that should be near, 0 for others."""
        return (np.bincount(self.near, minlength=len(self.V)) > 0).astype(np.float64)

    def slacks(self, L: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Squared distances of all pairs, and s = margin + d²(near) − d²(far) of the comparisons."""
        sqdist = linalg.row_norms(self.V @ L.T)  # (p,)
        return sqdist, self.margin + sqdist[self.near] - sqdist[self.far]

    def multipliers(self, s: np.ndarray) -> np.ndarray:
        """λ = clip(λ⁰ + cap s/μ, 0, cap)."""
        return np.clip(self.lam + self.cap * s / self.mu, 0, self.cap)

    def scatter(self, lam: np.ndarray) -> np.ndarray:
        """S = Σ_near pairs vvᵀ + Σ_t λ_t (vvᵀ of the near pair − vvᵀ of the far pair)."""
        count = len(self.V)
        weights = self.pulled + np.bincount(self.near, lam, count) - np.bincount(self.far, lam, count)
        return self.V.T @ (self.V * weights[:, None])

    def pull(self) -> np.ndarray:
        """Σ_near pairs vvᵀ."""
        return self.scatter(np.zeros(len(self.near)))

    def smoothed(self, L: np.ndarray) -> tuple[float, np.ndarray]:
        """Pull plus smoothed hinges, and the gradient 2 L S."""
        sqdist, s = self.slacks(L)
        lam = self.multipliers(s)
        moved = self.mu / 2 * ((lam - self.lam) ** 2 / self.cap).sum()
        return float(self.pulled @ sqdist + lam @ s - moved), 2 * L @ self.scatter(lam)

    def state(self, L: np.ndarray, ridge: np.ndarray) -> State:
        """Objective and optimality at L."""
        sqdist, s = self.slacks(L)
        lam = self.multipliers(s)
        hinges = self.cap @ np.maximum(s, 0)
        return State(
            objective=float(self.pulled @ sqdist + hinges + (ridge * L**2).sum()),
            slackness=float(hinges - lam @ s),
            dual=float(self.margin @ lam),
            scatter=self.scatter(lam) + np.diag(ridge),
        )
