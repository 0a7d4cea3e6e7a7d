"""A compiled sweep is the sweep of its slack."""

import numpy as np
import pytest
from tests.solvers.problems import NAMED, SLACKS, constraints, points, problem

from gramian._jit import own_loop
from gramian.divergences import LogDet
from gramian.solvers.bregman import sweep


@pytest.mark.parametrize("kind", ["pairs", "triplets", "similarities"])
@pytest.mark.parametrize("slack", SLACKS, **NAMED)
def test_a_compiled_sweep_is_the_sweep_of_its_slack(kind, slack, rng):
    X, y = points()
    prob = problem(X, constraints(kind, X, y), LogDet(), slack)
    vectors, signs = prob.rows.squares()
    offset = rng.uniform(0, 0.2, len(prob.bound))
    everything = np.arange(len(prob.bound))
    ours, compiled = (np.eye(3), np.zeros_like(offset)), (np.eye(3), np.zeros_like(offset))
    for _ in range(4):
        sweep(ours[0], vectors, signs, offset, prob.bound, ours[1], everything, slack)
        weight = np.full_like(offset, slack.weight)
        own_loop(slack, "bregman")(compiled[0], vectors, signs, offset, prob.bound, compiled[1], everything, weight)
        np.testing.assert_allclose(compiled[1], ours[1], atol=1e-9 * max(1, ours[1].max()))
        np.testing.assert_allclose(compiled[0], ours[0], atol=1e-9 * np.abs(ours[0]).max())
