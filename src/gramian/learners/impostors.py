"""Hinge losses over triplets (point, target, impostor), kept as one sparse graph of pairs."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, eigh

from gramian import _device, linalg
from gramian.constraints import Labels
from gramian.learners import factor_descent, neighbor_targets
from gramian.learners.pair_graph import DevicePairGraph, PairGraph
from gramian.solvers.descent import share, stationarity

BUFFER = 0.15
"""How far beyond the margin a pair is still a candidate impostor."""


@dataclass(frozen=True, eq=False)
class Triplets:
    """Hinges Σ c_i [1 + d²_ij − d²_il]₊ over targets j = near[i] and candidate impostors l, with multipliers λ.

    c_i = push · w_i with the weights w of the points, which count in the pull Σ w_i d²_ij as well; 1 when None.

    For pair t = (anchor, other) and target j the smoothed hinge is max_{0≤λ≤cap} λ s − (μ/2c)(λ − λ⁰)²: the augmented
    Lagrangian of the hinge, exact when λ⁰ is the optimal multiplier, whatever μ.
    """

    Z: np.ndarray
    near: np.ndarray
    push: float
    anchor: np.ndarray
    other: np.ndarray
    lam: np.ndarray
    mu: float = 0.25
    weight: np.ndarray | None = None
    order: np.ndarray | None = None
    """The points in the order of their classes, once it was needed."""

    @classmethod
    def none(cls, Z: np.ndarray, near: np.ndarray, push: float, weight: np.ndarray | None = None) -> "Triplets":
        """No impostor yet."""
        empty = linalg.numbers(0, Z)
        lam = linalg.full((0, near.shape[1]), 0.0, Z)
        return cls(Z, near, float(push), empty, empty, lam, weight=None if weight is None else linalg.placed(weight, Z))

    def renewed(self, L: np.ndarray, labels: Labels) -> "Triplets":
        """Candidates within the buffer of the margin at L; multipliers of pairs that stay are kept."""
        E = self.Z @ L.T
        reach = 1 + BUFFER + np.stack([linalg.pair_sqdist(E, E[column]) for column in self.near.T]).max(axis=0)
        order = neighbor_targets.by_class(labels, E) if self.order is None else self.order
        anchor, other = neighbor_targets.closer_than(E, labels, np.where(self.real.any(axis=1), reach, -np.inf), order)
        lam = linalg.full((len(anchor), self.near.shape[1]), 0.0, E)
        if len(self.anchor):
            n = len(self.Z)
            old, new = self.anchor * n + self.other, anchor * n + other
            place = np.minimum(np.searchsorted(old, new), len(old) - 1)
            kept = old[place] == new
            lam[kept] = self.lam[place[kept]]
        return Triplets(self.Z, self.near, self.push, anchor, other, lam, self.mu, self.weight, order)

    def updated(self, L: np.ndarray) -> "Triplets":
        """λ⁰ ← λ(L)."""
        return replace(self, lam=self.multipliers(self.slacks(self.Z @ L.T)[1]))

    @cached_property
    def real(self) -> np.ndarray:
        """Which targets there are, (n, k); a point stands for one that is missing."""
        return self.near != linalg.numbers(len(self.near), self.near)[:, None]

    @cached_property
    def cap(self) -> np.ndarray:
        """Upper bounds c of the multipliers, (m, k): ``push`` times the weight, or zero where the target is missing."""
        cap = self.push * self.real[self.anchor]
        return cap if self.weight is None else cap * self.weight[self.anchor][:, None]

    def _pulled(self, near: np.ndarray) -> float:
        """Σ w_i d²_ij of target distances (n, k)."""
        return float(near.sum() if self.weight is None else (near * self.weight[:, None]).sum())

    @cached_property
    def pairs(self) -> PairGraph:
        """The pairs of points that distances are needed of, where the points are."""
        kind = DevicePairGraph if isinstance(self.Z, _device.DeviceArray) else PairGraph
        return kind(self.near, self.anchor, self.other)

    def slacks(self, E: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Target distances d²_ij (n, k) and s = 1 + d²_ij − d²_il (m, k) of the embedded points E."""
        near = np.stack([linalg.pair_sqdist(E, E[column]) for column in self.near.T], axis=1)
        s = near.take(self.anchor, axis=0)
        s -= (self.pairs.sqdist(E) - 1)[:, None]
        return near, s

    def multipliers(self, s: np.ndarray) -> np.ndarray:
        """λ = clip(λ⁰ + c s/μ, 0, c) (m, k); a missing target has c = 0."""
        lam = self.cap * s
        lam /= self.mu
        lam += self.lam
        return np.clip(lam, 0, self.cap, out=lam)

    def scatter(self, lam: np.ndarray) -> np.ndarray:
        """S = Σ_ij w_i v_ij v_ijᵀ + Σ_ijl λ_ijl (v_ij v_ijᵀ − v_il v_ilᵀ), through one sparse Laplacian."""
        own: Any = 1 if self.weight is None else self.weight[:, None]
        pairs = self.pairs
        return pairs.scatter(self.Z, own + pairs.sums(lam), -lam.sum(axis=1))

    def pull(self) -> np.ndarray:
        """Σ_ij w_i v_ij v_ijᵀ over target pairs."""
        return factor_descent.pull(self.Z, self.near, self.weight)

    def smoothed(self, L: np.ndarray) -> tuple[float, np.ndarray]:
        """Pull plus smoothed hinges, and the gradient 2 L S."""
        near, s = self.slacks(self.Z @ L.T)
        lam = self.multipliers(s)
        value = self._pulled(near) + np.vdot(lam, s)
        moved = np.subtract(lam, self.lam, out=s)
        if self.weight is not None:
            moved = moved / np.sqrt(self.weight[self.anchor])[:, None]
        return float(value - self.mu / (2 * self.push) * np.vdot(moved, moved)), 2 * L @ self.scatter(lam)

    def state(self, L: np.ndarray, ridge: np.ndarray) -> "State":
        """Objective and optimality at L."""
        near, s = self.slacks(self.Z @ L.T)
        lam = self.multipliers(s)
        hinges = self.cap * np.maximum(s, 0)
        return State(
            objective=float(self._pulled(near) + hinges.sum() + (ridge * L**2).sum()),
            slackness=float(hinges.sum() - np.vdot(lam, s)),
            dual=float(lam.sum()),
            scatter=self.scatter(lam) + np.diag(ridge),
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
        if L.shape[0] < L.shape[1] or L.size == 0:
            return np.nan
        try:
            both = _device.to_host(self.scatter), _device.to_host(pull)
            low = eigh(*both, eigvals_only=True, subset_by_index=[0, 0])[0]
        except LinAlgError:
            return np.nan
        # λ/(1 + ε) is dual feasible: P + Σ λ_t A_t / (1 + ε) = (S + ε P) / (1 + ε) ⪰ 0.
        return self.objective - self.dual / (1 + max(0.0, -float(low)))
