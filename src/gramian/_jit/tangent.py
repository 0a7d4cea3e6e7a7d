"""The small dense algebra of tangent distance, one image or one pair at a time."""

import numpy as np

from gramian._jit.compiler import njit


@njit()
def orthonormalize(T, tol):
    """Rows of each T[i] (t, p) made orthonormal in place (modified Gram–Schmidt, twice); dependent rows become zero."""
    n, t, p = T.shape
    for i in range(n):
        for a in range(t):
            before = 0.0
            for x in range(p):
                before += T[i, a, x] ** 2
            for _ in range(2):
                for b in range(a):
                    dot = 0.0
                    for x in range(p):
                        dot += T[i, a, x] * T[i, b, x]
                    for x in range(p):
                        T[i, a, x] -= dot * T[i, b, x]
            after = 0.0
            for x in range(p):
                after += T[i, a, x] ** 2
            scale = 1 / np.sqrt(after) if after > tol * before and after > 0 else 0.0
            for x in range(p):
                T[i, a, x] *= scale


@njit()
def residuals(P, own_x, own_y, sides, floor):
    """Squared tangent distance of one x to m images y, from inner products of their frames (tangents, then image).

    P[s, a, b] = <frame a of y_s, frame b of x>; own_x (t + 1,) and own_y (m, t + 1) hold <tangent, image> and |image|².
    """
    m, t = P.shape[0], P.shape[1] - 1
    out = np.empty(m)
    a, r = np.empty(t), np.empty(t)
    S = np.empty((t, t))
    for s in range(m):
        total = np.float64(own_x[t]) + own_y[s, t] - 2 * np.float64(P[s, t, t])
        size = np.float64(own_x[t]) + own_y[s, t]
        for b in range(t):
            a[b] = own_x[b] - P[s, t, b]  # Qxᵀ(x − y)
            total -= a[b] ** 2
        if sides == 2:
            for c in range(t):
                r[c] = P[s, c, t] - own_y[s, c]  # Qyᵀ(x − y), less what Qx explains
                for b in range(t):
                    r[c] -= P[s, c, b] * a[b]
                for e in range(c + 1):
                    dot = 1.0 if c == e else 0.0
                    for b in range(t):
                        dot -= P[s, c, b] * P[s, e, b]
                    S[c, e] = dot
            # Cholesky of S = I − GᵀG; a pivot at the floor is a direction both planes share, already used.
            for c in range(t):
                for e in range(c):
                    dot = S[c, e]
                    for b in range(e):
                        dot -= S[c, b] * S[e, b]
                    S[c, e] = dot * S[e, e]
                    r[c] -= S[c, e] * r[e]
                pivot = S[c, c]
                for b in range(c):
                    pivot -= S[c, b] ** 2
                S[c, c] = 1 / np.sqrt(pivot) if pivot > floor else 0.0
                r[c] *= S[c, c]
                total -= r[c] ** 2
        out[s] = total if total > 4 * floor * size else 0.0
    return out
