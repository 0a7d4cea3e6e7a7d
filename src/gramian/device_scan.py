"""The k nearest rows on a device, exactly: products in single precision, and what they leave open in double.

A row [−2z, 1, |z|²] times [z, |z|², 1] is a squared distance, so one matrix product gives all of them. Of each run
of columns only the smallest is looked at: the m smallest entries lie in the m runs with the smallest minima. The m
candidates are compared again from their differences in double; the answer stands where the bound of the last candidate,
less the rounding of single precision, is above the k-th distance, and is computed from all rows elsewhere.
"""

import sys
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gramian import linalg
from gramian._arrays import Array, block_bytes, namespace, rounding
from gramian.linalg import take

RUN = 64
"""Columns of which the smallest entry is taken first."""
SPARE = 16
"""Candidates beyond k."""
BLOCK_BYTES = 64 << 20
"""Size of a block of distances where the device is a processor with caches."""


@dataclass(frozen=True, eq=False)
class DeviceScan:
    """Rows z = (x − center) / unit: ``right`` [z, |z|², 1] in single precision, padded to whole runs; |z|² ≤ reach."""

    center: Any
    unit: float
    right: Any
    n: int
    reach: float

    @classmethod
    def of(cls, X: Array) -> "DeviceScan":
        """Scan of the rows of X."""
        xp, (n, d) = namespace(X), X.shape
        center = linalg.mean(X)
        Z = X - center
        largest = float(xp.max(abs(Z))) if 0 not in Z.shape else 0.0
        unit = 2.0 ** int(np.frexp(largest)[1])
        Z = linalg.single(Z / unit)  # (n, d)
        norms = xp.sum(Z * Z, axis=1, keepdims=True)  # (n, 1)
        reach = float(xp.max(norms)) if n else 0.0
        right = _aligned([Z, norms, xp.ones_like(norms)])
        missing = -n % RUN if n > RUN else 0
        if missing:  # rows that are infinitely far away
            far = linalg.full((missing, right.shape[1]), 0.0, right)
            far[:, d] = xp.inf
            right = xp.concat([right, far])
        return cls(center, unit, right, n, reach)

    def only(self, mask: Array) -> "DeviceScan":
        """The same scan in which the other rows are infinitely far away."""
        xp, d = namespace(self.right), self.center.shape[0]
        right = xp.asarray(self.right, copy=True)
        right[: self.n, d] = xp.where(mask, right[: self.n, d], xp.inf)
        return replace(self, right=right)

    def bounds(self, Q: Array) -> tuple[Any, Any]:
        """Squared distances of queries to all rows, in units², (m, padded n), and how far rounding may be off, (m,)."""
        Z, xp = linalg.single((Q - self.center) / self.unit), namespace(Q)
        norms = xp.sum(Z * Z, axis=1, keepdims=True)
        left = _aligned([-2 * Z, xp.ones_like(norms), norms])
        error = 2 * (Z.shape[1] + 10) * rounding(Z) * (norms[:, 0] + self.reach)
        return left @ self.right.T, error


