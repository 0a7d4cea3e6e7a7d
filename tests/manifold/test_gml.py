"""Geometry-aware kernels: each half step against an independent solution, and the whole against its promises."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.progress import Progress
from scipy.optimize import minimize
from sklearn.isotonic import isotonic_regression
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.utils.estimator_checks import parametrize_with_checks

import gramian as gm
from gramian.manifold import InductiveFamily, NeighborGraph, RBFFamily, SpectralFamily, laplacian
from gramian.manifold.kernel_sets import Ordered, Regularized, Widths
from gramian.solvers import Relative

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*connected components", "ignore:.*held-out labels", "ignore::sklearn.exceptions.ConvergenceWarning"
)


def moons(n=100, seed=0, noise=0.06):
    rng = np.random.default_rng(seed)
    t = np.linspace(0, np.pi, n // 2)
    X = np.vstack([np.c_[np.cos(t), np.sin(t)], np.c_[1 - np.cos(t), 0.5 - np.sin(t)]])
    return X + noise * rng.normal(size=X.shape), np.repeat([0, 1], n // 2)


def hide(y, keep):
    out = np.full(len(y), -1)
    out[keep] = y[keep]
    return out


def family(name, **options):
    """The family of that name with small settings; options that it has not are left out."""
    kind = {"spectral": SpectralFamily, "inductive": InductiveFamily, "rbf": RBFFamily}[name]
    return kind(**{key: value for key, value in options.items() if key in kind.__dataclass_fields__})


def ordered(start):
    """(6.3) on coordinate vectors."""
    return Ordered(np.eye(len(start)), start, None, basis=None)


def logdet(K, M):
    P = np.linalg.solve(M, K)
    return np.trace(P) - np.linalg.slogdet(P)[1] - len(K)


@given(st.lists(st.floats(0.01, 100), min_size=1, max_size=30))
def test_pooling_is_isotonic_regression(values):
    expected = isotonic_regression(np.array(values), increasing=False)
    found = ordered(np.ones(len(values))).nearest(np.diag(values), None)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_step_b_is_the_minimum_over_the_cone(rng):
    """(6.4) with K fixed, by a general solver, and by the cyclic projections of the thesis."""
    s = np.array([1.0, 3.0, 0.5, 0.9, 0.2, 0.4, 0.4, 0.1])
    alpha = ordered(np.ones(8)).nearest(np.diag(s), None)

    def fun(steps):
        beta = np.cumsum(steps)
        return s @ beta - np.log(beta).sum()

    found = minimize(fun, np.diff(1 / alpha, prepend=0) + 0.05, bounds=[(1e-9, None)] + [(0, None)] * 7, tol=1e-14)
    np.testing.assert_allclose(1 / np.cumsum(found.x), alpha, rtol=1e-3)
    assert fun(np.diff(1 / alpha, prepend=0)) <= found.fun + 1e-10
    cyclic, nu = s.copy(), np.zeros(7)
    for i in np.tile(np.arange(7), 3000):  # FindAlpha; the sign of c makes a violated pair meet halfway
        c = max(-nu[i], (cyclic[i + 1] - cyclic[i]) / 2)
        nu[i] += c
        cyclic[i + 1] -= c
        cyclic[i] += c
    np.testing.assert_allclose(cyclic, alpha, atol=1e-8)


def test_step_b_of_the_inductive_family(rng):
    Z, V = rng.normal(size=(12, 6)), np.linalg.qr(rng.normal(size=(12, 4)))[0]
    kernels = Regularized(Z, np.array([0.5, 1.0, 2.0, 4.0, 5.0]), V.T @ Z, False, None, basis=None)
    S, T = Z @ Z.T, V @ np.diag(kernels.start[:4]) @ V.T + 5.0 * (np.eye(12) - V @ V.T)
    np.testing.assert_allclose(
        Z @ kernels.core(kernels.start) @ Z.T, S - S @ np.linalg.inv(np.eye(12) + T @ S) @ T @ S, atol=1e-10
    )
    B = np.cov(rng.normal(size=(6, 30)))
    theta = kernels.nearest(B, kernels.start)
    best = logdet(B, kernels.core(theta))
    assert theta[0] >= 0 and (np.diff(theta) >= 0).all()
    for _ in range(200):
        trial = np.cumsum(np.maximum(np.diff(theta, prepend=0) + 0.1 * rng.normal(size=5), 0))
        assert logdet(B, kernels.core(trial)) >= best - 1e-6


def test_the_printed_order_of_the_inductive_family(rng):
    """(6.5) to the letter: θ falls, and nothing is said of rougher vectors."""
    Z, V = rng.normal(size=(12, 6)), np.linalg.qr(rng.normal(size=(12, 4)))[0]
    kernels = Regularized(Z, np.full(4, 2.0), V.T @ Z, True, None, basis=None)
    S, T = Z @ Z.T, 2.0 * V @ V.T
    np.testing.assert_allclose(
        Z @ kernels.core(kernels.start) @ Z.T, S - S @ np.linalg.inv(np.eye(12) + T @ S) @ T @ S, atol=1e-10
    )
    B = np.cov(rng.normal(size=(6, 30)))
    theta = kernels.nearest(B, kernels.start)
    best = logdet(B, kernels.core(theta))
    assert theta[-1] >= 0 and (np.diff(theta) <= 0).all()
    for _ in range(200):
        steps = np.maximum(np.diff(theta[::-1], prepend=0) + 0.1 * rng.normal(size=4), 0)
        assert logdet(B, kernels.core(np.cumsum(steps)[::-1])) >= best - 1e-6
    X, truth = moons(60)
    printed = InductiveFamily(rank=20, n_eigenvectors=6, variant="as_printed")
    model = gm.GeometryAwareKernel(printed, 1.0, max_iter=3, random_state=0).fit(X, hide(truth, [1, 20, 40, 59]))
    assert model.alphas_.shape == (6,) and (np.diff(model.alphas_) <= 1e-12).all()


def test_step_b_of_the_rbf_family(rng):
    X = rng.normal(size=(10, 3))
    D = ((X[:, None] - X) ** 2).sum(-1)
    kernels = Widths(X, D, np.array([1.0, 1.0]))
    B = kernels.core(np.array([3.0, 1.7]))
    np.testing.assert_allclose(kernels.nearest(B, kernels.start), [3.0, 1.7], rtol=1e-3)


@pytest.mark.parametrize("name", ["spectral", "inductive", "rbf"])
@pytest.mark.parametrize("gamma", [0.1, 10.0])
def test_objective_never_rises_and_is_what_it_says(name, gamma):
    X, truth = moons(60)
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

    X, truth = moons(60)
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
    X, truth = moons(60)
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


@pytest.mark.parametrize("name", ["spectral", "inductive", "rbf"])
def test_gamma_is_chosen_on_the_labels_as_by_hand(name):
    """Folds, fits and votes spelled out with the public estimator."""
    X, truth = moons(40, noise=0.25)
    y = hide(truth, np.arange(1, 40, 4))
    options = {"family": family(name, n_eigenvectors=6, rank=12), "n_votes": 3, "n_pairs": 12}
    options |= {"max_iter": 2, "random_state": 0, "anchor": 0.0}
    grid = [0.01, 1.0, 10.0]
    model = gm.GeometryAwareKernel(gamma=grid[::-1], **options).fit(X, y)
    known, right = np.flatnonzero(y >= 0), np.zeros(3)
    folds = RepeatedStratifiedKFold(n_splits=5, n_repeats=2, random_state=np.random.RandomState(0))
    for _, fold in folds.split(known, y[known]):
        rest = hide(y, np.delete(known, fold))
        for i, gamma in enumerate(grid):
            found = gm.GeometryAwareKernel(gamma=gamma, **options).fit(X, rest).predict()
            right[i] += np.sum(found[known[fold]] == y[known[fold]])
    assert model.gamma_ == grid[right.argmax()]
    alone = gm.GeometryAwareKernel(gamma=model.gamma_, **options).fit(X, y)
    np.testing.assert_array_equal(model.core_, alone.core_)
    with pytest.raises(ValueError, match="gamma must be one number with constraints"):
        model.fit(X, gm.Pairs([0], [1], [True]))
    assert model.fit(X, hide(truth, [3])).gamma_ == 0.01  # nothing to choose by


def test_inductive_family_keeps_rough_directions_down():
    """Without an end of the order the kernel S would be free wherever the graph's vectors are not."""
    X, truth = moons(100)
    y = hide(truth, np.arange(3, 100, 6))
    inductive = InductiveFamily(gm.Gaussian(0.3), rank=40, n_eigenvectors=8)
    model = gm.GeometryAwareKernel(inductive, 1.0, max_iter=3).fit(X, y)
    V, Z = model.eigenvectors_, model.coordinates_
    assert model.alphas_.shape == (9,) and (np.diff(model.alphas_) >= -1e-12).all()

    def rough_share(theta):
        M = Z @ Regularized(Z, theta, V.T @ Z, False, None, basis=None).core(theta) @ Z.T
        return np.trace(M - V @ V.T @ M) / np.trace(M)

    assert rough_share(model.alphas_) < 0.5 * rough_share(np.append(model.alphas_[:-1], 0.0))


