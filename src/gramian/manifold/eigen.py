"""The smallest eigenvectors of a symmetric matrix on the complement of a given vector."""

from itertools import count
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg as sla
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh
from sklearn.exceptions import ConvergenceWarning

from gramian import _validate, linalg

DENSE = 1000
"""Up to this many points the dense eigensolver is used."""


class Search(NamedTuple):
    """Settings of the Lanczos iteration: accuracy, limit, and what draws its start."""

    tol: float = 1e-6
    max_iter: int | None = None
    random_state: Any = 0


class Eigenvectors(NamedTuple):
    """Eigenvalues ascending (k,), eigenvectors (n, k), and how many matrix-vector products they took."""

    values: np.ndarray
    vectors: np.ndarray
    n_iter: int


def smallest_eigenvectors(
    S: Any, k: int, trivial: np.ndarray | None = None, search: Search | None = None
) -> Eigenvectors:
    """Min tr(XᵀSX) over orthonormal X (n, k) with Xᵀt = 0: eigenvalues ascending and X, signs fixed.

    The unit vector t is removed by deflation, S → (I − ttᵀ) S (I − ttᵀ) + σ ttᵀ with σ above the spectrum, and never
    by looking for an eigenvalue 0: S may be indefinite. Large problems use Lanczos on the sparse matrix.
    """
    n = S.shape[0]
    k = min(k, n - (trivial is not None))
    if k <= 0:
        return Eigenvectors(np.zeros(0), np.zeros((n, 0)), 1)
    if n <= max(DENSE, 3 * k):
        values, X = _dense(S, k, trivial)
        return Eigenvectors(values, linalg.oriented(X), 1)
    values, X, n_iter = lanczos(S, k, trivial, search or Search())
    return Eigenvectors(values, linalg.oriented(X), n_iter)


def upper_bound(S: Any) -> float:
    """A number at or above the largest eigenvalue (Gershgorin)."""
    return float(np.asarray(abs(S).sum(axis=1)).max(initial=0.0)) or 1.0


def _dense(S: Any, k: int, t: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    A = linalg.dense(S).astype(float)
    if t is not None:
        At = A @ t  # (n,)
        # (I − ttᵀ) A (I − ttᵀ) + σ ttᵀ, multiplied out
        A = A - np.outer(t, At) - np.outer(At, t) + (t @ At + 2 * upper_bound(A)) * np.outer(t, t)
    values, X = sla.eigh(linalg.symmetrize(A), subset_by_index=[0, k - 1])
    return values, X


def lanczos(S: Any, k: int, t: np.ndarray | None, search: Search) -> tuple[np.ndarray, np.ndarray, int]:
    """Lanczos for the largest eigenvalues of top·I − S; stops at a residual of tol times the mean diagonal of S."""
    n = S.shape[0]
    top = upper_bound(S)  # σ
    counter = count()

    def product(x: np.ndarray) -> np.ndarray:
        next(counter)
        return flipped(S, top, t, x.ravel())

    operator = LinearOperator((n, n), matvec=product, dtype=float)
    start = _validate.random(search.random_state, "smallest_eigenvectors").standard_normal(n)
    # ARPACK measures residuals against the eigenvalue, here about ``top``, which hubs of the graph make large.
    tol = search.tol * min(1.0, np.abs(S.diagonal()).mean() / top)
    limit = search.max_iter or 10 * n  # restarts
    width = min(n - 1, k + max(k, 40))
    try:
        values, X = eigsh(operator, k, which="LA", v0=start, ncv=width, tol=tol, maxiter=limit)
    except ArpackNoConvergence as error:
        values, X = completed(error, k, n)
        _validate.warn(
            f"smallest_eigenvectors: {len(error.eigenvalues)} of {k} eigenvectors reached tol {search.tol:.3g} in "
            f"{limit} iterations; raise max_iter or tol.",
            ConvergenceWarning,
        )
    order = np.argsort(-values, kind="stable")
    return top - values[order], X[:, order], next(counter)


def flipped(S: Any, top: float, t: np.ndarray | None, x: np.ndarray) -> np.ndarray:
    """(top·I − S) x; with t that on its complement, and −top on t itself: below all that is wanted."""
    along = 0.0 if t is None else t @ x
    y: np.ndarray = x if t is None else x - along * t
    y = top * y - S @ y
    return y if t is None else y - (t @ y + top * along) * t


def completed(error: ArpackNoConvergence, k: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """What converged, with zero columns in place of the rest, so that shapes hold."""
    m = len(error.eigenvalues)
    values = np.full(k, error.eigenvalues.min(initial=0.0))
    values[:m] = error.eigenvalues
    X = np.zeros((n, k))  # zero columns where nothing converged
    X[:, :m] = error.eigenvectors
    return values, X
