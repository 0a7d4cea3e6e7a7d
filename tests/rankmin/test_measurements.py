"""The measurement map agrees with dense arithmetic for every kind of matrix, and its adjoint is its adjoint."""

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import aslinearoperator

from gramian.rankmin import LowRank, Measurements


def dense(A):
    if isinstance(A, LowRank):
        U = A.U.toarray() if sparse.issparse(A.U) else A.U
        return (U * A.s) @ U.T
    if sparse.issparse(A):
        return A.toarray()
    return np.asarray(A @ np.eye(A.shape[0]))


def kinds(rng, n=7):
    full = [(B + B.T) / 2 for B in rng.standard_normal((2, n, n))]
    thin = [sparse.csr_array(np.where(np.abs(B) > 0.8, B, 0)) for B in full]
    low = [LowRank(rng.standard_normal((n, 2)), [1.0, -2.0]), LowRank(sparse.csr_array(np.eye(n)[:, :1]), [3.0])]
    free = [aslinearoperator(B) for B in full]
    return {
        "dense": full,
        "sparse": thin,
        "lowrank": low,
        "implicit": free,
        "mixed": [full[0], thin[1], low[0], free[1], low[1]],
    }


@pytest.mark.parametrize("kind", ["dense", "sparse", "lowrank", "implicit", "mixed"])
def test_map_adjoint_and_gram(rng, kind):
    items = kinds(rng)[kind]
    A = Measurements(items)
    stack = np.stack([dense(a) for a in items])
    V, d, w = rng.standard_normal((7, 3)), rng.standard_normal(3), rng.standard_normal(len(items))
    np.testing.assert_allclose(A(V, d), np.einsum("mij,ij->m", stack, (V * d) @ V.T), atol=1e-10)
    np.testing.assert_allclose(dense(A.adjoint(w)), np.tensordot(w, stack, 1), atol=1e-10)
    np.testing.assert_allclose(A.gram, np.einsum("aij,bij->ab", stack, stack), atol=1e-10)
    np.testing.assert_allclose(A.norms, np.linalg.norm(stack, axis=(1, 2)), atol=1e-10)
    assert A(np.zeros((7, 0))).tolist() == [0.0] * len(items)


def test_inputs_are_not_written_to(rng):
    items = kinds(rng)["dense"]
    copies = [a.copy() for a in items]
    A = Measurements(items)
    A.adjoint(np.ones(2))[:] = 5
    assert all(np.array_equal(a, c) for a, c in zip(items, copies))


@pytest.mark.parametrize(
    ("A", "word"),
    [
        ([], "at least one"),
        ([np.ones((2, 3))], "square"),
        ([np.array([[0.0, 1.0], [0.0, 0.0]])], "symmetric"),
        ([np.full((2, 2), np.nan)], "NaN"),
        ([np.eye(2), np.eye(3)], "one size"),
        ([sparse.csr_array(np.array([[0.0, 1.0], [0.0, 0.0]]))], "symmetric"),
    ],
)
def test_bad_matrices_are_named(A, word):
    with pytest.raises(ValueError, match=word):
        Measurements(A)


def test_low_rank_checks_its_shapes():
    with pytest.raises(ValueError, match="LowRank"):
        LowRank(np.eye(3), [1.0])
