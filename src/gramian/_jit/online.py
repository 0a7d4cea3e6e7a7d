"""Streams of rank-one steps: one compiled pass over the matrix for each constraint."""

import math

import numpy as np

from gramian._jit.compiler import njit


@njit(fastmath={"reassoc", "contract"})
def dot(a, b):
    """Inner product; the sum may be reordered, so that it runs in vector registers."""
    s = 0.0
    for j in range(a.shape[0]):
        s += a[j] * b[j]
    return s


@njit(error_model="numpy")
def _lego_after(p, y, eta):
    """LegoRule.after: zᵀM⁺z and x for prediction p = zᵀMz > 0 and target y."""
    t = eta * y * p - 1.0
    h = math.hypot(t, 2.0 * math.sqrt(eta) * p)
    after = 2.0 * p / (h - t) if t < 0 else (t + h) / (2.0 * eta * p)  # (5.4), no cancellation
    return after, -eta * (p - y) * after / (1.0 + eta * p * after)


@njit(error_model="numpy")
def _itml_after(p, y, eta):
    """OnlineITMLRule.after."""
    rate = eta if p >= y else min(eta, 0.5 / ((y - p) * p))
    after = p / (1.0 + rate * (p - y) * p)
    return after, -rate * (p - y) * after


@njit(error_model="numpy")
def _factored_stream(G, H, V, targets, signs, eta, lego):
    """Steps G ← G + a (Gz)(Mz)ᵀ of online/factored.py; G and the followers H change in place.

    The rank-one change of one step and the two products of the next share a pass over G.
    Returns the predictions zᵀMz made before each step.
    """
    n, d = V.shape
    r, b = G.shape[0], H.shape[0]
    p, p_next = np.zeros(r), np.zeros(r)
    q, q_next = np.zeros(d), np.zeros(d)
    predictions = np.empty(n)
    a = 0.0
    for t in range(n):
        z = V[t]
        q_next[:] = 0.0  # q = Mz = GᵀGz
        for i in range(r):
            g = G[i]
            if a != 0.0:
                c = a * p[i]
                for j in range(d):
                    g[j] += c * q[j]
            s = dot(g, z)
            p_next[i] = s
            if s != 0.0:
                for j in range(d):
                    q_next[j] += s * g[j]
        p, p_next = p_next, p
        q, q_next = q_next, q
        y = targets[t]
        prediction = dot(p, p)
        predictions[t] = prediction
        a = 0.0
        if prediction > 0.0 and (signs[t] == 0 or signs[t] * (prediction - y) > 0.0):
            after, x = _lego_after(prediction, y, eta) if lego else _itml_after(prediction, y, eta)
            a = x / ((1.0 + math.sqrt(after / prediction)) * prediction)
        if a != 0.0:
            for i in range(b):
                c = a * dot(H[i], z)
                for j in range(d):
                    H[i, j] += c * q[j]
    if a != 0.0:
        for i in range(r):
            c = a * p[i]
            for j in range(d):
                G[i, j] += c * q[j]
    return predictions


@njit(error_model="numpy")
def lego_stream(G, H, V, targets, signs, eta):
    """LEGO over the rows of V."""
    return _factored_stream(G, H, V, targets, signs, eta, True)


@njit(error_model="numpy")
def itml_stream(G, H, V, targets, signs, eta):
    """Online ITML over the rows of V."""
    return _factored_stream(G, H, V, targets, signs, eta, False)


@njit(error_model="numpy")
def smallest_eigenpair(M, start):
    """Smallest eigenvalue of M seen from ``start``, and its vector: Lanczos, fully reorthogonalized.

    After M ← M − αzzᵀ the eigenvector of a negative eigenvalue λ is (M + αzzᵀ − λI)⁻¹z, a vector of the Krylov
    space of z.
    """
    d = start.shape[0]
    Q = np.zeros((d + 1, d))
    diagonal, off = np.zeros(d), np.zeros(d)
    Q[0] = start / math.sqrt(dot(start, start))
    check, scale = 4, 0.0
    for k in range(d):
        w = Q[k + 1]
        for i in range(d):
            c = Q[k, i]
            if c != 0.0:
                for j in range(d):
                    w[j] += c * M[i, j]
        diagonal[k] = dot(w, Q[k])
        for _ in range(2):  # once is not enough in floating point
            for l in range(k + 1):
                c = dot(w, Q[l])
                for j in range(d):
                    w[j] -= c * Q[l, j]
        off[k] = math.sqrt(dot(w, w))
        scale = max(scale, abs(diagonal[k]), off[k])
        exhausted = k == d - 1 or off[k] <= 1e-14 * scale
        if exhausted or k == check:
            T = np.zeros((k + 1, k + 1))
            for l in range(k + 1):
                T[l, l] = diagonal[l]
                if l < k:
                    T[l, l + 1] = T[l + 1, l] = off[l]
            values, vectors = np.linalg.eigh(T)
            if exhausted or off[k] * abs(vectors[k, 0]) <= 1e-12 * scale:
                return values[0], Q[: k + 1].T @ np.ascontiguousarray(vectors[:, 0])
            check = k + 1 + k // 3
        w /= off[k]
    return 0.0, start


@njit(error_model="numpy")
def add_square(M, v, weight):
    """M ← M + weight · vvᵀ in place; the result is exactly symmetric."""
    root = math.sqrt(abs(weight))
    sign = 1.0 if weight > 0.0 else -1.0
    for i in range(v.shape[0]):
        c = root * v[i]
        if c != 0.0:
            for j in range(v.shape[0]):
                M[i, j] += sign * (c * (root * v[j]))


@njit(error_model="numpy")
def pola_stream(M, V, targets, signs, eta, threshold, margin):
    """Run POLA over the rows of V; M changes in place. With margin > 0 the threshold is learned too."""
    n, d = V.shape
    predictions = np.empty(n)
    work = np.empty(d)
    for t in range(n):
        z = V[t]
        norm = dot(z, z)
        work[:] = 0.0
        for i in range(d):
            for j in range(d):
                work[j] += z[i] * M[i, j]
        prediction = max(dot(work, z), 0.0)
        predictions[t] = prediction
        sign = signs[t]
        gap = prediction - (threshold - sign * margin if margin > 0.0 else targets[t])
        if norm == 0.0 or gap == 0.0 or (sign != 0 and sign * gap <= 0.0):
            continue
        size = norm * norm + (1.0 if margin > 0.0 else 0.0)  # |z|⁴, and 1 for the threshold
        step = gap / size if eta == np.inf else eta * gap / (1.0 + eta * size)
        if margin > 0.0:
            threshold = max(threshold + step, margin)
        add_square(M, z, -step)
        if step > 0.0:
            value, vector = smallest_eigenpair(M, z)
            if value < 0.0:
                add_square(M, vector, -value)
    return predictions, threshold
