"""Rectangular matrices by their dilation: the inner products, the norms, and problems with a known answer."""

import numpy as np
import pytest
from scipy import sparse

import gramian as gm
from gramian.rankmin import EntrywiseBall, SchattenBall, solve_rectangular
from gramian.rankmin.minimizer import dilation


@pytest.mark.parametrize("p", [1.0, 2.0, 3.0, np.inf])
def test_a_matrix_and_its_dilation(rng, p):
    """⟨Ã, X̃⟩ = ⟨A, X⟩; the PSD completion with roots has twice the norm, and no other has less."""
    X, A = rng.normal(size=(4, 3)), rng.normal(size=(4, 3))
    U, s, Vt = np.linalg.svd(X, full_matrices=False)
    F = np.vstack([U, Vt.T]) * np.sqrt(s)
    assert np.sum(dilation(A) * (F @ F.T)) == pytest.approx(np.sum(A * X))
    np.testing.assert_allclose(dilation(sparse.csr_array(A)).toarray(), dilation(A))

    def norm(values):
        return np.linalg.norm(values, p)

    assert norm(np.linalg.eigvalsh(F @ F.T)) == pytest.approx(2 * norm(s))
    for _ in range(20):  # other completions: congruences of the corners that keep X
        R = np.eye(3) + 0.3 * rng.normal(size=(3, 3))
        G = np.vstack([(U * np.sqrt(s)) @ R, (Vt.T * np.sqrt(s)) @ np.linalg.inv(R).T])
        np.testing.assert_allclose(G[:4] @ G[4:].T, X, atol=1e-10)
        assert norm(np.linalg.eigvalsh(G @ G.T)) >= 2 * norm(s) - 1e-9


@pytest.mark.parametrize("method", ["mw", "factored"])
def test_a_rectangular_matrix_of_low_rank_is_found(rng, method):
    X = rng.normal(size=(6, 2)) @ rng.normal(size=(2, 5))
    A = rng.normal(size=(60, 6, 5))
    b = np.tensordot(A, X, 2)
    both = np.concatenate([A, -A])  # equalities
    ball = SchattenBall(radius=1.5 * np.linalg.norm(X))
    found = solve_rectangular(gm.RankMinimizer(method, 0.1, oracle=ball), both, np.append(b, -b))
    assert found.feasible and found.rank == 2 and np.linalg.matrix_rank(found.matrix, tol=1e-8) == 2
    np.testing.assert_allclose(found.values, np.tensordot(both, found.matrix, 2), atol=1e-9)
    assert np.linalg.norm(found.matrix) <= 1.5 * np.linalg.norm(X) + 1e-9


def test_nonnegative_approximation_and_a_start_for_nmf(rng):
    """NNMA as rank minimization: entries near those given and none negative; its factors start an NMF."""
    from sklearn.decomposition import NMF

    W = rng.random((8, 2)) @ rng.random((2, 6))
    entries = np.eye(48).reshape(48, 8, 6)
    A = np.concatenate([entries, -entries, entries])
    b = np.concatenate([W.ravel(), -W.ravel(), np.zeros(48)])
    ball = SchattenBall(radius=2 * np.linalg.norm(W))
    found = solve_rectangular(gm.RankMinimizer("factored", 0.02, oracle=ball), A, b)
    assert found.rank == 2 and found.matrix.min() >= -0.02 and np.abs(found.matrix - W).max() <= 0.021
    model = NMF(found.rank, init="custom", max_iter=1000)
    left = model.fit_transform(W, W=np.abs(found.left), H=np.abs(found.right.T))
    assert np.abs(left @ model.components_ - W).max() < 0.05


def test_wrong_input_is_one_sentence():
    with pytest.raises(ValueError, match="rectangular problems need a SchattenBall"):
        solve_rectangular(gm.RankMinimizer(oracle=EntrywiseBall()), [np.ones((2, 3))], [1.0])
    with pytest.raises(ValueError, match="must have one size"):
        solve_rectangular(gm.RankMinimizer(), [np.ones((2, 3)), np.ones((3, 2))], [1.0, 1.0])
    with pytest.raises(ValueError, match="must be square.*solve_rectangular"):
        gm.RankMinimizer().solve([np.ones((2, 3))], [1.0])
