"""Small random framework problems, and their solution by an exact conic solver."""

import cvxpy as cp
import numpy as np
import pytest
from scipy.linalg import logm

from gramian.constraints import Chunklets, Pairs, Probabilities, RelativeSimilarities, Similarities, Triplets
from gramian.divergences import Frobenius, LinearFrobenius, LinearLogDet, LogDet, VonNeumann
from gramian.solvers import (
    BregmanProjections,
    DualAscent,
    Hard,
    Hinge,
    Problem,
    Quadratic,
    Relative,
    Rows,
    Stacked,
    rows_of,
)

DIVERGENCES = ["logdet", "vonneumann", "frobenius", "linear-frobenius", "linear-logdet"]


CONSTRAINTS = ["pairs", "triplets", "similarities", "relative similarities", "probabilities", "chunklets", "mixed"]


def points(seed=0, n=14, d=3):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    return rng.normal(size=(n, d)) + 1.5 * y[:, None] * np.eye(d)[0] + 1.0, y


def divergence(name, d, seed=0):
    rng = np.random.default_rng(seed + 100)
    B = rng.normal(size=(d, d))
    linear = B @ B.T / d + 0.5 * np.eye(d)
    return {
        "logdet": LogDet(),
        "vonneumann": VonNeumann(),
        "frobenius": Frobenius(),
        "linear-frobenius": LinearFrobenius(linear - 1.5 * np.eye(d), 0.7),
        "linear-logdet": LinearLogDet(linear, 0.7),
    }[name]


def constraints(name, X, y):
    if name == "pairs":
        D = ((X[:, None] - X[None]) ** 2).sum(-1)
        pairs = Pairs.from_labels(y, 12, random_state=0)
        return Pairs(pairs.left, pairs.right, pairs.similar, bounds=(0.9 * np.median(D), 0.7 * np.median(D)))
    if name == "triplets":
        return Triplets.from_labels(y, 8, random_state=0, margin=0.1)
    if name == "similarities":
        return Similarities.from_labels(y, 10, random_state=0, X=X, percentiles=(60, 40))
    if name == "relative similarities":
        return RelativeSimilarities.from_labels(y, 8, random_state=0, margin=0.1)
    if name == "probabilities":
        return Probabilities.from_labels(y, level=0.4, n_points=6, ceiling=0.62, random_state=0)
    if name == "mixed":
        return constraints("pairs", X, y)[:5] + constraints("triplets", X, y)[:4] + constraints("chunklets", X, y)
    return Chunklets.from_labels(y)


def problem(X, cons, div, slack=None, prior=None):
    prior = np.eye(X.shape[1]) if prior is None else prior
    return Problem(rows_of(cons, X), cons.bound, prior, div, Hard() if slack is None else slack)


def dense(prob):
    """The matrices A_i, formed one by one."""
    parts = prob.rows.parts if isinstance(prob.rows, Stacked) else (prob.rows,)
    return np.concatenate([_formed(rows) for rows in parts])


def _formed(rows):
    m, t = rows.weight.shape
    left = rows.left.reshape(m, t, -1)
    right = left if rows.right is None else rows.right.reshape(m, t, -1)
    A = np.einsum("ms,msi,msj->mij", rows.weight, left, right)
    return (A + A.transpose(0, 2, 1)) / 2


def exact(prob):
    """Optimal value and M by Clarabel."""
    d = prob.prior.shape[0]
    M = cp.Variable((d, d), PSD=True)
    div, M0 = prob.divergence, prob.prior
    if isinstance(div, LogDet):
        f = cp.trace(M @ np.linalg.inv(M0)) - cp.log_det(M) + np.linalg.slogdet(M0)[1] - d
    elif isinstance(div, Frobenius):
        f = 0.5 * cp.sum_squares(M - M0)
    elif isinstance(div, LinearFrobenius):
        f = cp.trace(div.linear @ M) + div.gamma / 2 * cp.sum_squares(M)
    elif isinstance(div, LinearLogDet):
        f = cp.trace(div.linear @ M) - div.gamma * cp.log_det(M)
    else:
        f = -cp.von_neumann_entr(M) - cp.trace(M @ logm(M0)) - cp.trace(M) + np.trace(M0)
    values = cp.hstack([cp.trace(A @ M) for A in dense(prob)])
    limits, slack = [], prob.slack
    if type(slack) is Hard:
        limits.append(values <= prob.bound)
    elif type(slack) is Hinge:
        f = f + slack.weight * cp.sum(cp.pos(values - prob.bound))
    elif type(slack) is Quadratic:
        f = f + slack.weight / 2 * cp.sum_squares(cp.pos(values - prob.bound))
    elif type(slack) is Relative:
        ratio = cp.Variable(len(prob.bound), pos=True)
        limits.append(values <= cp.multiply(prob.bound, ratio))
        f = f + slack.weight * cp.sum(ratio - cp.log(ratio) - 1)
    solver = cp.Problem(cp.Minimize(f), limits)
    options = {"tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10}
    solver.solve(solver="CLARABEL", **options)
    return solver.value, M.value


def constraint_rows(m, d, kind, rng):
    """Pairs, triplets or products, with the matrices A_i written out."""
    t = 2 if kind == "triplets" else 1
    left = rng.normal(size=(m * t, d)) * np.geomspace(1, 5, d)
    weight = rng.choice([-1.0, 1.0], size=(m, t)) * rng.uniform(0.5, 2, size=(m, t))
    right = rng.normal(size=(m * t, d)) if kind == "products" else None
    outer = np.einsum("na,nb->nab", left, left if right is None else right)
    outer = (outer + outer.transpose(0, 2, 1)) / 2
    return Rows(left, weight, right), (weight[:, :, None, None] * outer.reshape(m, t, d, d)).sum(axis=1)


BOTH = pytest.mark.parametrize("solver", [DualAscent(), BregmanProjections()], ids=["dual", "bregman"])


def one_pair(v, sign, b, slack=None, div=None):
    v = np.atleast_2d(v).astype(float)
    d = v.shape[1]
    rows = Rows(v, np.array([[float(sign)]]))
    return Problem(rows, np.array([sign * b]), np.eye(d), div or LogDet(), slack or Hard())


SLACKS = [Hard(), Hinge(0.3), Quadratic(0.5), Relative(0.8)]


NAMED = {"ids": lambda s: type(s).__name__}
