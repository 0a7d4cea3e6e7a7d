"""NCA: a stationary point, and its cheaper forms."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

import gramian as gm
from gramian.learners.nca import nca_loss


def test_nca_is_at_a_stationary_point_and_beats_its_start():
    X, y = load_iris(return_X_y=True)
    nca = gm.NCA(anchor=0).fit(X, y)
    value, gradient = nca_loss(nca.components_, X, y)
    assert nca.converged_ and nca.objective_ == pytest.approx(value)
    assert value < nca_loss(np.eye(4), X, y)[0]


def test_truncated_and_stochastic_nca_come_close_to_the_exact_one():
    X, y = load_iris(return_X_y=True)
    best = gm.NCA(anchor=0).fit(X, y).objective_
    for nca in (gm.NCA(n_neighbors=40, anchor=0), gm.NCA(batch_size=30, tol=3e-4, random_state=0, anchor=0)):
        nca.fit(X, y)
        assert nca_loss(nca.components_, X, y)[0] <= 0.98 * best
