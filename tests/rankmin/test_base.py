"""Rank minimization at the edges of what it takes: units, sizes, types, wrong input."""

import pickle
import tracemalloc
import warnings
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, aslinearoperator

import gramian as gm
from gramian.rankmin import Ellipsoid, LowRank, Measurements, Oracle, SchattenBall

METHODS = ["mw", "ocp", "factored", "trace", "logdet"]


def problem(seed=0, n=8, m=6):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((m, n, n))
    A, F = (A + A.transpose(0, 2, 1)) / 2, rng.standard_normal((n, 2))
    return A, np.einsum("mij,ij->m", A, F @ F.T / np.linalg.norm(F @ F.T))


@pytest.mark.parametrize(
    ("A", "b", "options", "words"),
    [
        (None, [1.0], {}, "A must be a sequence of matrices, got NoneType"),
        (sparse.eye_array(3), [1.0], {}, "A must be a sequence of matrices, got dia_array"),
        ([["a"]], [1.0], {}, r"A\[0\] must hold real numbers"),
        (1j * np.eye(2)[None], [1.0], {}, r"A\[0\] must hold real numbers"),
        ([1j * sparse.eye_array(2)], [1.0], {}, r"A\[0\] must hold real numbers"),
        (np.zeros((1, 0, 0)), [1.0], {}, r"A\[0\] must hold at least 1"),
        ([aslinearoperator(np.triu(np.ones((3, 3))))], [1.0], {}, r"A\[0\] must be symmetric"),
        ([LinearOperator((3, 3), matvec=lambda x: np.nan * x)], [1.0], {}, r"A\[0\] gives NaN"),
        ([np.eye(2)], ["a"], {}, "b must be 1 numbers in one row"),
        ([np.eye(2)], None, {}, "b must be 1 numbers in one row"),
        ([np.eye(2)], [[1.0]], {}, "b must be 1 numbers in one row"),
        ([np.eye(2)], [1.0], {"callback": 3}, "callback must be a function or None, got 3"),
        ([np.eye(2)], [1.0], {"oracle": SchattenBall}, "oracle must be an Oracle"),
        ([np.eye(2)], [1.0], {"oracle": Ellipsoid(np.eye(3))}, r"P must have the shape \(2, 2\)"),
        ([np.eye(2)], [1.0], {"method": "ocp", "step": "long"}, "step must be .theory., a number in"),
    ],
)
def test_wrong_input_is_one_sentence(A, b, options, words):
    with pytest.raises((TypeError, ValueError), match=words) as error:
        gm.RankMinimizer(**options).solve(A, b)
    assert "\n" not in str(error.value)


def test_wrong_sets_and_factors():
    with pytest.raises(TypeError, match="Ellipsoid: ball must be a SchattenBall"):
        Ellipsoid(np.eye(2), "ball")
    with pytest.raises(ValueError, match="LowRank: U must hold real numbers"):
        LowRank([["a"]], [1.0])
    assert SchattenBall(np.int64(1)).solve(np.eye(2), 0.5).values.tolist() == [1.0]


