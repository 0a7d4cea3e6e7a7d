"""Trace norm and log det: they meet the constraints, at the least trace."""

import numpy as np
import pytest
from tests.rankmin.problems import random_problem

import gramian as gm
from gramian.rankmin import SchattenBall


@pytest.mark.parametrize("conic", [False, True])
def test_trace_norm_is_the_least_trace(conic):
    cp = pytest.importorskip("cvxpy")
    A, b = random_problem(2, n=12, m=20)
    result = gm.RankMinimizer("trace", 0.05, conic=conic).solve(A, b)
    X = cp.Variable((12, 12), PSD=True)
    limits = [cp.trace(a @ X) >= c - 0.95 * 0.05 for a, c in zip(A, b)]
    best = cp.Problem(cp.Minimize(cp.trace(X)), [*limits, cp.norm(X, "fro") <= 1]).solve(solver="CLARABEL")
    assert result.feasible
    assert np.trace(result.matrix) == pytest.approx(best, rel=5e-3)


def test_heuristics_meet_the_constraints_and_factored_is_no_worse():
    A, b = random_problem(6, n=25, m=60)
    ranks = {}
    for method in ("trace", "logdet", "factored"):
        result = gm.RankMinimizer(method, 0.05).solve(A, b)
        assert result.feasible and np.linalg.norm(result.matrix) <= 1 + 1e-9
        ranks[method] = result.rank
    assert ranks["factored"] <= ranks["logdet"] <= ranks["trace"]
    with pytest.raises(ValueError, match="SchattenBall"):
        gm.RankMinimizer("trace", oracle=SchattenBall(1)).solve(A, b)
