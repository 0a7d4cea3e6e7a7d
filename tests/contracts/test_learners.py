"""What every public learner promises; each one enrolls by being in the table of contents."""

import inspect
import pickle

import numpy as np
import pytest
from rich.progress import Progress
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import gramian as gm
from gramian.constraints import Pairs
from gramian.learners.base import Learner


def public_learners():
    found = [getattr(gm, name) for name in gm._registry.HOME]
    return [c for c in found if inspect.isclass(c) and issubclass(c, Learner)]


def build(cls):
    """The learner with its defaults, seeded."""
    seeded = "random_state" in inspect.signature(cls).parameters
    return cls(random_state=0) if seeded else cls()


LEARNERS = [build(cls) for cls in public_learners()]
HARDER = {"SDML": {"sparsity": 1e-3}}
"""Settings for learners whose usual start is the solution."""
QUICKER = {"OnlineVonNeumann": {"n_pretrain": 30}, "AutoMetric": {"candidates": ("RCA", "GMML")}}
"""Settings for what scikit-learn looks at: hundreds of fits, of which none need be good."""
EACH = pytest.mark.parametrize("learner", LEARNERS, ids=lambda est: type(est).__name__)


def test_every_designed_learner_is_enrolled():
    names = {type(est).__name__ for est in LEARNERS}
    assert {"Framework", "ITML", "MMC", "RCA", "POLA", "GMML", "Kernelized"} <= names
    assert {"Covariance", "LFDA", "MLKR", "LSML", "SDML", "SCML"} <= names


def crossed(estimator):
    """Checks that ask for ``fit_transform`` to be ``fit`` and ``transform``."""
    reason = "labeled points get probabilities of models that did not see their label, as of TargetEncoder"
    checks = ("check_transformer_general", "check_transformer_data_not_an_array")
    return dict.fromkeys(checks, reason) if isinstance(estimator, gm.Posteriors) else {}


@parametrize_with_checks(
    [clone(est).set_params(**QUICKER.get(type(est).__name__, {})) for est in LEARNERS], expected_failed_checks=crossed
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return X[::2], y[::2]


def takes_pairs(learner):
    return any(issubclass(Pairs, kind) for kind in learner.traits.takes)


@EACH
def test_fit_leaves_input_alone_and_is_repeatable(learner, iris):
    X, y = iris[0].copy(), iris[1].copy()
    first = clone(learner).fit(X, y)
    assert np.array_equal(X, iris[0]) and np.array_equal(y, iris[1])
    again = clone(first).fit(X, y)
    np.testing.assert_array_equal(first.metric_.sqdist(X), again.metric_.sqdist(X))
    before = first.metric_.sqdist(iris[0])
    X += 100  # fitted state must not be a view of the input
    np.testing.assert_array_equal(first.metric_.sqdist(iris[0]), before)


@EACH
def test_transform_is_an_isometry(learner, iris):
    X, y = iris
    fitted = clone(learner).fit(X, y)
    E = fitted.transform(X)
    D = ((E[:, None] - E[None]) ** 2).sum(-1)
    np.testing.assert_allclose(D, fitted.metric_.sqdist(X), atol=1e-7 * max(D.max(), 1))


@EACH
def test_fitted_attributes(learner, iris):
    fitted = clone(learner).fit(*iris)
    M = fitted.metric_.matrix
    assert isinstance(fitted.converged_, bool)
    learned = fitted.solution_.learned  # a blend is the optimum of no problem
    assert np.isfinite(fitted.objective_ if learned is None else learned.objective)
    assert fitted.n_iter_ >= 0
    assert np.isfinite(M).all() and np.isrealobj(M)
    assert np.linalg.eigvalsh(M)[0] >= -1e-9 * np.abs(M).max()


def iterates(learner):
    """Learners in batch that go in steps; those of other packages report in their own way."""
    return type(learner).__module__.startswith(("gramian.learners", "gramian.rankmin")) and hasattr(learner, "max_iter")


@pytest.mark.parametrize("learner", [est for est in LEARNERS if iterates(est)], ids=lambda est: type(est).__name__)
def test_iterative_learners_report_progress(learner, iris, capsys, monkeypatch):
    calls = []
    learner = clone(learner).set_params(**HARDER.get(type(learner).__name__, {}))
    quiet = clone(learner).set_params(callback=lambda *state: calls.append(state)).fit(*iris)
    assert capsys.readouterr().out == ""
    steps = [state[0] for state in calls]
    assert steps and steps == sorted(steps) and steps[-1] <= max(quiet.n_iter_, 1)
    assert all(len(state) == 3 and np.isfinite(state[2]) for state in calls)
    bars, add_task = [], Progress.add_task
    monkeypatch.setattr("gramian.learners.progress.can_draw", lambda: True)
    monkeypatch.setattr(
        Progress, "add_task", lambda bar, name, **rest: bars.append(name) or add_task(bar, name, **rest)
    )
    heard, loud = len(calls), clone(quiet).set_params(verbose=True).fit(*iris)
    assert bars == [type(learner).__name__]
    assert len(calls) == 2 * heard  # a bar does not take the callback's place
    np.testing.assert_array_equal(loud.metric_.sqdist(iris[0]), quiet.metric_.sqdist(iris[0]))


@EACH
def test_pickle_and_save(learner, iris, tmp_path):
    X, y = iris
    fitted = clone(learner).fit(X, y)
    D = fitted.metric_.sqdist(X)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).metric_.sqdist(X), D)
    fitted.metric_.save(tmp_path / "metric.gram")
    np.testing.assert_allclose(gm.load(tmp_path / "metric.gram").sqdist(X), D, atol=1e-12 * D.max())


