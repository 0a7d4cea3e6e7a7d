"""Quadratic forms of matrix exponentials along a line, from the few directions that they depend on."""

import numpy as np

LARGEST = 600.0
"""Largest eigenvalue of log M: beyond it exp would overflow."""
STEP = 12
"""Directions that are added at a time."""
LAST = 1e-12
"""Share of the exponential's first column that may leave the space: the form then lacks about the square of it."""
NOTHING = 1e-13
"""Length, relative to that of Sq, below which Sq has no part outside of the space."""


class AlongLine:
    """c ↦ vᵀ exp(S − c vvᵀ) v for a symmetric S (d, d) and v ≠ 0, without an eigenvalue problem of size d.

    The matrices S − c vvᵀ have one Krylov space from v for all c. With its orthonormal basis q₁ = v/‖v‖, …, q_m by
    Lanczos' recurrence, T = QᵀSQ is tridiagonal and the form is ‖v‖² e₁ᵀ exp(T − c‖v‖² e₁e₁ᵀ) e₁, exactly so where S
    maps the space into itself, with m = d at the latest. Directions are added, each orthogonal to all before it, until
    what leaves the space no longer counts (Saad 1992).
    """

    def __init__(self, S: np.ndarray, v: np.ndarray) -> None:
        self.S = S
        self.square = float(v @ v)
        self.basis = v[None] / np.sqrt(self.square)
        self.T = np.zeros((0, 0))
        self.leaving = 1.0

    def __call__(self, c: float) -> float:
        """The form, a large number where it would overflow."""
        while True:
            first, last = self._column(c) if len(self.T) else (0.0, 1.0)
            if self.leaving * abs(last) <= LAST * first:
                return self.square * first
            self._extend()

    def _column(self, c: float) -> tuple[float, float]:
        """The first and the last entry of exp(T − c‖v‖² e₁e₁ᵀ) e₁."""
        T = self.T.copy()
        T[0, 0] -= c * self.square
        values, U = np.linalg.eigh(T)
        column = np.exp(np.minimum(values, LARGEST)) * U[0]
        return float(column @ U[0]), float(column @ U[-1])

    def _extend(self) -> None:
        """More directions, as far as there are any."""
        m, d = len(self.T), len(self.S)
        most = min(m + STEP, d)
        T, Q = np.zeros((most, most)), np.empty((most + 1, d))
        T[:m, :m], Q[: m + 1] = self.T, self.basis
        for j in range(m, most):
            if j:
                T[j, j - 1] = T[j - 1, j] = self.leaving
            w = self.S @ Q[j]
            T[j, j] = Q[j] @ w
            size = np.sqrt(w @ w)
            for _ in range(2):
                w -= (Q[: j + 1] @ w) @ Q[: j + 1]
            self.leaving = float(np.sqrt(w @ w))
            if j + 1 == d or self.leaving <= NOTHING * size:
                self.leaving, most = 0.0, j + 1
                break
            Q[j + 1] = w / self.leaving
        self.T, self.basis = T[:most, :most], Q[: most + 1]
