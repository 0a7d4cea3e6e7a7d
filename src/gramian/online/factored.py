"""Rules that add a multiple of vvᵀ to M⁻¹, run on a factor G of M = GᵀG.

M⁺⁻¹ = M⁻¹ + c vvᵀ gives M⁺ = M + β Mv vᵀM with β = −c / (1 + cŷ), ŷ = vᵀMv (Jain 2009, (5.2)), and

    G⁺ = G + a Gv vᵀM,   a = (√(1 + βŷ) − 1) / ŷ = x / ((1 + √(1 + x)) ŷ),   x = βŷ      (§5.2.1).

Storing G makes M positive definite by construction: 1 + x = vᵀM⁺v / vᵀMv > 0 is the only
way in which |det G| changes.
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from gramian import _validate, linalg
from gramian._jit import own_loop
from gramian.metrics import Mahalanobis
from gramian.online.base import KINDS, Direction, Form, Forms, OnlineRule, Stream, with_identity


@dataclass(frozen=True, eq=False)
class Factor:
    """State: G (r, r) with M = GᵀG."""

    G: np.ndarray


@dataclass(frozen=True, eq=False)
class Axes:
    """The axes of a form under M = GᵀG: vectors z_k with z_jᵀMz_k = δ_jk, and μ_k, the eigenvalues of AM.

    M⁺⁻¹ = M⁻¹ + cA has G⁺ = G + Σ_k ((1 + cμ_k)^{-1/2} − 1) Gz_k (Mz_k)ᵀ.
    """

    mu: np.ndarray
    images: np.ndarray
    """Gz_k as columns (r, 2), orthonormal."""
    combination: np.ndarray
    """The z_k as combinations of the vectors, (2, 2)."""

    @classmethod
    def of(cls, G: np.ndarray, form: Form) -> "Axes":
        """Through the thin QR factors of GV: the nonzero eigenvalues of AM are those of R diag(w) Rᵀ."""
        Q, R = np.linalg.qr(G @ form.vectors.T)
        mu, T = np.linalg.eigh((R * form.weights) @ R.T)  # (2,), (2, 2)
        return cls(mu, Q @ T, np.linalg.pinv(R) @ T)

    def stretch(self, c: float) -> np.ndarray:
        """The numbers (1 + cμ_k)^{-1/2} − 1."""
        return 1 / np.sqrt(1 + c * self.mu) - 1

    def moved(self, G: np.ndarray, c: float) -> np.ndarray:
        """G⁺."""
        G_next: np.ndarray = G + (self.images * self.stretch(c)) @ (self.images.T @ G)
        return G_next

    def follow(self, rows: np.ndarray, G: np.ndarray, form: Form, c: float) -> None:
        """Rows h = rG become rG⁺, in place."""
        z = form.vectors.T @ self.combination  # (r, 2)
        rows += ((rows @ z) * self.stretch(c)) @ (self.images.T @ G)


@dataclass(frozen=True, eq=False)
class FactoredRule(OnlineRule[Factor]):
    """Base of LEGO and online ITML: subclasses say how far vᵀMv moves, ``_after(ŷ, y)`` → (vᵀM⁺v, x).

    A subclass that also has a compiled loop names it as ``compiled``; without one, ``_after`` is called for each step.
    """

    eta: float = 1.0
    prior: np.ndarray | None = None
    """Factor G_0 (d, d); None is the identity."""

    def follows(self, state: Factor) -> bool:
        """Always: the step is written on G."""
        return True

    @abstractmethod
    def _after(self, prediction: float, target: float) -> tuple[float, float]: ...

    def init(self, d: int) -> Factor:
        """G_0, the identity unless a prior was given."""
        return Factor(np.eye(d) if self.prior is None else np.array(self.prior, dtype=np.float64))

    def predict(self, state: Factor, v: Direction) -> float:
        """|Gv|², or ⟨A, M⟩ of a form."""
        if isinstance(v, Form):
            return float(v.weights @ linalg.row_norms(v.vectors @ state.G.T))
        p = state.G @ v
        return float(p @ p)

    def coefficient(self, prediction: float, target: float, sign: int) -> float:
        """The number a; 0 when the constraint holds or v is 0."""
        if prediction <= 0 or (sign != 0 and sign * (prediction - target) <= 0):
            return 0.0
        after, x = self._after(prediction, target)
        return float(x / ((1 + np.sqrt(after / prediction)) * prediction))

    def multiplier(self, mu: np.ndarray, target: float) -> float:
        """The number c of M⁺⁻¹ = M⁻¹ + cA for a form with the eigenvalues μ of AM, Σμ ≠ target."""
        raise NotImplementedError(f"{type(self).__name__}: takes distances only, not forms of rank two.")

    def _form_step(self, state: Factor, form: Form, target: float, sign: int) -> tuple[Axes, float]:
        axes = Axes.of(state.G, form)
        gap = float(axes.mu.sum()) - target
        moves = gap != 0 if sign == 0 else sign * gap > 0
        return axes, self.multiplier(axes.mu, target) if moves and axes.mu.any() else 0.0

    def update(self, state: Factor, v: Direction, target: float, kind: str = "equal") -> Factor:
        """G + a Gv (Mv)ᵀ, or the same along both axes of a form."""
        if isinstance(v, Form):
            axes, c = self._form_step(state, v, target, KINDS[kind])
            return state if c == 0 else Factor(axes.moved(state.G, c))
        p = state.G @ v
        a = self.coefficient(float(p @ p), target, KINDS[kind])
        return state if a == 0 else Factor(state.G + a * np.outer(p, state.G.T @ p))  # Jain 2009, §5.2.1

    def stream(
        self,
        state: Factor,
        V: Stream,
        targets: np.ndarray,
        signs: np.ndarray,
        follow: np.ndarray | None = None,
    ) -> tuple[Factor, np.ndarray]:
        """Many constraints, in the compiled loop of the rule where it has one."""
        loop = own_loop(self, "online")
        if loop is None or isinstance(V, Forms):
            return super().stream(state, V, targets, signs, follow)
        G = state.G.copy()
        H = np.empty((0, len(G))) if follow is None else follow  # (n_bits, r)
        predictions = loop(G, H, V, targets, signs, float(self.eta))
        return Factor(G), predictions

    def move(self, state: Factor, v: Direction, target: float, sign: int, rows: np.ndarray) -> None:
        """Rows h become h + a (hv) Mv."""
        if isinstance(v, Form):
            axes, c = self._form_step(state, v, target, sign)
            axes.follow(rows, state.G, v, c)
            return
        p = state.G @ v
        # h + a (hv)(Mv), with Mv = Gᵀp
        rows += self.coefficient(float(p @ p), target, sign) * np.outer(rows @ v, state.G.T @ p)

    def grow(self, state: Factor, k: int) -> Factor:
        """The block matrix of G and I."""
        return Factor(with_identity(state.G, k))

    def metric(self, state: Factor) -> Mahalanobis:
        """The metric with factor G."""
        return Mahalanobis(state.G)

    def finite(self, state: Factor) -> bool:
        """Whether G is finite."""
        return bool(np.isfinite(state.G).all())

    def pack(self, state: Factor) -> dict[str, Any]:
        """G."""
        return {"G": state.G}

    def unpack(self, data: dict[str, Any]) -> Factor:
        """The state of :meth:`pack`."""
        return Factor(data["G"])


def prior_factor(prior: Any, owner: str, d: int) -> np.ndarray | None:
    """Square nonsingular factor of a prior, None for the identity."""
    if isinstance(prior, str):
        return None
    G = prior.components if isinstance(prior, Mahalanobis) else None
    if G is None or G.shape != (d, d):
        G = linalg.psd_sqrt(_validate.psd(prior if G is None else prior.matrix, owner, "prior", d))
    low, high = np.linalg.svd(G, compute_uv=False)[[-1, 0]]
    if low <= d * np.finfo(float).eps * high:
        raise ValueError(f"{owner}: prior must be positive definite, got a singular matrix.")
    return G
