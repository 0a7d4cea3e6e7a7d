"""A sparse combination of directions: the linear program and its objective."""

import numpy as np
import pytest
from scipy.optimize import linprog

import gramian as gm
from gramian.constraints import Labels
from gramian.learners import neighbor_targets as targets
from gramian.learners.combinations import Combination, combine


def program(rng, n=25, d=3):
    X = rng.normal(size=(n, d))
    labels = Labels.from_array(np.arange(n) % 3, "test")
    side = targets.neighbor_triplets(X, labels, 2, 3)
    return X, side, rng.normal(size=(12, d))


def linear_program(problem):
    """The optimum of min share·s + cost·w, s ≥ margin + Rw, s ≥ 0, w ≥ 0."""
    sqdist = (problem.differences @ problem.bases.T) ** 2
    R = sqdist[problem.near] - sqdist[problem.far]
    m, K = R.shape
    A = np.hstack([-np.eye(m), R])
    return linprog(np.r_[problem.share, problem.cost], A_ub=A, b_ub=-problem.margin, bounds=(0, None)).fun


@pytest.mark.parametrize("beta", [1e-4, 1e-2, 0.3])
def test_scml_solves_its_linear_program(rng, beta):
    X, side, bases = program(rng)
    problem = Combination.make(X, side, bases, beta)
    found, best = combine(problem, max_iter=2000, tol=1e-4), linear_program(problem)
    assert found.converged
    assert found.objective - found.gap <= best + 1e-9
    assert best - 1e-9 <= found.objective <= best * (1 + 1e-4) + 1e-9


def test_objective_of_scml_is_that_of_its_metric(rng):
    X, side, bases = program(rng)
    scml = gm.SCML(beta=0.05, anchor=0, bases=bases, tol=1e-4).fit(X, side)
    near, far = (scml.metric_.pair_sqdist(X[i], X[j]) for i, j in (side.near_ends, side.far_ends))
    pairs = np.unique(np.concatenate([np.stack(ends, 1) for ends in (side.near_ends, side.far_ends)]), axis=0)
    penalty = 0.05 * scml.metric_.pair_sqdist(X[pairs[:, 0]], X[pairs[:, 1]]).mean()
    assert scml.objective_ == pytest.approx(np.maximum(1 + near - far, 0).mean() + penalty, rel=1e-9)
