"""Hinge losses over comparisons that were given: no search, every row is there from the start."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from gramian import linalg
from gramian.constraints import Comparisons
from gramian.learners.impostors import State

MU = 0.25
"""First sharpness of the hinges, as in :mod:`gramian.learners.impostors`."""


@dataclass(frozen=True, eq=False)
class Hinges:
    """Σ_near pairs d² + Σ_t cap_t [margin_t + d²(near_t) − d²(far_t)]₊ with multipliers λ, as augmented Lagrangians.

    Rows of ``V`` are the differences of the pairs that occur, each once; ``near`` and ``far`` (m,) are places among
    them. The interface is that of :class:`.impostors.Triplets`.
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
        sqdist = linalg.row_norms(self.V @ L.T)
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
