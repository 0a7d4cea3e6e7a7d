"""The alternation of steps A and B: the objective falls, multipliers are those of the last step."""

from dataclasses import replace

import numpy as np
import pytest
from rich.progress import Progress
from tests.manifold.problems import closer_moons, family, hide, logdet, moons

import gramian as gm
from gramian.manifold import NeighborGraph, SpectralFamily, laplacian
from gramian.manifold.kernel_sets import Ordered
from gramian.solvers import Relative

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*connected components", "ignore:.*held-out labels", "ignore::sklearn.exceptions.ConvergenceWarning"
)


@pytest.mark.parametrize("divergence", [gm.VonNeumann(), gm.Frobenius()], ids=["von Neumann", "Frobenius"])
def test_other_divergences(rng, divergence):
    """The objective falls, and step B is the minimum over the cone for each of them."""
    X, truth = moons(60)
    pairs = gm.Pairs.from_labels(truth, 40, random_state=0)
    model = gm.GeometryAwareKernel(
        SpectralFamily(n_eigenvectors=6), divergence=divergence, bounds=(0.01, 0.2), max_iter=5
    )
    path = np.array(model.fit(X, pairs).objective_path_)
    assert (np.diff(path) <= 0).all() and path[-1] < path[0]
    B = np.cov(rng.normal(size=(6, 30))) + np.diag(np.arange(6))
    alpha = Ordered(np.eye(6), np.ones(6), None, basis=None).nearest(B, np.ones(6))
    best = divergence.value(B, np.diag(alpha))
    for _ in range(300):
        steps = np.maximum(np.diff(alpha[::-1], prepend=0) + 0.1 * rng.normal(size=6), 0)
        trial = np.cumsum(steps)[::-1]
        assert trial[-1] <= 0 or divergence.value(B, np.diag(trial)) >= best - 1e-9
    with pytest.raises(ValueError, match="divergence must be LogDet for this family"):
        gm.GeometryAwareKernel("rbf", divergence=divergence).fit(X, truth)


def test_multipliers_of_the_last_step_a(rng):
    """(6.7): K⁻¹ = M⁻¹ + A(λ) in the coordinates of M, for the M that step A had."""
    X, truth = moons(60)
    drawn = gm.Pairs.from_labels(truth, 20, random_state=0)
    pairs = gm.Pairs(drawn.left, drawn.right, drawn.similar, bounds=(0.01, 0.2))
    model = gm.GeometryAwareKernel(SpectralFamily(n_eigenvectors=5), max_iter=1, solver=gm.DualAscent(tol=1e-10))
    model.fit(X, pairs)
    V = model.eigenvectors_[pairs.left] - model.eigenvectors_[pairs.right]
    A = (V.T * (model.dual_ * pairs.sign)) @ V
    start = np.diag(np.exp(0.1 * model.eigenvalues_))
    np.testing.assert_allclose(np.linalg.inv(model.core_), start + A, rtol=1e-5, atol=1e-6)


def test_multipliers_are_in_the_order_of_the_pairs(rng):
    """A pair of equal points is left out of the problem; its λ is 0 and the others keep their places."""
    X, truth = moons(60)
    X[11] = X[10]
    left, right = np.array([0, 10, 4, 20, 7]), np.array([2, 11, 9, 33, 40])
    pairs = gm.Pairs(left, right, truth[left] == truth[right], bounds=(0.01, 0.2))
    model = gm.GeometryAwareKernel(SpectralFamily(n_eigenvectors=5), max_iter=1, solver=gm.DualAscent(tol=1e-10))
    model.fit(X, pairs)
    assert model.dual_.shape == (5,) and model.dual_[1] == 0
    V = model.eigenvectors_[left] - model.eigenvectors_[right]
    A = (V.T * (model.dual_ * pairs.sign)) @ V
    start = np.diag(np.exp(0.1 * model.eigenvalues_))
    np.testing.assert_allclose(np.linalg.inv(model.core_), start + A, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["spectral", "inductive", "rbf"])
