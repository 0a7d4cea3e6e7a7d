"""The same dual code on torch tensors, on the CPU and on a GPU where there is one."""

import numpy as np
import pytest

from gramian.solvers import DualAscent, Hard, Hinge, Problem, Relative, Rows
from tests.solvers.problems import DIVERGENCES, constraints, divergence, points, problem

torch = pytest.importorskip("torch", reason="torch is not installed")


DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("slack", [Hard(), Hinge(0.3), Relative(0.8)], ids=lambda s: type(s).__name__)
@pytest.mark.parametrize("name", DIVERGENCES)
def test_torch_equals_numpy(name, slack, device):
    X, y = points()
    prob = problem(X, constraints("pairs", X, y), divergence(name, 3), slack)
    left, weight, bound, prior = (
        torch.asarray(a, device=device) for a in (prob.rows.left, prob.rows.weight, prob.bound, prob.prior)
    )
    solution = DualAscent().solve(Problem(Rows(left, weight), bound, prior, prob.divergence, prob.slack))
    ours = DualAscent().solve(prob)
    assert solution.M.device.type == device
    assert solution.objective == pytest.approx(ours.objective, rel=1e-7)
    np.testing.assert_allclose(solution.M.cpu().numpy(), ours.M, atol=1e-6)
