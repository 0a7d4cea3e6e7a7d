"""Stochastic neighbors: p_ij ∝ exp(−‖z_i − z_j‖²) over j ≠ i, in blocks of rows, on any array namespace.

Both losses made of them have a gradient of the one form 2 L Σ_ij W_ij (x_i − x_j)(x_i − x_j)ᵀ.
"""

from collections.abc import Iterator
from typing import Any

from gramian import _array, linalg

BLOCK_BYTES = 4 << 20
"""Size of a block of probabilities: it should stay in the processor's cache."""


def neighborhoods(Z: Any, rows: slice | None = None) -> Iterator[tuple[slice, Any, Any]]:
    """Blocks ``(rows, P, lse)``: probabilities P (b, n) with P_ii = 0, and lse_i = log Σ_{j≠i} exp(−‖z_i − z_j‖²).

    The largest exponent of each row is subtracted first, so that nothing overflows and each row keeps a neighbor.
    """
    xp = _array.namespace(Z)
    n = Z.shape[0]
    first, last, _ = (rows or slice(None)).indices(n)
    Z = Z - xp.mean(Z, axis=0)
    norms = xp.sum(Z * Z, axis=1)
    for block in linalg.blocks(last - first, 8 * n, BLOCK_BYTES):
        a, b = first + block.start, first + block.stop
        P = Z[a:b, :] @ Z.T
        P *= 2
        P -= norms
        xp.reshape(P, (-1,))[a :: n + 1] = -xp.inf
        top = xp.max(P, axis=1, keepdims=True)
        P -= top
        P = xp.exp(P)
        total = xp.sum(P, axis=1, keepdims=True)
        P /= total
        yield slice(a, b), P, (top + xp.log(total))[:, 0] - norms[a:b]


class Cross:
    """Accumulates G = Σ_ij W_ij (z_i − z_j)(x_i − x_j)ᵀ, (r, d), over blocks of rows of W.

    With Z = XLᵀ this is L times the scatter of X; the sums go over whichever of X and Z costs less.
    """

    def __init__(self, X: Any, Z: Any):
        xp = _array.namespace(X)
        self.X, self.Z = X, Z
        self.degree = xp.zeros(X.shape[0], dtype=X.dtype, device=X.device)
        self.wide = X.shape[1] > 2 * Z.shape[1]
        self.sum = xp.zeros(Z.shape if self.wide else (X.shape[1],) * 2, dtype=X.dtype, device=X.device)

    def add(self, rows: slice, W: Any) -> None:
        """Add the weights W (b, n) of a block of rows."""
        xp = _array.namespace(W)
        self.degree[rows] += xp.sum(W, axis=1)
        self.degree += xp.sum(W, axis=0)
        if self.wide:
            self.sum[rows, :] += W @ self.Z
            self.sum += W.T @ self.Z[rows, :]
        else:
            self.sum += self.X[rows, :].T @ (W @ self.X)

    def total(self, L: Any) -> Any:
        """G, given the factor L of Z = XLᵀ."""
        if self.wide:
            return (self.Z * self.degree[:, None] - self.sum).T @ self.X
        return (self.Z.T * self.degree) @ self.X - L @ (self.sum + self.sum.T)
