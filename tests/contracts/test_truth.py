"""Fitted attributes say what is so, and the same call gives the same answer: for every learner and anchor."""

import inspect
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits, load_wine
from sklearn.exceptions import ConvergenceWarning

import gramian as gm
from gramian.learners.anchored import WEIGHTS, Anchored, Frame
from gramian.learners.base import Learner, plan
from gramian.learners.task import Effort
from gramian.online.learner import OnlineLearner
from gramian.solvers import Result

LEARNERS = {
    name: cls
    for name in gm._registry.HOME
    if inspect.isclass(cls := getattr(gm, name)) and issubclass(cls, Learner) and not issubclass(cls, OnlineLearner)
}
ITERATIVE = [name for name, cls in LEARNERS.items() if "max_iter" in cls().get_params()]
ANCHORED = [name for name, cls in LEARNERS.items() if "anchor" in cls().get_params()]
SAME = (
    *("RCA", "PLDA", "GMML", "LFDA", "DNE", "ITML", "LMNN", "NCA", "MMC", "MCML", "POLA", "Contrastive", "SCML"),
    *("LSML", "SDML", "MLKR", "Framework", "Kernelized", "LowRankKernel", "AutoMetric"),
)
"""Learners whose two calls without a seed must agree."""
BY_FOLDS = ("RCA", "PLDA", "LFDA", "MCML", "Contrastive", "LMNN", "NCA", "DNE")
"""Learners that draw nothing but folds."""


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    rows = np.random.RandomState(0).permutation(len(X))[:90]
    return ((X - X.mean(axis=0)) / X.std(axis=0))[rows], y[rows]