def test_first_step_is_itml_on_the_eigenvectors():
    X, truth = moons(60)
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


def test_hard_constraints_hold():
    X, truth = moons(60)
    drawn = gm.Pairs.from_labels(truth, 10, random_state=0)
    pairs = gm.Pairs(drawn.left, drawn.right, drawn.similar, bounds=(0.05, 0.1))
    model = gm.GeometryAwareKernel(SpectralFamily(n_eigenvectors=10), gamma=None).fit(X, pairs)
    assert pairs.violation(model.metric_, X).max() < 1e-4
    assert np.linalg.eigvalsh(model.kernel_)[0] > -1e-10
    assert (np.diff(model.alphas_) <= 0).all() and (model.alphas_ > 0).all()


def test_without_side_information_it_is_the_diffusion_kernel():
    X, _ = moons(60)
    spectral = SpectralFamily(n_eigenvectors=59, n_neighbors=6, diffusion=0.4)
    model = gm.GeometryAwareKernel(spectral).fit(X, np.full(60, -1))
    L = laplacian(NeighborGraph(6)(X))[0].toarray()
    values, V = np.linalg.eigh(L)
    expected = (V * np.exp(-0.4 * values)) @ V.T - 1 / 60  # without the constant vector
    np.testing.assert_allclose(model.kernel_, expected, atol=1e-9)
    assert model.converged_ and model.objective_path_ == []
    with pytest.raises(ValueError, match="predict needs labels"):
        model.predict()


