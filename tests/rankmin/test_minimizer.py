"""RankMinimizer: constraints to epsilon, proofs that hold, defined behavior at the edges."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.sparse.linalg import aslinearoperator
from sklearn.exceptions import ConvergenceWarning
from tests.rankmin.problems import random_problem

import gramian as gm
from gramian.rankmin import Ellipsoid, EntrywiseBall, LowRank, Oracle, SchattenBall, solve_rectangular
from gramian.rankmin.game import project_hull, project_simplex
from gramian.rankmin.minimizer import dilation


@pytest.mark.parametrize("compress", [True, False])
@pytest.mark.parametrize("method", ["mw", "ocp", "factored"])
def test_every_constraint_holds_to_epsilon(method, compress):
    for seed in range(3):
        A, b = random_problem(seed)
        result = gm.RankMinimizer(method, 0.02, compress=compress).solve(A, b)
        X = result.factor @ result.factor.T
        values = np.einsum("mij,ij->m", A, X)
        assert result.feasible and result.violation <= 0.02
        assert result.violation == pytest.approx(np.maximum(b - values, 0).max(), abs=1e-9)
        assert result.rank == result.factor.shape[1] == np.linalg.matrix_rank(X, tol=1e-9)
        assert np.linalg.norm(X) <= 1 + 1e-9
        assert result.certificate is None
        if compress:
            assert result.rank <= 4


@pytest.mark.parametrize("method", ["mw", "ocp", "factored"])
def test_infeasible_problems_come_with_a_proof(method):
    A, b = random_problem(1, n=10, m=5)
    A, b = np.concatenate([A, -A[:1]]), np.concatenate([b, -b[:1] + 1.0])  # ⟨A_1, X⟩ ≥ b_1 and ≤ b_1 − 1
    result = gm.RankMinimizer(method, 0.05).solve(A, b)
    w = result.certificate
    assert not result.feasible and result.violation > 0.05
    assert w.min() >= 0 and w.sum() == pytest.approx(1)
    spectrum = np.linalg.eigvalsh(np.tensordot(w, A, 1))
    assert np.linalg.norm(np.maximum(spectrum, 0)) < w @ b - 0.05


def test_epsilon_alone_can_make_it_feasible():
    b = [1.02]  # ⟨I₁, X⟩ ≤ 1 in the ball
    result = gm.RankMinimizer(epsilon=0.05).solve([np.diag([1.0, 0.0])], b)
    assert result.feasible and result.rank == 1
    assert not gm.RankMinimizer(epsilon=0.01).solve([np.diag([1.0, 0.0])], b).feasible


def test_rank_bound_is_a_bound():
    # ⟨I, X⟩ ≥ 1.9 with ‖X‖_F ≤ 1 needs rank 4, since tr X ≤ √rank ‖X‖.
    result = gm.RankMinimizer(epsilon=1e-3).solve([np.eye(6)], [1.9])
    assert result.rank_bound == 4 and result.rank == 4


@pytest.mark.parametrize("method", ["mw", "ocp", "factored"])
@pytest.mark.parametrize(
    "oracle", [SchattenBall(1, radius=2.0), SchattenBall(np.inf), Ellipsoid(np.diag(np.linspace(1, 2, 12)))], ids=str
)
def test_other_sets(method, oracle):
    A, b = random_problem(3, n=12, m=8)
    b = b / (4 if isinstance(oracle, Ellipsoid) else 1)
    result = gm.RankMinimizer(method, 0.05, oracle=oracle).solve(A, b)
    assert result.feasible and oracle.gauge(result.factor)[0] <= 1 + 1e-9
    assert (result.signs == 1).all()


@pytest.mark.parametrize("oracle", [SchattenBall(psd=False), EntrywiseBall(5.0)], ids=str)
def test_indefinite_sets(oracle):
    A, b = random_problem(4, n=12, m=8)
    b = b / 3
    result = gm.RankMinimizer("mw", 0.05, oracle=oracle).solve(A, b)
    assert result.feasible
    values = np.einsum("mij,ij->m", A, result.matrix)
    np.testing.assert_allclose(values, result.values, atol=1e-9)
    with pytest.raises(ValueError, match="gauge"):
        gm.RankMinimizer("factored", 0.05, oracle=oracle).solve(A, b)


def test_a_user_supplied_oracle():
    class Diagonal(Oracle):
        """Diagonal matrices with entries in [0, 1]."""

        def solve(self, A, b):
            size = np.maximum(np.diagonal(A), 0)
            order = np.argsort(-size)
            reached = np.cumsum(size[order])
            if b > reached[-1]:
                return None
            k = int(np.searchsorted(reached, b)) + 1 if b > 0 else 0
            return gm.rankmin.Atom(np.eye(len(A))[:, order[:k]], np.ones(k))

    A = [np.diag([1.0, 0, 0, 0.1]), np.diag([0, 1.0, 0, 0.1])]
    result = gm.RankMinimizer("mw", 0.1, oracle=Diagonal()).solve(A, [0.9, 0.9])
    assert result.feasible and np.allclose(result.matrix, np.diag(np.diag(result.matrix)))


def test_kinds_of_matrices_agree():
    rng = np.random.default_rng(0)
    U = rng.standard_normal((5, 12, 2))
    A = [u @ np.diag([1.0, -0.5]) @ u.T for u in U]
    b = [0.3 * np.linalg.eigvalsh(a)[-1] for a in A]
    forms = {
        "dense": A,
        "sparse": [sparse.csr_array(a) for a in A],
        "lowrank": [LowRank(u, [1.0, -0.5]) for u in U],
        "implicit": [aslinearoperator(a) for a in A],
    }
    for method in ("mw", "ocp"):
        found = [gm.RankMinimizer(method, 0.01, compress=False).solve(form, b) for form in forms.values()]
        assert all(f.feasible for f in found)
        for f in found[1:]:
            np.testing.assert_allclose(f.matrix, found[0].matrix, atol=1e-6)


def test_nothing_to_do_is_rank_zero():
    result = gm.RankMinimizer().solve([np.eye(3)], [-1.0])
    assert result.rank == 0 and result.factor.shape == (3, 0) and result.feasible and result.violation == 0


def test_running_out_of_iterations_warns():
    A, b = random_problem(0, n=20, m=40)
    with pytest.warns(ConvergenceWarning, match="epsilon"):
        result = gm.RankMinimizer("mw", 1e-4, max_iter=2, compress=False).solve(A, b)
    assert not result.feasible and result.certificate is None


def test_arguments_are_checked():
    A, b = random_problem(0)
    for options, word in [
        ({"method": "nope"}, "method"),
        ({"epsilon": 0}, "epsilon"),
        ({"max_iter": 0}, "max_iter"),
        ({"step": 0.7}, "step"),
    ]:
        with pytest.raises(ValueError, match=word):
            gm.RankMinimizer(**options).solve(A, b)
    with pytest.raises(TypeError, match="Oracle"):
        gm.RankMinimizer(oracle="ball").solve(A, b)
    with pytest.raises(ValueError, match="b must be"):
        gm.RankMinimizer().solve(A, b[:-1])
    with pytest.raises(ValueError, match="b contains NaN or infinity"):
        gm.RankMinimizer().solve(A, np.full(len(A), np.inf))


@pytest.mark.parametrize("method", ["mw", "ocp", "factored", "trace", "logdet"])
def test_inputs_untouched_and_callback_called(method):
    A, b = random_problem(5, n=20, m=30)
    A0, b0, seen = A.copy(), b.copy(), []
    gm.RankMinimizer(method, 0.05, callback=lambda t, v: seen.append((t, v))).solve(A, b)
    assert np.array_equal(A, A0) and np.array_equal(b, b0)
    assert [t for t, _ in seen] == list(range(1, len(seen) + 1)) and seen
    assert seen[-1][1] <= 0.05


@given(st.integers(0, 10**6), st.floats(-3, 3))
def test_scaling_a_constraint_system_scales_the_violation(seed, power):
    """(cA, cb, cε) is the same problem as (A, b, ε)."""
    A, b = random_problem(seed, n=8, m=4)
    c = 10.0**power
    one = gm.RankMinimizer("mw", 0.1, compress=False).solve(A, b)
    two = gm.RankMinimizer("mw", 0.1 * c, compress=False).solve(c * A, c * b)
    assert one.n_iter == two.n_iter
    np.testing.assert_allclose(one.matrix, two.matrix, atol=1e-5)


@given(st.integers(0, 10**6))
def test_simplex_and_hull_projections(seed):
    rng = np.random.default_rng(seed)
    v = rng.standard_normal(6)
    p = project_simplex(v)
    assert p.min() >= 0 and p.sum() == pytest.approx(1)
    # Variational inequality: (v − p)·(q − p) ≤ 0 at every vertex q.
    assert ((v - p) @ (np.eye(6) - p).T).max() <= 1e-12
    B = rng.standard_normal((30, 4))
    G, c = B @ B.T, rng.standard_normal(30)
    for start in (np.full(30, 1 / 30), np.eye(30)[0]):
        p = project_hull(G, c, start, np.linalg.eigvalsh(G)[-1])
        assert ((c - G @ p) @ (np.eye(30) - p).T).max() <= 1e-5


def test_the_steps_of_the_theorem_keep_its_promise():
    """With δ, ρ and T of Theorem 10 the plain average alone ends within T rounds."""
    A, b = random_problem(3, n=10, m=4)
    scale = np.linalg.norm(A, axis=(1, 2)).max()
    result = gm.RankMinimizer("mw", 0.5, step="theory", max_iter=10**5, compress=False).solve(A / scale, 5 * b / scale)
    assert result.feasible or result.certificate is not None
    with pytest.raises(NotImplementedError, match="reach"):

        class Unbounded(Oracle):
            def solve(self, A, b):
                return None

        gm.RankMinimizer("mw", 0.5, step="theory", oracle=Unbounded()).solve(A, b + 10)


def test_pruned_averages_use_fewer_answers():
    A, b = random_problem(8, n=40, m=120)
    result = gm.RankMinimizer("mw", 0.05, compress=False).solve(A, b)
    assert result.feasible and result.rank <= result.n_iter * max(result.rank_bound, 1)
    assert np.linalg.norm(result.matrix) <= 1 + 1e-9


@pytest.mark.parametrize("method", ["mw", "ocp"])
def test_as_printed_the_answer_is_the_plain_mean_of_the_answers(rng, method):
    """Algorithms 2 and 3 to the letter: T answers of the oracle, weights moved by the rule, and their mean."""
    A = rng.standard_normal((6, 12, 12))
    A = A + A.transpose(0, 2, 1)
    v = rng.standard_normal(12) / 5
    b = np.array([v @ a @ v for a in A])
    step = 0.1 if method == "mw" else 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        minimizer = gm.RankMinimizer(method, 1e-3, max_iter=9, step=step, variant="as_printed")
        found = minimizer.solve(A, b)
    p, answers, gradient = np.full(6, 1 / 6), [], 1.0
    for t in range(1, 10):
        values, vectors = np.linalg.eigh(np.tensordot(p, A, 1))
        top, goal = np.maximum(values[::-1], 0), p @ b
        k = 0 if goal <= 0 else int(np.searchsorted(np.sqrt(np.cumsum(top**2)), goal * (1 - 1e-10))) + 1
        x = top[:k] / np.linalg.norm(top[:k]) if k else top[:0]
        X = (vectors[:, ::-1][:, :k] * x) @ vectors[:, ::-1][:, :k].T
        answers.append(X)
        penalty = np.tensordot(A, X, 2) - b
        if method == "mw":
            scaled = penalty / np.abs(penalty).max()
            p = p * np.where(scaled >= 0, (1 - step) ** scaled, (1 + step) ** -scaled)
            p /= p.sum()
        else:
            Z = np.c_[A.reshape(6, -1), b]
            diameter = max(np.linalg.norm(a - c) for a in Z for c in Z)
            gradient = max(gradient, np.sqrt(np.sum(X**2) + 1))
            target = p @ Z - diameter / (2 * gradient * np.sqrt(t)) * np.append(X.ravel(), -1.0)
            p = nearest_in_hull(Z, target)
    np.testing.assert_allclose(found.matrix, np.mean(answers, axis=0), atol=1e-5)


@pytest.mark.parametrize("method", ["mw", "ocp"])
@pytest.mark.parametrize("radius", [1.0, 2.0])
def test_as_printed_the_steps_are_those_of_the_page(rng, method, radius):
    """Algorithm 2: ρ = max_i M(i, X) of a round, δ = min(ε/4ρ, ½). Algorithm 3: η = Δ/(2D√t), Δ = max ‖A_i‖ + |b_i|."""
    A = rng.standard_normal((6, 12, 12))
    A = A + A.transpose(0, 2, 1)
    v = rng.standard_normal(12) / 5
    A *= np.sign([v @ a @ v for a in A])[:, None, None]
    b = np.array([v @ a @ v for a in A])
    epsilon = 0.5 * b.max()
    ball = SchattenBall(radius=radius)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        options = {"max_iter": 12, "variant": "as_printed", "oracle": ball}
        result = gm.RankMinimizer(method, epsilon, **options).solve(A, b)
        other = gm.RankMinimizer(method, epsilon, step=0.5, **options).solve(A, b)
    w = np.ones(6)
    Z = np.c_[A.reshape(6, -1), b]
    delta = max(np.linalg.norm(a) + abs(c) for a, c in zip(A, b))
    answers = []
    for t in range(1, 13):
        p = w / w.sum()
        atom = ball.solve(np.tensordot(p, A, 1), p @ b)
        X = (atom.vectors * atom.values) @ atom.vectors.T
        answers.append(X)
        M = np.tensordot(A, X, 2) - b
        if method == "mw":
            rho = M.max()
            d = min(epsilon / (4 * rho), 0.5)
            w = np.where(M >= 0, w * (1 - d) ** (M / rho), w * (1 + d) ** (-M / rho))
        else:
            eta = delta / (2 * radius * np.sqrt(t))
            w = nearest_in_hull(Z, p @ Z - eta * np.append(X.ravel(), -1.0))
    np.testing.assert_allclose(result.matrix, np.mean(answers, axis=0), atol=1e-5)
    assert np.abs(other.matrix - result.matrix).max() > 1e-3  # another step is another answer


def nearest_in_hull(Z, target):
    """Weights of the point of conv(rows of Z) nearest to a target, by a general solver."""
    from scipy.optimize import nnls

    heavy = 1e4
    weights, _ = nnls(np.vstack([Z.T, heavy * np.ones(len(Z))]), np.append(target, heavy))
    return weights / weights.sum()


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
