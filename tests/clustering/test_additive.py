"""Cooperative quantizers."""

import numpy as np
from scipy.special import logsumexp
from tests.clustering.problems import enumerated

import gramian as gm
from gramian.clustering.parts import State
from gramian.clustering.points import indicator


def test_cooperative_quantizers_solve_least_squares(rng):
    X = gm.datasets.two_views(200, 5, n_clusters=3, family="sum", random_state=0).X
    cvq = gm.CooperativeVQ((3, 3), n_init=2, random_state=0, tol=1e-10, max_iter=500).fit(X)
    Z = X - cvq.mean_
    state = State(np.vstack(cvq.parts_), np.concatenate(cvq.weights_), 2 * cvq.variance_)
    logp, combos = enumerated(Z, state, (3, 3))
    R, B = np.exp(logp - logsumexp(logp, axis=1, keepdims=True)), indicator(combos, (3, 3))
    rows = np.sqrt(R.T[:, :, None] * np.ones(1))  # weighted least squares, every combination of every point
    left = (rows * B[:, None, :]).reshape(-1, 6)
    right = (rows * Z[None]).reshape(-1, 5)
    solved = np.linalg.lstsq(left, right, rcond=1e-10)[0]
    assert np.allclose(B @ solved, B @ state.C, atol=1e-3)