def shortlist(D: Array, m: int) -> tuple[Any, Any]:
    """Values and columns of the m smallest entries of each row, ascending."""
    runs, xp = D.shape[1] // RUN, namespace(D)
    if D.shape[1] % RUN or runs < 4 * m:
        return lowest(D, m)
    D = xp.reshape(D, (D.shape[0], runs, RUN))
    _, places = lowest(xp.min(D, axis=2), m)  # (n, m), of the runs
    entries = xp.take_along_axis(D, xp.broadcast_to(places[:, :, None], (*places.shape, RUN)), axis=1)
    values, order = lowest(xp.reshape(entries, (D.shape[0], m * RUN)), m)
    return values, xp.take_along_axis(places, order // RUN, axis=1) * RUN + order % RUN


def lowest(D: Array, k: int) -> tuple[Any, Any]:
    """Values (n, k) and columns of the k smallest entries of each row, ascending."""
    torch, cupy, xp = sys.modules.get("torch"), sys.modules.get("cupy"), namespace(D)
    if torch is not None and isinstance(D, torch.Tensor):
        values, columns = torch.topk(D, k, dim=1, largest=False, sorted=True)
        return values, columns
    if cupy is not None and isinstance(D, cupy.ndarray) and k < D.shape[1]:
        candidates = cupy.argpartition(D, k, axis=1)[:, :k]
        candidates = xp.take_along_axis(
            candidates, xp.argsort(xp.take_along_axis(D, candidates, axis=1), axis=1), axis=1
        )
    else:
        candidates = xp.argsort(D, axis=1)[:, :k]
    return xp.take_along_axis(D, candidates, axis=1), candidates


def _aligned(parts: list[Any]) -> Array:
    """Columns side by side, with columns of zeros up to a multiple of eight: products are much faster then."""
    missing = -sum(piece.shape[1] for piece in parts) % 8
    return namespace(parts[0]).concat([*parts, linalg.full((parts[0].shape[0], missing), 0.0, parts[0])], axis=1)


def search(scan: DeviceScan, X: Array, Q: Array, k: int, skip: Any = None) -> tuple[Any, Any]:
    """Rows (m, k) of X and squared distances of the k nearest to each query, ascending, ties by row.

    ``skip`` (m,) is a row that is no neighbor of query i.
    """
    xp, n = namespace(X), Q.shape[0]
    step = max(1, block_bytes(X, BLOCK_BYTES) // (4 * max(scan.right.shape[0], 1)))
    pieces = [slice(start, min(start + step, n)) for start in range(0, n, step)]
    answers = [_piece(scan, X, Q[rows, :], k, None if skip is None else skip[rows]) for rows in pieces]
    if not answers:
        return linalg.numbers(0, X)[:, None][:, :0], linalg.empty((0, k), X)
    return xp.concat([ids for ids, _ in answers]), xp.concat([values for _, values in answers])


def _piece(scan: DeviceScan, X: Array, Q: Array, k: int, skip: Any) -> tuple[Any, Any]:
    wanted, xp = k + (skip is not None), namespace(X)
    m = min(wanted + max(SPARE, wanted // 4), scan.n)
    D, error = scan.bounds(Q)
    lower, ids = shortlist(D, m)
    ids = xp.sort(xp.where(lower < xp.inf, ids, scan.n - 1), axis=1)  # ties by row: the order below is stable
    names, values = _first(_distances(X, Q, ids), ids, k, skip)
    if m == scan.n:
        return names, values
    last = values[:, -1] / scan.unit**2
    for i in linalg.listed(xp.nonzero(last >= lower[:, -1] - error)[0]):
        candidates = xp.nonzero(D[i, :] <= last[i] + error[i])[0][None, :]
        one = slice(i, i + 1)
        best = _first(_distances(X, Q[one, :], candidates), candidates, k, None if skip is None else skip[one])
        names[one, :], values[one, :] = best
    return names, values


def search_radius(scan: DeviceScan, X: Array, Q: Array, limit: float) -> list[tuple[Any, Any]]:
    """Rows of X and squared distances of all that are within the limit of each query, ascending, ties by row."""
    answers, xp = [], namespace(X)
    for i in range(Q.shape[0]):
        one = Q[i : i + 1, :]
        D, error = scan.bounds(one)
        candidates = xp.nonzero(D[0, :] <= limit / scan.unit**2 + error[0])[0][None, :]
        names, values = _first(_distances(X, one, candidates), candidates, candidates.shape[1], None)
        inside = xp.nonzero(values[0, :] <= limit)[0]
        answers.append((take(names[0, :], inside), take(values[0, :], inside)))
    return answers


def _distances(X: Array, Q: Array, ids: Any) -> Array:
    """Squared distances of queries to their listed rows, from the differences, in double."""
    V = linalg.double(take(X, ids)) - linalg.double(Q)[:, None, :]  # (m, k, d)
    return namespace(V).sum(V * V, axis=2)


def _first(D: Array, ids: Any, k: int, skip: Any) -> tuple[Any, Any]:
    """The k smallest, ascending; equal ones in the order given."""
    xp = namespace(D)
    D = D if skip is None else xp.where(ids == skip[:, None], xp.inf, D)
    order = xp.argsort(D, axis=1, stable=True)[:, :k]
    return xp.take_along_axis(ids, order, axis=1), xp.take_along_axis(D, order, axis=1)
