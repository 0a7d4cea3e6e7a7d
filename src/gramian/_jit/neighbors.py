"""Selection of the smallest entries of each row, and distances to listed rows."""

import numba
import numpy as np


@numba.njit(cache=True)
def smallest(D, skip, m):
    """Ids and values of the m smallest entries of each row of D, ascending, ties by id; ``skip[i]`` is left out."""
    n = D.shape[0]
    ids = np.full((n, m), -1, np.int64)
    values = np.full((n, m), np.inf, D.dtype)
    for i in range(n):
        worst = values[i, m - 1]
        for j in range(D.shape[1]):
            d = D[i, j]
            if d < worst and j != skip[i]:
                s = m - 1
                while s > 0 and values[i, s - 1] > d:
                    values[i, s] = values[i, s - 1]
                    ids[i, s] = ids[i, s - 1]
                    s -= 1
                values[i, s] = d
                ids[i, s] = j
                worst = values[i, m - 1]
    return ids, values


@numba.njit(cache=True)
def listed_sqdist(Q, X, ids):
    """Squared Euclidean distance of row i of Q to the rows ids[i] of X, by differences (no cancellation)."""
    n, m = ids.shape
    d = X.shape[1]
    out = np.empty((n, m))
    for i in range(n):
        for s in range(m):
            j = ids[i, s]
            a = b = c = e = 0.0
            t = 0
            while t + 3 < d:
                a += np.float64(Q[i, t] - X[j, t]) ** 2
                b += np.float64(Q[i, t + 1] - X[j, t + 1]) ** 2
                c += np.float64(Q[i, t + 2] - X[j, t + 2]) ** 2
                e += np.float64(Q[i, t + 3] - X[j, t + 3]) ** 2
                t += 4
            while t < d:
                a += np.float64(Q[i, t] - X[j, t]) ** 2
                t += 1
            out[i, s] = a + b + c + e
    return out
