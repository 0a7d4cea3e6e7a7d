"""Cyclic LogDet projections: exact maximization of the dual over one multiplier at a time."""

import numpy as np

from gramian._jit.compiler import njit

HINGE, QUADRATIC, RELATIVE = 0, 1, 2


@njit()
def _bound(lam, b, kind, weight):
    """Value and derivative of s′(λ) for the slack kinds of gramian.solvers.slack."""
    if kind == QUADRATIC:
        return b + lam / weight, 1.0 / weight
    if kind == RELATIVE:
        xi = weight * b / (weight - lam * b)
        return xi, xi * xi / weight
    return b, 0.0


@njit()
def _excess(a, mu1, mu2, offset, lam, b, kind, weight):
    """g(a) = μ₁/(1 + aμ₁) + μ₂/(1 + aμ₂) + offset − s′(λ + a), which falls with a, and −g′(a)."""
    v1, v2 = mu1 / (1.0 + a * mu1), mu2 / (1.0 + a * mu2)  # eigenvalues after the step
    xi, slope = _bound(lam + a, b, kind, weight)
    return v1 + v2 + offset - xi, v1 * v1 + v2 * v2 + slope


@njit()
def _domain(mu1, mu2, lam, b, kind, weight):
    """Ends of the open interval of a in which M stays positive definite and s(λ + a) finite."""
    low = -np.inf
    high = weight / b - lam if kind == RELATIVE and b > 0 else np.inf
    for mu in (mu1, mu2):
        if mu > 0:
            low = max(low, -1.0 / mu)
        elif mu < 0:
            high = min(high, -1.0 / mu)
    return low, high


@njit()
def _root(mu1, mu2, offset, lam, b, kind, weight):
    """The a with g(a) = 0, or the end of 0 ≤ λ + a ≤ upper that is nearest to it: bracketed Newton from 0."""
    low, high = _domain(mu1, mu2, lam, b, kind, weight)
    least, most = -lam, weight - lam if kind == HINGE else np.inf
    if least > low and _excess(least, mu1, mu2, offset, lam, b, kind, weight)[0] <= 0:
        return least
    if most < high and _excess(most, mu1, mu2, offset, lam, b, kind, weight)[0] >= 0:
        return most
    low, high, a = max(low, least), min(high, most), 0.0  # g(low) > 0 > g(high)
    for _ in range(100):
        g, curvature = _excess(a, mu1, mu2, offset, lam, b, kind, weight)
        low, high = (a, high) if g > 0 else (low, a)
        # Newton where it stays inside, bisection where it does not, doubling where there is no end
        new = a + g / curvature if curvature > 0 else np.inf
        if not low < new < high:
            new = 0.5 * (low + high) if high < np.inf else 2.0 * a + 1.0
        if abs(new - a) <= 1e-15 * (abs(new) + lam):
            break
        a = new
    return new


@njit()
def _rank_one(mu, limit, lam, upper):
    """The a of one term without a slack slope, μ / (1 + aμ) = limit, within 0 ≤ λ + a ≤ upper."""
    if mu * limit > 0:
        return min(max(1.0 / limit - 1.0 / mu, -lam), upper - lam)
    return -lam if mu < 0 else min(upper - lam, 1e18 / mu)  # no root: as far down, or up, as doubles go


@njit()
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


@njit()
def _eigenvalues(trace, det):
    """Eigenvalues of a 2 × 2 matrix that has real ones, the larger in size first."""
    root = np.sqrt(max(0.25 * trace * trace - det, 0.0))
    mu = 0.5 * trace + root if trace >= 0 else 0.5 * trace - root
    return mu, det / mu if mu != 0.0 else 0.0


@njit()
def _subtract(M, x, y):
    """M ← M − x yᵀ."""
    for r in range(len(x)):
        for c in range(len(y)):
            M[r, c] -= x[r] * y[c]


@njit()
def _project_one(M, u, s, offset, b, lam, kind, weight, Mu):
    """One constraint s·uᵀMu + offset ≤ b: update M, return the new λ."""
    mu = s * _image(M, u, Mu)
    if mu == 0.0:
        return lam
    if kind == HINGE:
        a = _rank_one(mu, b - offset, lam, weight)
    else:
        a = _root(mu, 0.0, offset, lam, b, kind, weight)
    if a != 0.0:
        _subtract(M, (a * s / (1.0 + a * mu)) * Mu, Mu)
    return max(lam + a, 0.0)


@njit()
def _project_two(M, u, w, s1, s2, offset, b, lam, kind, weight, Mu, Mw):
    """One constraint s₁·uᵀMu + s₂·wᵀMw + offset ≤ b: update M, return the new λ."""
    suu, sww = _image(M, u, Mu), _image(M, w, Mw)
    suw = np.dot(Mw, u)
    # Eigenvalues of diag(s) S, with S the 2 × 2 Gram matrix of u, w under M.
    mu1, mu2 = _eigenvalues(s1 * suu + s2 * sww, s1 * s2 * (suu * sww - suw * suw))
    if mu1 == 0.0:
        return lam
    a = _root(mu1, mu2, offset, lam, b, kind, weight)
    if a != 0.0:
        # M − M U K UᵀM with K = (diag(1/(a s)) + S)⁻¹, the Woodbury correction.
        k1, k2 = 1.0 / (a * s1) + suu, 1.0 / (a * s2) + sww
        k = k1 * k2 - suw * suw
        _subtract(M, (k2 / k) * Mu - (suw / k) * Mw, Mu)
        _subtract(M, (k1 / k) * Mw - (suw / k) * Mu, Mw)
    return max(lam + a, 0.0)


@njit()
def _sweep(M, vectors, signs, offset, bound, lam, active, kind, weight):
    """One pass of projections over the active constraints; updates M and λ.

    A_i = signs[i, 0] u uᵀ + signs[i, 1] w wᵀ with u, w = vectors[i]; a second sign of 0 drops the term.
    """
    Mu, Mw = np.empty(M.shape[0]), np.empty(M.shape[0])
    for i in active:
        u, w, s1, s2 = vectors[i, 0], vectors[i, 1], signs[i, 0], signs[i, 1]
        if s2 == 0.0:
            lam[i] = _project_one(M, u, s1, offset[i], bound[i], lam[i], kind, weight[i], Mu)
        else:
            lam[i] = _project_two(M, u, w, s1, s2, offset[i], bound[i], lam[i], kind, weight[i], Mu, Mw)


@njit()
def sweep_hinge(M, vectors, signs, offset, bound, lam, active, weight):
    """A sweep with s(λ) = bλ on λ ≤ weight, inf when constraints are hard."""
    _sweep(M, vectors, signs, offset, bound, lam, active, HINGE, weight)


@njit()
def sweep_quadratic(M, vectors, signs, offset, bound, lam, active, weight):
    """A sweep with s(λ) = bλ + λ²/2·weight."""
    _sweep(M, vectors, signs, offset, bound, lam, active, QUADRATIC, weight)


@njit()
def sweep_relative(M, vectors, signs, offset, bound, lam, active, weight):
    """A sweep with s(λ) = −weight · log(1 − λb/weight)."""
    _sweep(M, vectors, signs, offset, bound, lam, active, RELATIVE, weight)