def quietly(solver, A, b):
    """The result, and no warning on the way."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return solver.solve(A, b)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("unit", [1e140, 1e-140, 1e30, 1e-30])
def test_units_of_the_constraints(method, unit):
    A, b = problem()
    there = quietly(gm.RankMinimizer(method, 0.05 * unit), A * unit, b * unit)
    here = gm.RankMinimizer(method, 0.05).solve(A, b)
    assert there.feasible and there.rank == here.rank and there.rank_bound == here.rank_bound


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("unit", [1e100, 1e-100, 1e8, 1e-8])
def test_units_of_the_set(method, unit):
    A, b = problem()
    result = quietly(gm.RankMinimizer(method, 0.05 * unit, oracle=SchattenBall(radius=unit)), A, b * unit)
    assert result.feasible and np.linalg.norm(result.matrix) <= unit * (1 + 1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_a_large_set_and_a_small_epsilon(method):
    A, b = problem()
    assert gm.RankMinimizer(method, 1e-6, oracle=SchattenBall(radius=1e6)).solve(A, b).feasible
    assert gm.RankMinimizer(method, 1e-9).solve(A, b).feasible


@pytest.mark.parametrize("method", METHODS)
def test_types_of_numbers_and_read_only_input(method):
    A, _ = problem()
    A = np.round(4 * A)
    b = A[:, 0, 0]
    A.setflags(write=False)
    for kind in (np.float32, np.int64):
        result = gm.RankMinimizer(method, 0.05).solve(A.astype(kind), b.astype(kind))
        assert result.feasible and result.factor.dtype == float
    assert gm.RankMinimizer(method, 0.05).solve(A, b).feasible


@pytest.mark.parametrize("method", ["mw", "ocp", "factored"])
@pytest.mark.parametrize("kind", ["sparse", "lowrank", "mixed", "implicit"])
def test_nothing_of_size_n_by_n_is_formed(method, kind):
    n = 2000
    rng = np.random.default_rng(0)

    def thin():
        S = sparse.random_array((n, n), density=5e-6, random_state=rng)
        return (S + S.T).tocsr()

    kinds = {
        "sparse": thin,
        "lowrank": lambda: LowRank(rng.standard_normal((n, 2)), [1.0, -1.0]),
        "implicit": lambda: aslinearoperator(thin()),
    }
    make = list(kinds.values()) if kind == "mixed" else [kinds[kind]]
    A = [make[i % len(make)]() for i in range(6)]
    F = rng.standard_normal((n, 2))
    b = Measurements(A)(F / np.sqrt(np.linalg.norm(F.T @ F)))
    tracemalloc.start()
    result = gm.RankMinimizer(method, 0.05 * np.abs(b).max()).solve(A, b)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert result.feasible and peak < 0.5 * 8 * n**2


def test_the_same_answer_twice(rng):
    """Also where the Krylov space is exhausted, as it is for few distinct eigenvalues."""
    S = sparse.random_array((400, 400), density=0.01, random_state=rng)
    A = [(S + S.T).tocsr(), sparse.diags_array(np.repeat([1.0, 0.0], [50, 350])).tocsr()]
    for method in ("mw", "ocp", "factored"):
        one, two = (gm.RankMinimizer(method).solve(A, [0.5, 2.0]) for _ in range(2))
        assert np.array_equal(one.factor, two.factor)


def test_a_minimizer_is_a_value():
    solver = gm.RankMinimizer("ocp", 0.1, oracle=SchattenBall(1))
    assert solver == pickle.loads(pickle.dumps(solver)) != gm.RankMinimizer("mw", 0.1)
    assert gm.RankMinimizer("ocp", 0.1, max_iter=7).max_iter == 7 and "method='ocp', epsilon=0.1, max_iter=500" in repr(
        solver
    )
    with pytest.raises(FrozenInstanceError):
        solver.epsilon = 1.0
    result = pickle.loads(pickle.dumps(solver.solve([np.eye(3)], [0.5])))
    assert result.feasible and result.rank == 1


def test_an_oracle_may_know_nothing_but_its_answers():
    class Top(Oracle):
        """Trace ball, from products with A only."""

        def solve(self, A, b):
            n = A.shape[0]
            if b <= 0:
                return gm.rankmin.Atom(np.zeros((n, 0)), np.zeros(0))
            values, vectors = np.linalg.eigh(A @ np.eye(n))
            return gm.rankmin.Atom(vectors[:, -1:], np.ones(1)) if values[-1] >= b else None

    A = [LowRank(np.random.default_rng(0).standard_normal((12, 2)), [1.0, -1.0]), sparse.eye_array(12)]
    for method in ("mw", "ocp"):
        result = gm.RankMinimizer(method, 0.05, oracle=Top()).solve(A, [0.5, 0.5])
        assert result.feasible and np.trace(result.matrix) <= 1 + 1e-9
