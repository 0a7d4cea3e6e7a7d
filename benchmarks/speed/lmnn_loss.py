"""The objective of LMNN over every triplet: an independent road to what the learner minimizes."""

from typing import Any

from gramian import linalg
from gramian._arrays import namespace
from gramian.learners.softmax import Cross


def lmnn_loss(L: Any, X: Any, codes: Any, near: Any, push: float = 1.0) -> tuple[float, Any]:
    """f(L) = Σ_ij d²_ij + push · Σ_ijl [1 + d²_ij − d²_il]₊ and a subgradient (Chatpatanasiri et al. 2010, §2.2).

    d² = ‖L(x_i − x_j)‖², j runs over the target neighbors of i, l over the points of other classes. Every
    triplet is looked at, in blocks of rows, on any array namespace; the learner itself keeps a list of impostors.

    Parameters
    ----------
    L : array (r, d)
    X : array (n, d)
    codes : integer array (n,)
    near : integer array (n, k)
        Target neighbors of each point; a place that holds the point itself is empty.
    push : float
    """
    xp = namespace(X)
    cross = Cross(L, X)
    value = 0.0
    gradient = xp.zeros_like(L)
    Z = cross.Z
    norms = xp.sum(Z * Z, axis=1)
    for j in range(near.shape[1]):
        V = X - xp.take(X, near[:, j], axis=0)
        E = V @ L.T
        pull = xp.sum(E * E, axis=1)
        weight = xp.ones_like(norms)
        real = near[:, j] != xp.arange(X.shape[0], device=X.device)
        for rows in linalg.blocks(X.shape[0], 8 * X.shape[0]):
            S = 1 + (pull - norms)[rows][:, None] - norms[None, :] + 2 * (Z[rows, :] @ Z.T)
            far = (codes[rows][:, None] != codes[None, :]) & real[rows][:, None]
            active = xp.astype((S > 0) & far, X.dtype)
            value += push * float(xp.sum(active * S))
            weight[rows] += push * xp.sum(active, axis=1)
            cross.add_rows(rows, -push * cross.sums(active))
            cross.add_columns(rows, -push * xp.ones_like(active[:, :1]), active)
        value += float(xp.sum(pull))
        gradient += 2 * (E * weight[:, None]).T @ V
    return value, gradient + 2 * cross.total()