@EACH
def test_string_labels_and_constant_features(learner, iris):
    X, y = iris
    X = np.hstack([X, np.ones((len(X), 1))])
    fitted = clone(learner).fit(X, np.array(["iris setosa", "b", "c"])[y])
    assert np.isfinite(fitted.metric_.sqdist(X)).all()


@EACH
def test_pipeline_grid_search_with_labels(learner, iris):
    model = make_pipeline(StandardScaler(), clone(learner), KNeighborsClassifier())
    search = GridSearchCV(model, {"kneighborsclassifier__n_neighbors": [1, 3]}, cv=2).fit(*iris)
    assert search.best_score_ > 0.85


@EACH
def test_set_output_and_feature_names(learner, iris):
    fitted = clone(learner).set_output(transform="pandas").fit(*iris)
    frame = fitted.transform(iris[0])
    assert list(frame.columns) == list(fitted.get_feature_names_out())


@EACH
def test_pair_tuples_score_by_auc(learner, iris):
    if not takes_pairs(learner):
        pytest.skip("takes no pairs")
    X, y = iris
    pairs = Pairs.from_labels(y, 120, random_state=1)
    T, s = np.stack([X[pairs.left], X[pairs.right]], axis=1), np.where(pairs.similar, 1, -1)
    search = GridSearchCV(clone(learner), {"random_state": [0, 1]}, cv=2).fit(T, s)
    assert 0.5 < search.best_score_ <= 1


@EACH
def test_non_convergence_always_warns(learner, iris):
    if "max_iter" not in learner.get_params():
        pytest.skip("closed form")
    with pytest.warns(ConvergenceWarning, match="residual"):
        harder = HARDER.get(type(learner).__name__, {})
        clone(learner).set_params(max_iter=1, tol=0.0, **harder).fit(*iris)


@EACH
def test_bad_input_is_one_clear_sentence(learner, iris):
    X, y = iris
    if learner.__sklearn_tags__().target_tags.required:
        with pytest.raises(ValueError, match="y"):
            clone(learner).fit(X)
        with pytest.raises(ValueError, match="inconsistent"):
            clone(learner).fit(X, y[:-1])
    with pytest.raises(ValueError, match="shape"):
        clone(learner).fit(np.zeros((4, 5, 2)), y[:4])


@EACH
def test_score_wants_one_label_per_point(learner, iris):
    fitted = clone(learner).fit(*iris)
    with pytest.raises(ValueError, match=r"labels must have one entry per point \(75\), got 10"):
        fitted.score(iris[0], iris[1][:10])
    with pytest.raises(ValueError, match=r"X must have shape \(n, d\), got shape \(4,\). Reshape your data: "):
        fitted.transform(iris[0][0])