@pytest.mark.parametrize("gamma", [0.1, 10.0])
def test_objective_never_rises_and_is_what_it_says(name, gamma):
    X, truth = closer_moons(60)
    pairs = gm.Pairs.from_labels(truth, 40, random_state=0)
    model = gm.GeometryAwareKernel(family(name, n_eigenvectors=6, rank=15), gamma=gamma, bounds=(0.01, 0.2), max_iter=5)
    model.fit(X, pairs)
    path = np.array(model.objective_path_)
    assert len(path) == 2 * model.n_iter_ and (np.diff(path) <= 0).all() and path[-1] < path[0]
    if name == "spectral":
        slack = Relative(gamma)
        checked = gm.Pairs(pairs.left, pairs.right, pairs.similar, bounds=(0.01, 0.2))
        values = checked.sign * model.metric_.pair_sqdist(X[pairs.left], X[pairs.right])
        total = logdet(model.core_, np.diag(model.alphas_)) + slack.penalty(values, checked.bound).sum()
        np.testing.assert_allclose(total, path[-1], rtol=1e-7)


@pytest.mark.parametrize("cls", [gm.BregmanProjections, gm.DualAscent])
def test_step_a_starts_where_the_last_one_ended(cls):
    """Fewer steps in all than from zero multipliers, and the same kernel."""

    class Counting(cls):
        def solve(self, problem, callback=None):
            solution = super().solve(problem if warm else replace(problem, start=None), callback)
            steps.append(solution.n_iter)
            return solution

    X, truth = closer_moons(60)
    pairs = gm.Pairs.from_labels(truth, 40, random_state=0)
    results = {}
    for warm in (True, False):
        steps: list[int] = []
        model = gm.GeometryAwareKernel(
            SpectralFamily(n_eigenvectors=6), bounds=(0.01, 0.2), max_iter=8, tol=0.0, solver=Counting()
        )
        results[warm] = model.fit(X, pairs).core_, steps
    np.testing.assert_allclose(results[True][0], results[False][0], rtol=1e-3, atol=1e-6)
    assert results[True][1][0] == results[False][1][0]
    assert sum(results[True][1][1:]) < sum(results[False][1][1:])


def test_callback_sees_every_alternation_of_the_final_fit():
    X, truth = closer_moons(60)
    seen = []
    model = gm.GeometryAwareKernel(
        SpectralFamily(n_eigenvectors=6), gamma=[0.1, 1.0], max_iter=4, tol=0.0, random_state=0
    )
    model.set_params(callback=lambda *state: seen.append(state)).fit(X, hide(truth, np.arange(3, 60, 5)))
    assert [state[0] for state in seen] == [1, 2, 3, 4]
    assert [state[1] for state in seen] == model.objective_path_[1::2]
    assert seen[-1][3] is model.core_
    shorter = gm.GeometryAwareKernel(
        SpectralFamily(n_eigenvectors=6), model.gamma_, max_iter=2, tol=0.0, random_state=0
    )
    np.testing.assert_allclose(shorter.fit(X, hide(truth, np.arange(3, 60, 5))).core_, seen[1][3])


def test_first_step_is_itml_on_the_eigenvectors():
    X, truth = closer_moons(60)
    drawn = gm.Pairs.from_labels(truth, 30, random_state=1)
    pairs = gm.Pairs(drawn.left, drawn.right, drawn.similar, bounds=(0.01, 0.2))
    solver = gm.BregmanProjections(tol=1e-11)
    model = gm.GeometryAwareKernel(SpectralFamily(n_eigenvectors=5, diffusion=0.3), max_iter=1, solver=solver).fit(
        X, pairs
    )
    prior = np.diag(np.exp(-0.3 * model.eigenvalues_))
    itml = gm.ITML(1.0, prior=prior, tol=1e-11, max_iter=5000, anchor=0).fit(model.eigenvectors_, pairs)
    np.testing.assert_allclose(model.core_, itml.metric_.matrix, atol=1e-4)
    np.testing.assert_allclose(model.kernel_, model.eigenvectors_ @ model.core_ @ model.eigenvectors_.T, atol=1e-12)
    L = laplacian(NeighborGraph(10)(X))[0]
    np.testing.assert_allclose(L @ model.eigenvectors_, model.eigenvectors_ * model.eigenvalues_, atol=1e-8)


def test_a_bar_shows_the_alternations(monkeypatch):
    bars, add_task = [], Progress.add_task
    monkeypatch.setattr("gramian.learners.progress.can_draw", lambda: True)
    monkeypatch.setattr(
        Progress, "add_task", lambda bar, name, **rest: bars.append(name) or add_task(bar, name, **rest)
    )
    data = gm.datasets.moons(40, random_state=0)
    quiet, loud = (
        gm.GeometryAwareKernel(max_iter=3, verbose=told, random_state=0).fit(data.X, data.y) for told in (False, True)
    )
    assert bars == ["GeometryAwareKernel"] and np.array_equal(quiet.kernel_, loud.kernel_)