@pytest.mark.parametrize("name", ["spectral", "inductive", "rbf"])
def test_labels_spread_and_new_points_follow(name):
    X, truth = moons(100)
    y = hide(truth, np.arange(3, 100, 6))
    kind = family(name, n_eigenvectors=10, rank=60, kernel=gm.Gaussian(0.4))
    model = gm.GeometryAwareKernel(kind, 1.0, random_state=0, n_votes=3, n_pairs=40).fit(X, y)
    right = np.mean(model.predict() == truth)
    assert right > 0.9
    new, labels = moons(160, seed=5)
    assert np.mean(model.predict(new) == labels) > right - 0.06
    assert np.array_equal(model.predict()[y >= 0], truth[y >= 0])


@pytest.mark.parametrize("name", ["spectral", "inductive", "rbf"])
def test_kernel_embedding_and_metric_agree(name, tmp_path):
    X, truth = moons(60)
    kind = family(name, n_eigenvectors=6, rank=20)
    y = hide(truth, [1, 20, 40, 59])
    model = gm.GeometryAwareKernel(kind, 1.0, random_state=0).fit(X, y)
    K = model.kernel_
    D = np.diag(K)[:, None] + np.diag(K) - 2 * K
    np.testing.assert_allclose(model.metric_.sqdist(X), D, atol=1e-6 * D.max())
    F = model.embedding_
    np.testing.assert_allclose(F @ F.T, K, atol=1e-6 * np.abs(K).max())
    model.metric_.save(tmp_path / "metric")
    np.testing.assert_allclose(gm.load(tmp_path / "metric").sqdist(X), model.metric_.sqdist(X))
    plane = gm.GeometryAwareKernel(kind, 1.0, n_components=2, random_state=0).fit(X, y)
    values, vectors = np.linalg.eigh(K)
    best = (vectors[:, -2:] * values[-2:]) @ vectors[:, -2:].T
    np.testing.assert_allclose(plane.embedding_ @ plane.embedding_.T, best, atol=1e-6 * np.abs(K).max())
    for fitted in (model, plane):
        new = moons(60, seed=3)[0]
        np.testing.assert_allclose(fitted.transform(X), fitted.embedding_, atol=1e-9 * np.abs(K).max())
        np.testing.assert_array_equal(fitted.transform(new), fitted.metric_.transform(new))


