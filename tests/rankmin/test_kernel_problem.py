"""The problem of a kernel of low rank in its two scalings: constraints, ball, unit."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from tests.rankmin.problems import KERNEL, feasible_pairs

import gramian as gm
from gramian.rankmin import Burg
from gramian.rankmin.kernel_problem import KernelProblem


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
