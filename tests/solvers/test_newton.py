"""Newton's equations, against a dense solver."""

import numpy as np

from gramian.solvers.primal import _Curvature
from tests.solvers.problems import constraint_rows


def test_newtons_equations_are_solved_as_a_dense_solver_does():
    rng = np.random.default_rng(1)
    d, m = 4, 30
    rows, A = constraint_rows(m, d, "pairs", rng)
    spread, Q = np.linalg.eigh(rows.moment() / m)
    H = 0.3 * np.eye(d * d) + A.reshape(m, -1).T @ A.reshape(m, -1)
    R = rng.normal(size=(d, d))
    R = R + R.T
    found = Q @ _Curvature(rows.mapped(Q), 0.3, spread).solved(Q.T @ R @ Q, 1e-10) @ Q.T
    np.testing.assert_allclose(found, np.linalg.solve(H, R.ravel()).reshape(d, d), rtol=1e-6, atol=1e-8)
