"""Cyclic LogDet projections: exact maximization of the dual over one multiplier at a time."""

import numba
import numpy as np


@numba.njit(cache=True)
def _bound(lam, b, kind, weight):
    """Value and derivative of s′(λ) for the slack kinds of gramian.solvers.slack."""
    if kind == 1:
        return b + lam / weight, 1.0 / weight
    if kind == 2:
        xi = weight * b / (weight - lam * b)
        return xi, xi * xi / weight
    return b, 0.0


@numba.njit(cache=True)
def _step(mu1, mu2, offset, lam, b, kind, weight):
    """Root a of μ₁/(1 + aμ₁) + μ₂/(1 + aμ₂) + offset = s′(λ + a), kept in the domain: bracketed Newton.

    μ are the eigenvalues of A_i M; the left side falls and the right side rises with a. λ + a ends in [0, upper].
    """
    low, high = -lam, np.inf
    if kind == 0:
        high = weight - lam
    elif kind == 2 and b > 0:
        high = weight / b - lam
    for mu in (mu1, mu2):
        if mu > 0:
            low = max(low, -1.0 / mu)
        elif mu < 0:
            high = min(high, -1.0 / mu)
    a = 0.0
    for _ in range(60):
        q1, q2 = 1.0 + a * mu1, 1.0 + a * mu2
        xi, slope = _bound(lam + a, b, kind, weight)
        g = mu1 / q1 + mu2 / q2 + offset - xi
        if g > 0:
            low = max(low, a)
        else:
            high = min(high, a)
        curvature = (mu1 / q1) ** 2 + (mu2 / q2) ** 2 + slope
        if curvature == 0.0:
            break
        step = g / curvature
        new = a + step
        if new <= low or new >= high:
            if new <= low and low == -lam:
                edge = low
                e1, e2 = 1.0 + edge * mu1, 1.0 + edge * mu2
                if e1 > 0 and e2 > 0 and mu1 / e1 + mu2 / e2 + offset - _bound(lam + edge, b, kind, weight)[0] <= 0:
                    return edge
            if new >= high and kind == 0 and high == weight - lam:
                e1, e2 = 1.0 + high * mu1, 1.0 + high * mu2
                if e1 > 0 and e2 > 0 and mu1 / e1 + mu2 / e2 + offset - b >= 0:
                    return high
            new = 0.5 * (low + high) if high < np.inf else 2.0 * max(a, low) + 1.0
        if abs(new - a) <= 1e-15 * (abs(new) + lam):
            a = new
            break
        a = new
    return a


@numba.njit(cache=True)
def _image(M, u, out):
    """Write M u and return uᵀ M u."""
    quadratic = 0.0
    for r in range(len(u)):
        total = 0.0
        for c in range(len(u)):
            total += M[r, c] * u[c]
        out[r] = total
        quadratic += total * u[r]
    return quadratic


@numba.njit(cache=True)
def _eigenvalues(trace, det, two):
    """Eigenvalues of a 2 × 2 matrix that has real ones, the larger in size first."""
    if not two:
        return trace, 0.0
    root = np.sqrt(max(0.25 * trace * trace - det, 0.0))
    mu1 = 0.5 * trace + root if trace >= 0 else 0.5 * trace - root
    return mu1, det / mu1 if mu1 != 0.0 else 0.0


@numba.njit(cache=True)
def sweep(M, vectors, signs, offset, bound, lam, active, kind, weight):
    """One pass of projections over the active constraints; updates M and λ.

    A_i = signs[i, 0] u uᵀ + signs[i, 1] w wᵀ with u, w = vectors[i]; a sign of 0 drops a term.
    """
    d = M.shape[0]
    Mu, Mw = np.empty(d), np.empty(d)
    for i in active:
        u, w = vectors[i, 0], vectors[i, 1]
        s1, s2 = signs[i, 0], signs[i, 1]
        two = s2 != 0.0
        suu, suw, sww = _image(M, u, Mu), 0.0, 0.0
        if two:
            sww = _image(M, w, Mw)
            for r in range(d):
                suw += Mw[r] * u[r]
        # Eigenvalues of diag(s) S, with S the 2 × 2 Gram matrix of u, w under M.
        mu1, mu2 = _eigenvalues(s1 * suu + s2 * sww, s1 * s2 * (suu * sww - suw * suw), two)
        if mu1 == 0.0 and mu2 == 0.0:
            continue
        a = _step(mu1, mu2, offset[i], lam[i], bound[i], kind, weight)
        if a == 0.0:
            continue
        lam[i] = max(lam[i] + a, 0.0)
        # M − M U K UᵀM with K = (diag(1/(a s)) + S)⁻¹, the Woodbury correction.
        k11, k12, k22 = a * s1 / (1.0 + a * s1 * suu), 0.0, 0.0
        if two:
            q1, q2 = 1.0 / (a * s1) + suu, 1.0 / (a * s2) + sww
            q = q1 * q2 - suw * suw
            k11, k12, k22 = q2 / q, -suw / q, q1 / q
        for r in range(d):
            x, y = k11 * Mu[r], 0.0
            if two:
                x, y = x + k12 * Mw[r], k12 * Mu[r] + k22 * Mw[r]
            for c in range(d):
                M[r, c] -= x * Mu[c]
            if two:
                for c in range(d):
                    M[r, c] -= y * Mw[c]
