"""DNE: the eigenproblem and its signs."""

import numpy as np
import pytest

import gramian as gm
from gramian import linalg
from gramian.constraints import Labels
from gramian.learners.dne import neighbor_signs
from tests.learners.problems import classes_apart


def test_dne_is_the_eigenproblem(rng):
    X, y = classes_apart(rng, n=40, d=5, classes=2)
    dne = gm.DNE(n_neighbors=3, anchor=0).fit(X, y)
    W = neighbor_signs(X, Labels.from_array(y, ""), 3).toarray()
    S = X.T @ (np.diag(W.sum(axis=1)) - W) @ X
    values = np.linalg.eigvalsh(S)
    negative = values[values < -1e-10 * np.abs(values).max()]
    assert dne.components_.shape == (len(negative), 5)
    assert dne.objective_ == pytest.approx(negative.sum())
    np.testing.assert_allclose(dne.components_ @ S @ dne.components_.T, np.diag(negative), atol=1e-8 * values[-1])
    cut = -negative[0] / 2
    assert gm.DNE(n_neighbors=3, reg=cut, anchor=0).fit(X, y).components_.shape[0] == (negative < -cut).sum()


def test_dne_signs_follow_the_definition(rng):
    X, y = classes_apart(rng, n=18, d=2)
    W = neighbor_signs(X, Labels.from_array(y, ""), 2).toarray()
    D = linalg.sqdist(X) + np.diag(np.full(18, np.inf))
    expected = np.zeros((18, 18))
    for i in range(18):
        for sign, mask in ((1, y == y[i]), (-1, y != y[i])):
            inside = np.where(mask, D[i], np.inf)
            for j in np.argsort(inside)[:2]:
                expected[i, j] = expected[j, i] = sign
    np.testing.assert_array_equal(W, expected)