def test_copies_of_points_have_their_own_row(rng):
    """As a set the points have the rows of the embedding; alone a copy has the mean of its point's rows."""
    X, truth = moons(60)
    X = np.vstack([X, X[:7]])
    y = hide(np.append(truth, truth[:7]), [1, 20, 40, 59])
    for model in (gm.GeometryAwareKernel(gamma=1.0, random_state=0), gm.TDL(3, lam=0.1, n_neighbors=6)):
        F = model.fit(X, y).embedding_
        assert np.abs(F[:7] - F[60:]).max() > 1e-6
        np.testing.assert_array_equal(model.transform(X), F)
        np.testing.assert_array_equal(model.metric_.transform(X.copy()), F)
        np.testing.assert_allclose(model.transform(X[3:4])[0], (F[3] + F[63]) / 2)
        np.testing.assert_array_equal(model.transform(X[10:20]), F[10:20])


def test_alignment_of_two_pieces_by_a_few_links():
    """Two disjoint circles, must-links at a few angles: nearest on the other circle is near in angle."""
    t = np.linspace(0, 2 * np.pi, 40, endpoint=False)
    ring = np.c_[np.cos(t), np.sin(t)]
    X = np.vstack([ring, 5 + 2 * ring])
    links = np.arange(0, 40, 5)
    pairs = gm.Pairs(links, links + 40, np.ones(8, bool), bounds=(1e-4, 1.0))
    spectral = SpectralFamily(n_eigenvectors=9, n_neighbors=2)
    model = gm.GeometryAwareKernel(spectral, gamma=100.0, max_iter=20)
    with pytest.warns(UserWarning, match="2 connected components"):
        model.fit(X, pairs)
    D = model.metric_.sqdist(X)[:40, 40:]
    off = np.abs((D.argmin(axis=1) - np.arange(40) + 20) % 40 - 20)
    assert np.median(off) <= 1
    start = np.exp(-0.1 * model.eigenvalues_)
    np.testing.assert_allclose(np.log(model.alphas_).sum(), np.log(start).sum())  # det M is held …
    free = model.set_params(family=replace(spectral, keep_volume=False), max_iter=60).fit(X, pairs)
    assert free.alphas_.max() < 0.01 * start.max()  # … because otherwise everything shrinks


