"""Leading eigenpairs of a symmetric matrix or operator: by Lanczos while they are few, densely beyond."""

from inspect import signature
from typing import Any

import numpy as np
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

from gramian.rankmin.parts import dense, operator

Eigenpairs = tuple[np.ndarray, np.ndarray]

_DENSE = 200
"""Matrices up to this size, and requests for more than a twelfth of the spectrum, are decomposed densely."""

TOL = 1e-6
"""Relative accuracy of eigenvalues found by Lanczos."""

# A start fixed by a seed is not enough: ARPACK draws again where the Krylov space is exhausted.
_SEEDED = {"rng": 0} if "rng" in signature(eigsh).parameters else {}


def leading(A: Any, k: int, largest: str = "LA") -> Eigenpairs:
    """At least k of the algebraically largest ("LA") or largest in magnitude ("LM") eigenpairs, in descending order."""
    n = A.shape[0]
    found = _lanczos(A, k, largest) if n > _DENSE and 12 * k <= n else None
    if found is not None and k > 1:
        found = _completed(A, found, k, largest)
    return _ordered(*np.linalg.eigh(dense(A)), largest) if found is None else found


def complement(A: Any, Q: np.ndarray) -> LinearOperator:
    """(I − QQᵀ) A (I − QQᵀ) for orthonormal columns Q."""

    def off(x: np.ndarray) -> np.ndarray:
        return x - Q @ (Q.T @ x)

    return operator(A.shape[0], lambda x: off(A @ off(x)))


def _ordered(values: np.ndarray, vectors: np.ndarray, largest: str) -> Eigenpairs:
    order = np.argsort(-(np.abs(values) if largest == "LM" else values), kind="stable")
    return values[order], vectors[:, order]


def _lanczos(A: Any, k: int, largest: str) -> Eigenpairs | None:
    """None where it does not converge; up to n = 2,000 it may take about the time of a dense decomposition."""
    n = A.shape[0]
    start, restarts = np.random.RandomState(0).standard_normal(n), n // 20 if n <= 2000 else None
    try:
        values, vectors = eigsh(A, k=k, which=largest, v0=start, tol=TOL, maxiter=restarts, **_SEEDED)
    except ArpackError:
        return None
    return _ordered(values, vectors, largest)


def _completed(A: Any, found: Eigenpairs, k: int, largest: str) -> Eigenpairs | None:
    """Lanczos misses copies of a multiple eigenvalue: look again off what it found, until nothing larger is there."""
    while 12 * len(found[0]) <= A.shape[0]:
        values, vectors = found
        rest = complement(A, vectors)  # 0 on what was found, which counts as the least that matters
        limit = abs(values[k - 1]) if largest == "LM" else max(values[k - 1], 0.0)
        seen = _lanczos(rest, 1, largest)
        if seen is not None and abs(seen[0][0]) <= limit + TOL * abs(values[0]):
            return found
        more = _lanczos(rest, k, largest)
        if more is None:
            return None
        found = _ordered(np.append(values, more[0]), np.hstack([vectors, more[1]]), largest)
    return None
