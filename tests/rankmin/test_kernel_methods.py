"""The ways to a kernel of low rank: their steps, their settings, what they report."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from tests.rankmin.problems import KERNEL, feasible_pairs

import gramian as gm
from gramian.rankmin import Burg, Game
from gramian.rankmin.base import RankProblem
from gramian.rankmin.game import rounds, rule_of
from gramian.rankmin.kernel_methods import burg
from gramian.rankmin.kernel_problem import KernelProblem
from gramian.rankmin.measurements import Measurements
from gramian.rankmin.oracles import SchattenBall


def test_the_kernel_is_about_as_near_as_that_of_the_descent():
    X = gm.datasets.load("iris", return_X_y=True)[0][::3]
    kernel = gm.Gaussian(1.0)
    d = kernel.sqdist(X)[np.arange(0, 50, 2), np.arange(1, 50, 2)]
    bounds = (0.9 * d + 1e-3, 1.02 * d)  # which the kernel itself meets
    pairs = gm.Pairs(np.arange(0, 50, 2), np.arange(1, 50, 2), d < np.median(d), bounds=bounds)
    kept = {}
    for method in ("svp", "factored"):
        model = gm.LowRankKernel(kernel, rank=25, method=method, setting="transductive").fit(X, pairs)
        assert model.converged_ and model.rank_ <= 25
        kept[method] = model.beta_
    assert kept["svp"] >= 0.95 * kept["factored"]


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


def test_burg_does_not_hear_pairs_that_differ_by_rounding(rng):
    C = np.vstack([rng.normal(size=(40, 5)), 1e-20 * rng.normal(size=(4, 5))])
    left, right, sign = np.r_[0:20, 40, 42], np.r_[20:40, 41, 43], np.r_[np.tile([1, -1], 10), -1, -1]
    some = [gm.Pairs(left[:n], right[:n], sign[:n], bounds=(1.0, 40.0)) for n in (20, 22)]
    found = [burg(KernelProblem.of(C, pairs, inductive=True, rank=5), np.eye(5), 1.0, 100) for pairs in some]
    assert all(solution.converged for solution in found)
    np.testing.assert_allclose(found[1].M, found[0].M, rtol=1e-9)
    assert np.abs(found[0].M - np.eye(5)).max() > 0.1