@pytest.mark.parametrize("name", ["spectral", "inductive", "rbf"])
def test_few_labels_duplicates_and_isolated_points(name):
    X, truth = moons(60)
    X = np.vstack([X, X[:10], [[40.0, 40.0]]])
    truth = np.append(truth, [*truth[:10], 1])
    kind = family(name, n_eigenvectors=5, rank=15, graph=gm.manifold.BallGraph(0.5))
    model = gm.GeometryAwareKernel(kind, 1.0, max_iter=3, random_state=0)
    for known, answers in (([0], {0}), ([0, 1, 2], {0}), ([0, 40], {0, 1}), ([0, 1, 60, 70], {0, 1})):
        found = model.fit(X, hide(truth, known)).predict()
        assert set(found) <= answers and np.array_equal(found[known], truth[known])
        assert np.isfinite(model.kernel_).all() and np.isfinite(model.transform(X[:3] + 0.01)).all()
    none = model.fit(X, np.full(len(X), -1))
    assert np.isfinite(none.kernel_).all() and none.objective_path_ == []
    assert np.isfinite(none.transform([[-90.0, 7.0]])).all()


def test_edges(rng):
    X, truth = moons(60)
    X = np.vstack([X, X[:10]])
    y = hide(np.append(truth, truth[:10]), [0, 1, 2])
    five, many = SpectralFamily(n_eigenvectors=5), SpectralFamily(n_eigenvectors=500)
    assert (gm.GeometryAwareKernel(five, 1.0).fit(X, y).predict() == 0).all()  # one class
    assert (gm.GeometryAwareKernel(five, 1.0).fit(X, hide(y, [0])).predict() == 0).all()  # one label
    assert gm.GeometryAwareKernel(many, 1.0).fit(X, y).eigenvectors_.shape == (70, 69)
    for change, message in [
        ({"family": "cubic"}, "family must be one of"),
        ({"bounds": (0.0, 1.0)}, "bounds must not be 0"),
        ({"max_iter": 0}, "max_iter must be"),
    ]:
        with pytest.raises(ValueError, match=message):
            gm.GeometryAwareKernel(**change).fit(X, y)
    with pytest.raises(ValueError, match="SpectralFamily: n_eigenvectors must be"):
        SpectralFamily(n_eigenvectors=0)
    with pytest.raises(TypeError, match="solver must be"):
        gm.GeometryAwareKernel(solver="dual").fit(X, y)


@parametrize_with_checks([gm.GeometryAwareKernel(max_iter=2, n_pairs=20)])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "gamma, message", [([], "or several to choose from, got none"), ("a", "gamma must be"), (0, "gamma must be")]
)
def test_slack_weights_are_checked(gamma, message):
    X, y = np.random.default_rng(0).normal(size=(20, 2)), np.repeat([0, 1], 10)
    with pytest.raises(ValueError, match=f"GeometryAwareKernel: .*{message}"):
        gm.GeometryAwareKernel(gamma=gamma).fit(X, y)


@pytest.mark.parametrize("name", ["spectral", "inductive", "rbf"])
def test_copies_of_points_do_no_harm(name):
    X = np.random.default_rng(7).normal(size=(6, 4))
    model = gm.GeometryAwareKernel(family(name, n_neighbors=8), random_state=0)
    model.fit(np.repeat(X, 4, axis=0), np.repeat(np.arange(6) % 3, 4))
    assert np.isfinite(model.objective_path_).all() and np.isfinite(model.kernel_).all()


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


@pytest.mark.parametrize("name", ["inductive", "rbf"])
def test_near_copies_in_other_classes_do_no_harm(name):
    rng = np.random.default_rng(21)
    for X in (rng.normal(size=(24, 4)) > 0, np.exp(8 * rng.normal(size=(24, 4)))):
        model = gm.GeometryAwareKernel(name, random_state=0).fit(X, np.arange(24) % 3)
        assert np.isfinite(model.objective_path_).all() and np.isfinite(model.kernel_).all()
