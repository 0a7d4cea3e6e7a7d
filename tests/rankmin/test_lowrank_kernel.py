"""LowRankKernel: two settings, one kernel function; the Burg method against the full-rank learner on coordinates."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import scale

import gramian as gm
from gramian.rankmin import Burg, Game, lowrank_kernel
from gramian.rankmin.base import RankProblem
from gramian.rankmin.game import rounds, rule_of
from gramian.rankmin.kernel_methods import burg
from gramian.rankmin.kernel_problem import KernelProblem
from gramian.rankmin.measurements import Measurements
from gramian.rankmin.oracles import SchattenBall

KERNEL = gm.Gaussian(1.0)


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return X[::3], y[::3]


def feasible_pairs(X, kernel=KERNEL):
    """Bounds that k₀ itself satisfies loosely, but its truncation does not."""
    D = kernel.sqdist(X)
    i, j = np.arange(0, len(X) - 1, 2), np.arange(1, len(X), 2)
    d = D[i, j]
    similar = d < np.median(d)
    return gm.Pairs(i, j, similar, bounds=(0.9 * d + 1e-3, 1.02 * d))


@pytest.mark.parametrize("setting", ["inductive", "transductive"])
@pytest.mark.parametrize("method", ["factored", "mw", "ocp", "burg", "svp"])
def test_kernel_function_extends_the_training_matrix(iris, setting, method):
    X, _ = iris
    pairs = feasible_pairs(X)
    model = gm.LowRankKernel(KERNEL, rank=12, method=method, setting=setting, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, pairs)
    K = model.kernel_
    assert model.rank_ <= 12 and np.linalg.matrix_rank(K, tol=1e-9 * np.abs(K).max()) <= 12
    np.testing.assert_allclose(model.metric_.kernel(X), K, atol=1e-6 * np.abs(K).max())
    far = np.random.default_rng(0).normal(scale=5, size=(40, 4))
    values = np.linalg.eigvalsh(model.metric_.kernel(far))
    assert values[0] >= -1e-9 * max(values[-1], 1e-12)
    np.testing.assert_allclose(model.beta_, np.sum(K * KERNEL(X)) / np.sum(KERNEL(X) ** 2), rtol=1e-6)


@pytest.mark.parametrize("setting", ["inductive", "transductive"])
@pytest.mark.parametrize("method", ["factored", "mw", "ocp", "svp"])
def test_constraints_hold_when_they_can(iris, setting, method):
    X, _ = iris
    pairs = feasible_pairs(X)
    model = gm.LowRankKernel(KERNEL, rank=25, method=method, setting=setting, tol=0.05).fit(X, pairs)
    assert model.converged_
    worst = (pairs.values(model.metric_, X) - pairs.bound).max()
    assert worst <= 0.05 * pairs.limit.min() * (1 + 1e-6)
    assert worst <= model.solution_.violation + 1e-7
    norm = np.linalg.norm(model.metric_.matrix) if setting == "inductive" else np.linalg.norm(model.kernel_)
    limit = np.sqrt(25) if setting == "inductive" else np.linalg.norm(KERNEL(X))
    assert norm <= limit * (1 + 1e-6)


def test_without_constraints_that_bite_the_search_returns_the_best_approximation(iris):
    X, _ = iris
    pairs = gm.Pairs([0], [1], [True], bounds=(10.0, 20.0))
    lam = np.linalg.eigvalsh(KERNEL(X))[::-1]
    for setting in ("inductive", "transductive"):
        model = gm.LowRankKernel(KERNEL, rank=4, setting=setting).fit(X, pairs)
        assert model.beta_ == pytest.approx((lam[:4] ** 2).sum() / (lam**2).sum(), rel=0.02)


def test_beta_is_kept_when_given(iris):
    X, _ = iris
    model = gm.LowRankKernel(KERNEL, rank=25, beta=0.5, setting="transductive").fit(X, feasible_pairs(X))
    assert model.converged_ and model.beta_ >= 0.5 - 0.05


def test_settings_are_one_problem_in_two_scalings(iris):
    """Transductive S and inductive L give the same pair values and share for the same K."""
    X, _ = iris
    Z = gm.KernelFeatures(KERNEL, rank=10).fit_transform(X)
    pairs = feasible_pairs(X)
    rng = np.random.default_rng(0)
    M = rng.standard_normal((10, 3))
    K, K0 = (Z @ M) @ (Z @ M).T, Z @ Z.T
    for inductive in (True, False):
        problem = KernelProblem.of(Z, pairs, inductive=inductive, rank=3)
        F = M / problem.scaling[:, None] / np.sqrt(problem.radius)
        np.testing.assert_allclose(problem.lift(F), M, rtol=1e-10)
        assert problem.share(F) == pytest.approx(np.sum(K * K0) / np.sum(K0**2))
        d = np.diag(K)[pairs.left] + np.diag(K)[pairs.right] - 2 * K[pairs.left, pairs.right]
        case = problem.at(0.3)
        np.testing.assert_allclose(-problem.radius * case.A(F)[:-1], pairs.sign * d, atol=1e-9)
        assert case.A(F)[-1] == pytest.approx(problem.share(F))


def test_burg_is_itml_on_the_coordinates_and_keeps_the_range(iris):
    X, y = iris
    Z = gm.KernelFeatures(KERNEL, rank=6).fit_transform(X)
    pairs = gm.Pairs.from_labels(y, 100, random_state=0).with_bounds(Z, (30, 70))
    itml = gm.ITML(gamma=1.0, tol=1e-8, max_iter=5000, anchor=0).fit(Z, pairs)
    problem = KernelProblem.of(Z, pairs, inductive=True, tol=1e-8)
    np.testing.assert_allclose(burg(problem, np.eye(6), 1.0, 5000).M, itml.metric_.matrix, atol=1e-5)
    model = gm.LowRankKernel(KERNEL, rank=6, method="burg", n_pairs=100, random_state=0).fit(X, y)
    vectors = np.linalg.eigh(KERNEL(X))[1][:, -6:]
    outside = model.factor_ - vectors @ (vectors.T @ model.factor_)
    assert np.abs(outside).max() <= 1e-8 * np.abs(model.factor_).max() and model.rank_ == 6


def test_burg_started_by_rank_minimization_keeps_that_range(iris):
    X, _ = iris
    pairs = feasible_pairs(X)
    first = gm.LowRankKernel(KERNEL, rank=25, method="ocp", random_state=0).fit(X, pairs)
    second = gm.LowRankKernel(KERNEL, rank=25, method=Burg(init="ocp"), random_state=0).fit(X, pairs)
    Q = np.linalg.qr(first.factor_)[0]
    assert np.abs(second.factor_ - Q @ (Q.T @ second.factor_)).max() <= 1e-6 * np.abs(second.factor_).max()


def test_defaults_and_wrong_arguments(iris):
    X, y = iris
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = gm.LowRankKernel(random_state=0).fit(X, y)
    assert 1 <= model.rank_ < len(X)
    for options, word in [
        ({"method": "x"}, "method"),
        ({"setting": "x"}, "setting"),
        ({"rank": 0}, "rank"),
        ({"beta": 2.0}, "beta"),
    ]:
        with pytest.raises(ValueError, match=word):
            gm.LowRankKernel(KERNEL, random_state=0, **options).fit(X, y)


def test_points_that_are_all_equal():
    model = gm.LowRankKernel(gm.Linear(), random_state=0).fit(np.zeros((6, 2)), [0, 0, 0, 1, 1, 1])
    assert model.rank_ == 0 and np.array_equal(model.metric_.kernel(np.ones((2, 2))), np.zeros((2, 2)))


@pytest.mark.parametrize("method", ["mw", "ocp"])
def test_as_printed_the_kernel_is_the_mean_of_the_answers(iris, method):
    X, _ = iris
    pairs = feasible_pairs(X)
    printed = Game(method, variant="as_printed")
    options = {"method": printed, "setting": "transductive", "max_iter": 7, "beta": 0.3}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = gm.LowRankKernel(KERNEL, **options).fit(X, pairs)
        cut = gm.LowRankKernel(KERNEL, rank=2, **options).fit(X, pairs)
    size, I = np.linalg.norm(KERNEL(X)), np.eye(len(X))
    # The other road: constraint matrices in sample space, dense, and the same seven answers.
    A = [-sign * np.outer(v, v) for v, sign in zip(I[pairs.left] - I[pairs.right], pairs.sign)]
    b = np.append(-pairs.bound / size, 0.3)
    epsilon = model.tol * np.abs(b[:-1]).min()  # of the letter's step; relative to the least bound
    case = RankProblem(Measurements([*A, KERNEL(X) / size]), b, epsilon, SchattenBall())
    atoms = [turn.atom for turn in rounds(case, rule_of(case, method, "printed", ""), 7)]
    K = np.mean([atom.vectors * atom.values @ atom.vectors.T for atom in atoms], axis=0)
    np.testing.assert_allclose(model.kernel_ / size, K, atol=1e-6)
    assert model.rank_ == np.linalg.matrix_rank(K, tol=1e-9)
    values, vectors = np.linalg.eigh(K)
    best = (vectors[:, -2:] * values[-2:]) @ vectors[:, -2:].T
    np.testing.assert_allclose(cut.kernel_ / size, best, atol=1e-6)
    assert cut.rank_ == 2


@pytest.mark.parametrize(
    "options",
    [
        {"method": "factored"},
        {"method": "mw"},
        {"method": "ocp", "beta": 0.3},
        {"method": Game("mw", variant="as_printed")},
        {"method": "burg"},
        {"method": Burg(init="ocp")},
    ],
    ids=lambda options: " ".join(str(value) for value in options.values()),
)
def test_every_method_reports_its_steps(iris, options):
    heard = []
    shared = {"rank": 12, "max_iter": 5, "n_pairs": 60, "random_state": 0}
    model = gm.LowRankKernel(KERNEL, callback=lambda *state: heard.append(state), **shared, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(*iris)
    assert [state[0] for state in heard] == list(range(heard[0][0], heard[0][0] + len(heard)))
    assert heard[0][0] <= 1 and heard[-1][0] <= model.n_iter_
    assert all(np.isfinite(state).all() and state[2] >= 0 for state in heard)
    if options["method"] != "burg" and not isinstance(options["method"], Burg):
        assert len(heard) == model.n_iter_


@pytest.mark.parametrize("method", ["factored", "mw", "ocp", "burg"])
@pytest.mark.parametrize("setting", ["inductive", "transductive"])
def test_the_unit_of_the_kernel_does_not_matter(iris, setting, method):
    """c² k with bounds c² (u, l) is the same problem in another unit, M on the coordinates the same matrix."""
    X, _ = iris
    found = []
    for c in 2.0 ** np.array([0, 20, -20]):  # powers of two, so that no digit of the input changes
        D = c**2 * gm.linalg.sqdist(X)
        pairs = gm.Pairs(
            [0, 1, 2, 20], [5, 9, 30, 45], [True, True, False, False], bounds=(np.quantile(D, 0.2), np.max(D) / 2)
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = gm.LowRankKernel(gm.Linear(), 3, method=method, setting=setting, max_iter=20).fit(c * X, pairs)
        found.append((model.kernel_ / c**2, model.beta_, model.solution_.violation / c**2))
    for K, beta, violation in found[1:]:
        np.testing.assert_allclose(K, found[0][0], atol=1e-8 * np.abs(K).max())
        assert beta == pytest.approx(found[0][1]) and violation == pytest.approx(found[0][2], rel=1e-5, abs=1e-9)


@pytest.mark.parametrize("method", ["mw", "ocp"])
def test_a_game_of_low_rank_is_filled_up_where_that_is_not_enough(iris, method):
    """At a rank that cannot do, the games are left with no more violation than the factored method, within a tenth."""
    X, y = iris
    options = {"rank": 2, "n_pairs": 200, "random_state": 0}
    with pytest.warns(ConvergenceWarning, match="residual"):
        game = gm.LowRankKernel(KERNEL, method=method, **options).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="residual"):
        plain = gm.LowRankKernel(KERNEL, method="factored", **options).fit(X, y)
    assert game.rank_ == 2 and game.solution_.residual <= 1.1 * plain.solution_.residual


def test_a_generator_is_a_random_state(iris):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        one, two = (
            gm.LowRankKernel(KERNEL, 4, n_pairs=20, random_state=np.random.default_rng(0)).fit(*iris).factor_
            for _ in range(2)
        )
    assert np.array_equal(one, two)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"kernel": "rbf"}, "LowRankKernel: kernel must be a Kernel, a function or None, got .rbf."),
        ({"percentiles": (70, 30)}, "percentiles must be in order"),
        ({"percentiles": (30,)}, "percentiles must be two numbers"),
        ({"percentiles": (-1, 200)}, "percentiles must be two numbers"),
        ({"n_pairs": 0}, "n_pairs"),
        ({"max_iter": 0}, "max_iter"),
        ({"tol": -1.0}, "tol"),
        ({"features": 3}, "features must be a KernelFeatures or None"),
        ({"features": gm.KernelFeatures(n_basis=0)}, "n_basis"),
        ({"method": Game("mw", step=0.9)}, "step"),
        ({"method": 3}, "method must be one of .* or a KernelMethod, got 3"),
    ],
)
def test_wrong_options_are_one_sentence(iris, options, words):
    with pytest.raises((TypeError, ValueError), match=words) as error:
        gm.LowRankKernel(**{"kernel": KERNEL, "random_state": 0, **options}).fit(*iris)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("method", "options", "words"),
    [
        (Burg, {"gamma": 0.0}, "Burg: gamma must be a number in"),
        (Burg, {"init": "svd"}, "Burg: init must be .* or a KernelMethod, got 'svd'"),
        (Game, {"step": "theory"}, "Game: step must be a number in"),
        (Game, {"rule": "x"}, "Game: rule must be one of 'mw', 'ocp'"),
        (Game, {"variant": "x"}, "Game: variant must be one of"),
    ],
)
def test_a_method_is_made_of_what_it_may_be(method, options, words):
    with pytest.raises(ValueError, match=words):
        method(**options)


@pytest.mark.parametrize("method", ["factored", "mw", "ocp", "burg"])
@pytest.mark.parametrize("setting", ["inductive", "transductive"])
def test_data_at_the_edges(iris, setting, method):
    X, y = iris
    cases = {
        "strings": (X, np.array(["a", "b", "c"])[y]),
        "float32": (X.astype(np.float32), y),
        "integers": (np.round(10 * X).astype(int), y),
        "one class": (X, np.zeros(len(X))),
        "equal points": (np.ones((10, 3)), np.arange(10) % 2),
        "two points": (X[[0, 20]], [0, 1]),
        "singletons": (X[:6], np.arange(6)),
        "huge": (1e140 * X, y),
        "tiny": (1e-140 * X, y),
        "a point with itself": (X, gm.Pairs([0, 1], [0, 30], [True, False], bounds=(0.1, 0.5))),
    }
    for name, (points, side) in cases.items():
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = gm.LowRankKernel(rank=4, method=method, setting=setting, max_iter=5, n_pairs=20, random_state=0)
            K = model.fit(points, side).kernel_
        assert np.isfinite(K).all() and np.isfinite(model.beta_) and model.rank_ <= 4, name


WORDS, GROUPS = ["metric", "meter", "meters", "kernel", "colonel", "kern"], list("aaabbb")


@pytest.mark.parametrize("setting", ["inductive", "transductive"])
@pytest.mark.parametrize("method", ["factored", "mw", "ocp", "burg"])
def test_kernels_of_other_objects(setting, method):
    """Words with a function for a kernel, and row numbers with its matrix: the same kernel twice."""

    def shared(a, b):
        return float(len(set(a) & set(b)))

    matrix = gm.Precomputed(gm.FunctionKernel(shared)(WORDS))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        words, rows = (
            gm.LowRankKernel(kernel, 3, method=method, setting=setting, n_pairs=8, random_state=0).fit(points, GROUPS)
            for kernel, points in ((shared, WORDS), (matrix, list(range(6))))
        )
    np.testing.assert_allclose(words.kernel_, rows.kernel_, atol=1e-8)
    np.testing.assert_allclose(words.metric_.kernel(WORDS), words.kernel_, atol=1e-8)
    assert words.metric_.kernel(["net"], WORDS).shape == (1, 6)
    with pytest.raises(ValueError, match="LowRankKernel: requires y"):
        gm.LowRankKernel(shared).fit(WORDS)


@pytest.mark.parametrize("method", ["mw", "ocp"])
def test_a_game_that_is_refused_at_once_leaves_the_best_approximation(iris, method):
    X, _ = iris
    pairs = gm.Pairs([0, 1], [30, 40], [False, False], bounds=(1.0, 1e6))  # far beyond the ball
    with pytest.warns(ConvergenceWarning, match="residual"):
        model = gm.LowRankKernel(KERNEL, 3, method=Game(method, variant="as_printed"), setting="transductive").fit(
            X, pairs
        )
    lam = np.linalg.eigvalsh(KERNEL(X))[::-1]
    assert model.rank_ == 3 and model.beta_ == pytest.approx((lam[:3] ** 2).sum() / (lam**2).sum())


@pytest.mark.parametrize("setting", ["inductive", "transductive"])
@pytest.mark.parametrize("kind", ["triplets", "similarities"])
def test_any_linear_constraint_serves(iris, setting, kind):
    """(7.9) has any C_i: triplets and similarities that K₀ nearly meets, against the measurements written out."""
    X, y = iris
    K0 = KERNEL(X)
    if kind == "triplets":
        side = gm.Triplets.from_labels(y, 30, random_state=0, margin=0.05)
        d = KERNEL.sqdist(X)
        side = side[d[side.anchor, side.far] - d[side.anchor, side.near] > 0.04]
    else:
        i, j = np.arange(0, 40, 2), np.arange(1, 41, 2)
        side = gm.Similarities(i, j, K0[i, j] > 0.5, limit=np.where(K0[i, j] > 0.5, 0.97, 1.05) * K0[i, j] + 1e-3)
    model = gm.LowRankKernel(KERNEL, rank=20, setting=setting, tol=0.05).fit(X, side)
    K = model.kernel_
    if kind == "triplets":
        D = np.diag(K)[:, None] + np.diag(K) - 2 * K
        worst = (0.05 - D[side.anchor, side.far] + D[side.anchor, side.near]).max()
        assert worst <= 0.05 * 0.05 * (1 + 1e-6)
    else:
        worst = (side.sign * (K[side.left, side.right] - side.limit)).max()
        assert worst <= 0.05 * np.abs(side.limit).min() * (1 + 1e-6)
    assert model.converged_ and model.rank_ <= 20
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        loose = gm.LowRankKernel(KERNEL, rank=20, setting=setting, method=Burg(gamma=1e-6)).fit(X, side)
        tight = gm.LowRankKernel(KERNEL, rank=20, setting=setting, method=Burg(gamma=100.0)).fit(X, side)
    assert side.violation(tight.metric_, X).sum() <= 0.2 * side.violation(loose.metric_, X).sum()


def test_the_ball_of_both_settings_holds_the_kernel_itself(iris):
    """S that gives K₀ back, I or diag(λ), is on the boundary: its norm is ρ."""
    X, y = iris
    Z = gm.KernelFeatures(KERNEL, basis="all").fit_transform(X)
    pairs = gm.Pairs([0], [1], [True], bounds=(1.0, 2.0))
    for inductive in (True, False):
        problem = KernelProblem.of(Z, pairs, inductive=inductive, rank=Z.shape[1])
        F = problem.start()
        assert np.linalg.norm(F @ F.T) == pytest.approx(1.0) and problem.share(F) == pytest.approx(1.0)
        lifted = Z @ problem.lift(F)
        np.testing.assert_allclose(lifted @ lifted.T, KERNEL(X), atol=1e-8)


def test_defaults_meet_the_pairs_of_scaled_wine():
    """The default rank keeps 90% of the trace, and at that rank the pairs can be met: no warning."""
    X, y = load_wine(return_X_y=True)
    X = scale(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = gm.LowRankKernel(random_state=0).fit(X, y)
    lam = np.sort(np.linalg.eigvalsh(model.features_.kernel_(X)))[::-1]
    assert lam[: model.rank_].sum() >= 0.9 * lam.sum() > lam[: model.rank_ - 1].sum()


def test_burg_does_not_hear_pairs_that_differ_by_rounding(rng):
    C = np.vstack([rng.normal(size=(40, 5)), 1e-20 * rng.normal(size=(4, 5))])
    left, right, sign = np.r_[0:20, 40, 42], np.r_[20:40, 41, 43], np.r_[np.tile([1, -1], 10), -1, -1]
    some = [gm.Pairs(left[:n], right[:n], sign[:n], bounds=(1.0, 40.0)) for n in (20, 22)]
    found = [burg(KernelProblem.of(C, pairs, inductive=True, rank=5), np.eye(5), 1.0, 100) for pairs in some]
    assert all(solution.converged for solution in found)
    np.testing.assert_allclose(found[1].M, found[0].M, rtol=1e-9)
    assert np.abs(found[0].M - np.eye(5)).max() > 0.1


def test_of_many_labeled_points_a_part_is_learned_from_in_all_of_its_coordinates(monkeypatch):
    monkeypatch.setattr(lowrank_kernel, "MANY", 60)
    monkeypatch.setattr(lowrank_kernel, "MOST_POINTS", 40)
    X, y = load_iris(return_X_y=True)
    with pytest.warns(UserWarning, match=r"LowRankKernel: learns from 39 of the 150 points, drawn by class, since"):
        model = gm.LowRankKernel(gm.Gaussian(1.0), rank=8, n_pairs=40, random_state=0).fit(X, y)
    assert model.factor_.shape == (150, 8) and len(model.features_.basis_) <= 39
    np.testing.assert_allclose(model.metric_.kernel(X), model.kernel_, atol=1e-9)
    for settings in ({"setting": "transductive"}, {"features": gm.KernelFeatures(rank=30)}):
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)
            warnings.simplefilter("ignore", ConvergenceWarning)
            found = gm.LowRankKernel(gm.Gaussian(1.0), rank=8, n_pairs=40, random_state=0, **settings).fit(X, y)
        assert found.factor_.shape[0] == 150