def fitted(learner, X, y):
    """A fit, and whether it warned that it did not converge."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        learner.fit(X, y)
    return learner, any(issubclass(one.category, ConvergenceWarning) for one in caught)


@pytest.mark.parametrize("name", ITERATIVE)
@pytest.mark.parametrize("anchor", [0, 0.3, "auto"])
def test_converged_is_a_residual_below_the_tolerance(name, anchor, wine):
    options = {"anchor": anchor} if name in ANCHORED else {}
    for more in ({}, {"max_iter": 2}):
        learner, warned = fitted(LEARNERS[name](random_state=0, **options, **more), *wine)
        solution = learner.solution_
        if solution.result is not Result.closed_form:
            assert learner.converged_ == (solution.residual <= solution.tol) == (solution.result is Result.converged)
        assert warned == (solution.result in (Result.stalled, Result.max_iter))
        assert not (more and solution.result is Result.stopped_early), "a limit of the caller's is no choice of ours"


@pytest.mark.parametrize("name", ITERATIVE)
@pytest.mark.parametrize("anchor", [0, 0.3, "auto"])
def test_a_tolerance_of_the_caller_is_kept_in_a_blend_too(name, anchor, wine):
    options = {"anchor": anchor} if name in ANCHORED else {}
    learner, _ = fitted(LEARNERS[name](random_state=0, tol=3e-3, max_iter=40, **options), *wine)
    assert learner.solution_.tol == 3e-3
    assert learner.n_iter_ <= 40 or name == "LowRankKernel"  # which counts the steps of all ranks and shares in trial


@pytest.mark.parametrize("name", ANCHORED)
def test_a_blend_has_no_objective_but_what_was_blended_has(name, wine):
    learner, _ = fitted(LEARNERS[name](random_state=0, anchor=0.3), *wine)
    assert learner.solution_.learned is not None and np.isfinite(learner.solution_.learned.objective)
    if name == "MLKR":  # its blend is in the unit of kernel regression, whose errors are known
        assert np.isfinite(learner.objective_)
        return
    with pytest.raises(AttributeError, match=f"{name}: .* blend .*solution_.learned.objective"):
        _ = learner.objective_
    whole, _ = fitted(LEARNERS[name](random_state=0, anchor=0), *wine)
    assert np.isfinite(whole.objective_)


@pytest.mark.parametrize("name", SAME)
def test_two_calls_without_a_seed_agree_and_a_seed_is_another_stream(name, wine):
    X, y = wine
    one, two = (LEARNERS[name]().fit(X, y).metric_.sqdist(X) for _ in range(2))
    np.testing.assert_allclose(one, two, rtol=0, atol=1e-9 * one.max())


@pytest.mark.parametrize("name", SAME)
def test_labels_under_other_names_give_the_same_metric(name, wine):
    X, y = wine
    if name == "MLKR":
        pytest.skip("its labels are numbers")
    words = np.array(["zebra", "ape", "mole"])[y]
    one, two = (LEARNERS[name]().fit(X, labels).metric_.sqdist(X) for labels in (y, words))
    np.testing.assert_allclose(one, two, rtol=0, atol=1e-9 * one.max())


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "name", [name for name in SAME if name in ANCHORED and name not in ("MLKR", "Framework", "POLA")]
)
def test_another_seed_moves_the_weight_by_a_step_in_most_draws(name):
    X, y = load_digits(return_X_y=True)
    X, y = X[:200], y[:200]
    weights = [LEARNERS[name](random_state=seed).fit(X, y).anchor_ for seed in range(5)]
    steps = np.searchsorted(WEIGHTS, np.array(weights) - 1e-9)
    assert (abs(steps - np.median(steps)) <= 1).mean() > 0.5


@pytest.mark.parametrize("name", BY_FOLDS)
def test_the_order_of_rows_does_not_reach_what_folds_decide(name, wine):
    X, y = wine
    rows = np.random.RandomState(1).permutation(len(X))
    one, two = LEARNERS[name](), LEARNERS[name]()
    weights = [learner.fit(*data).anchor_ for learner, data in ((one, (X, y)), (two, (X[rows], y[rows])))]
    assert weights[0] == weights[1]
    D, E = one.metric_.sqdist(X), two.metric_.sqdist(X)
    np.testing.assert_allclose(D, E, rtol=0, atol=1e-8 * D.max())


def test_functions_without_a_seed_give_the_same_draws(wine):
    X, y = wine
    draws = {
        "pairs": lambda: gm.Pairs.from_labels(y).left,
        "triplets": lambda: gm.Triplets.from_labels(y).far,
        "quadruplets": lambda: gm.Quadruplets.from_labels(y).far_ends[0],
        "pivots": lambda: gm.pivoted_cholesky(gm.Gaussian(1.0), X, rank=5, pivots="random").pivots,
        "bits": lambda: gm.HashIndex(gm.Mahalanobis.euclidean(13), 64).add(X).hash(X),
        "clusters": lambda: gm.DecorrelatedKMeans((2, 2)).fit(X).labels_,
        "moons": lambda: gm.datasets.moons(30).X,
    }
    for name, draw in draws.items():
        assert np.array_equal(draw(), draw()), name


def test_a_failed_fold_is_counted_and_told(wine):
    X, y = wine
    some = gm.Contrastive(random_state=0)
    calls = []

    def solve(task):
        calls.append(len(task.Z))
        if len(calls) == 1:
            raise ValueError("this fold is bad")
        return gm.Contrastive.solve(some, task)

    some.solve = solve
    some.fit(X, y)
    assert some.failed_folds_ == 1 and len(calls) == 3 * some.traits.repeats + 1

    def never(task):
        if len(task.Z) < len(X):
            raise ValueError("nothing here")
        return gm.RCA.solve(bad, task)

    bad = gm.RCA()
    bad.solve = never
    with pytest.warns(UserWarning, match=r"RCA: on no fold .*\(nothing here\).* 0.5; give anchor a number"):
        bad.fit(X, y)
    assert bad.anchor_ == 0.5 and bad.failed_folds_ == 3 * bad.traits.repeats


@pytest.mark.parametrize("name", ["RCA", "Kernelized", "MLKR"])
def test_labels_may_come_coded(name, wine):
    X, y = wine
    plain, coded = (LEARNERS[name]().fit(X, side) for side in (y, gm.constraints.Labels.from_array(y, "test")))
    assert np.array_equal(plain.metric_.sqdist(X), coded.metric_.sqdist(X))


def test_a_plan_is_the_learner_or_a_wrapper_around_it(wine):
    y = gm.constraints.Labels.from_array(wine[1], "test")
    exact = gm.ITML(anchor=0)
    assert plan(exact, y) is exact
    blend = plan(gm.ITML(anchor=0.2), y)
    assert isinstance(blend, Anchored) and blend.weight == 0.2
    assert Effort(1e-2, 15).of(gm.ITML(tol=1e-9)) == Effort(1e-9, 15)
    assert clone(exact).get_params() == exact.get_params() and Frame.part.__doc__
