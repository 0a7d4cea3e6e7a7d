"""The k nearest rows on a device, exactly: products in single precision, and what they leave open in double.

A row [−2z, 1, |z|²] times [z, |z|², 1] is a squared distance, so one matrix product gives all of them. Of each run
of columns only the smallest is looked at: the m smallest entries lie in the m runs with the smallest minima. The m
candidates are compared again from their differences in double; the answer stands where the bound of the last candidate,
less the rounding of single precision, is above the k-th distance, and is computed from all rows elsewhere.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gramian._device.memory import DISTANCES, block_bytes, rounding
from gramian._device.ordering import lowest

RUN = 64
"""Columns of which the smallest entry is taken first."""
SPARE = 16
"""Candidates beyond k."""


@dataclass(frozen=True, eq=False)
class DeviceScan:
    """Rows z = (x − center) / unit: ``right`` [z, |z|², 1] in single precision, padded to whole runs; |z|² ≤ reach."""

    center: Any
    unit: float
    right: Any
    n: int
    reach: Any
    entry_bytes = 4

    @classmethod
    def of(cls, X: Any) -> "DeviceScan":
        """Scan of the rows of X."""
        n = len(X)
        center = np.mean(X, axis=0)
        Z = X - center
        unit = 2.0 ** int(np.frexp(float(np.max(np.abs(Z), initial=0.0)))[1])
        Z = (Z / unit).astype(np.float32)
        norms = np.sum(Z * Z, axis=1, keepdims=True)
        reach = np.max(norms, initial=0.0)
        width = Z.shape[1]
        right = _aligned([Z, norms, np.ones_like(norms)])
        missing = -n % RUN if n > RUN else 0
        if missing:
            # Rows that are infinitely far away.
            far = np.zeros((missing, right.shape[1]), like=right)
            far[:, width : width + 1] = np.inf
            right = np.concatenate([right, far])
        return cls(center, unit, right, n, reach)

    def only(self, mask: Any) -> "DeviceScan":
        """The same scan in which the other rows are infinitely far away."""
        right = self.right.copy()
        some = np.concatenate([mask, np.zeros(len(right) - self.n, bool)])
        norms = slice(len(self.center), len(self.center) + 1)
        right[:, norms] = np.where(some[:, None], right[:, norms], np.inf)
        return replace(self, right=right)

    def bounds(self, Q: Any) -> tuple[Any, Any]:
        """Squared distances of queries to all rows, in units², (m, padded n), and how far rounding may be off, (m,)."""
        Z = ((Q - self.center) / self.unit).astype(np.float32)
        norms = np.sum(Z * Z, axis=1, keepdims=True)
        left = _aligned([-2 * Z, np.ones_like(norms), norms])
        error = 2 * (Z.shape[1] + 10) * rounding(Z) * (norms[:, 0] + self.reach)
        return left @ self.right.T, error

    def points(self, Q: Any) -> Any:
        """The coordinates of queries in which distances are exact."""
        return Q

    def shortlist(self, D: Any, m: int) -> tuple[Any, Any]:
        """Values and columns of the m smallest entries of each row, ascending."""
        runs = D.shape[1] // RUN
        if D.shape[1] % RUN or runs < 4 * m:
            return lowest(D, m)
        D = np.reshape(D, (len(D), runs, RUN))
        _, chosen = lowest(np.min(D, axis=2), m)
        rows = np.arange(len(D), like=chosen)[:, None]
        values, places = lowest(np.reshape(D[rows, chosen], (len(D), m * RUN)), m)
        return values, np.take_along_axis(chosen, places // RUN, axis=1) * RUN + places % RUN


def _aligned(parts: list) -> Any:
    """Columns side by side, with columns of zeros up to a multiple of eight: products are much faster then."""
    missing = -sum(part.shape[1] for part in parts) % 8
    return np.concatenate([*parts, np.zeros((len(parts[0]), missing), like=parts[0])], axis=1)


def search(scan: DeviceScan, X: Any, Q: Any, k: int, skip: Any | None = None) -> tuple[Any, Any]:
    """Rows (m, k) of X and squared distances of the k nearest to each query, ascending, ties by row.

    ``skip`` (m,) is a row that is no neighbor of query i.
    """
    step = max(1, block_bytes(X, DISTANCES) // (scan.entry_bytes * max(len(scan.right), 1)))
    parts = [
        _piece(scan, X, Q[start : start + step], k, None if skip is None else skip[start : start + step])
        for start in range(0, len(Q), step)
    ]
    ids, values = zip(*parts)
    return (ids[0], values[0]) if len(parts) == 1 else (np.concatenate(ids), np.concatenate(values))


def _piece(scan: DeviceScan, X: Any, Q: Any, k: int, skip: Any | None) -> tuple[Any, Any]:
    wanted = k + (skip is not None)
    m = min(wanted + max(SPARE, wanted // 4), scan.n)
    D, error = scan.bounds(Q)
    Q = scan.points(Q)
    lower, ids = scan.shortlist(D, m)
    ids = np.sort(np.where(lower < np.inf, ids, scan.n - 1), axis=1)  # ties by row: the order below is stable
    exact = _distances(X, Q, ids)
    names, values = _first(exact, ids, k, skip)
    if m == scan.n:
        return names, values
    last = values[:, -1] / scan.unit**2
    undecided = np.flatnonzero(last >= lower[:, -1] - error)
    for place in range(len(undecided)):
        i = int(undecided[place])
        near = np.flatnonzero(D[i] <= last[i] + error[i])[None, :]
        one = slice(i, i + 1)
        exact = _distances(X, Q[one], near)
        names[one], values[one] = _first(exact, near, k, None if skip is None else skip[one])
    return names, values


def search_radius(scan: DeviceScan, X: Any, Q: Any, limit: float) -> list[tuple[Any, Any]]:
    """Rows of X and squared distances of all that are within the limit of each query, ascending, ties by row."""
    found = []
    for i in range(len(Q)):
        one = Q[i : i + 1]
        D, error = scan.bounds(one)
        one = scan.points(one)
        near = np.flatnonzero(D[0] <= limit / scan.unit**2 + error[0])[None, :]
        names, values = _first(_distances(X, one, near), near, near.shape[1], None)
        inside = values[0] <= limit
        found.append((names[0][inside], values[0][inside]))
    return found


def _distances(X: Any, Q: Any, ids: Any) -> Any:
    """Squared distances of queries to their listed rows, from the differences, in double."""
    V = np.subtract(X[ids], Q[:, None, :], dtype=np.float64)
    return np.sum(V * V, axis=2)


def _first(D: Any, ids: Any, k: int, skip: Any) -> tuple[Any, Any]:
    """The k smallest, ascending; equal ones in the order given."""
    if skip is not None:
        D = np.where(ids == skip[:, None], np.inf, D)
    order = np.argsort(D, axis=1)[:, :k]
    return np.take_along_axis(ids, order, axis=1), np.take_along_axis(D, order, axis=1)
