"""The contract of estimators with several clusterings: every public one enrolls by itself."""

import inspect
import pickle

import numpy as np
import pytest
from rich.progress import Progress
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.estimator_checks import estimator_checks_generator

import gramian as gm
from gramian.clustering.base import Clusterings

CLASSES = [
    getattr(gm, name)
    for name in gm._registry.HOME
    if inspect.isclass(getattr(gm, name)) and issubclass(getattr(gm, name), Clusterings)
]
each = pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)


def grid(n=90, d=4, seed=0):
    """Two independent labelings, one along the first features and one along the others."""
    rng = np.random.default_rng(seed)
    truth = rng.integers([2, 3], size=(n, 2))
    X = rng.normal(size=(n, d))
    X[:, 0] += 9 * truth[:, 0]
    X[:, 2:] += 8 * np.eye(3)[truth[:, 1]][:, :2]
    return X, truth


def model(cls, **options):
    return cls(**{"n_clusters": (2, 3), "n_init": 3, "random_state": 0} | options)


def test_the_named_ones_are_enrolled():
    named = {"DecorrelatedKMeans", "ConvolutionalEM", "CooperativeVQ", "MultipleCauseVQ"}
    assert named <= {cls.__name__ for cls in CLASSES}


def checks():
    """All checks of scikit-learn; those on the shape of ``predict`` know of one column only, so of one clustering."""
    for cls in CLASSES:
        for narrow, k in ((False, (2, 2)), (True, (2,))):
            for estimator, check in estimator_checks_generator(cls(k, n_init=2), mark="xfail"):
                if ("estimator_sparse" in check.func.__name__) == narrow:
                    yield pytest.param(estimator, check, id=f"{cls.__name__}-{check.func.__name__}")


@pytest.mark.parametrize("estimator, check", list(checks()))
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@each
def test_shapes_and_the_path(cls):
    X, _ = grid()
    fitted = model(cls).fit(X)
    assert fitted.labels_.shape == (90, 2) and fitted.labels_.min() == 0
    assert (fitted.labels_.max(axis=0) <= [1, 2]).all()
    assert [C.shape for C in fitted.cluster_centers_] == [(2, 4), (3, 4)]
    path = fitted.objective_path_
    assert len(path) == fitted.n_iter_ and np.all(np.diff(path) <= 1e-9 * np.abs(path[:-1]))
    assert path[-1] == pytest.approx(fitted.objective_)
    assert np.mean(fitted.predict(X) == fitted.labels_) > 0.9 and fitted.predict(X[:1]).shape == (1, 2)


@each
def test_one_seed_one_answer_and_nothing_written(cls):
    X, _ = grid()
    kept = X.copy()
    a = model(cls).fit(X)
    b = pickle.loads(pickle.dumps(clone(a).fit(X)))
    assert np.array_equal(a.labels_, b.labels_) and a.objective_ == b.objective_ and np.array_equal(X, kept)
    X[:] = 0
    assert np.array_equal(b.predict(kept), a.predict(kept))


@each
def test_each_clustering_is_a_metric(cls):
    X, _ = grid()
    fitted = model(cls).fit(X)
    assert len(fitted.metrics_) == 2
    for metric, C, labels, size in zip(fitted.metrics_, fitted.cluster_centers_, fitted.labels_.T, (2, 3)):
        assert metric.n_features == 4 and np.linalg.matrix_rank(metric.matrix, tol=1e-9) <= size - 1
        shares = C[labels]
        scatter = np.cov(shares.T, bias=True)  # between the centers, each as often as it has points
        assert np.allclose(metric.matrix, scatter, atol=1e-9 * np.abs(scatter).max())


@each
def test_a_start_can_be_given(cls):
    X, truth = grid()
    kept = truth.copy()
    fitted = model(cls, init=truth).fit(X)
    assert gm.clustering.match(fitted.labels_, truth, score="ari").scores.min() > 0.9 and np.array_equal(truth, kept)
    for wrong in (truth[:5], truth + 0.5, truth + 2):
        with pytest.raises(ValueError, match=f"{cls.__name__}: init must hold"):
            model(cls, init=wrong).fit(X)


@each
def test_hard_inputs_are_defined(cls):
    X, _ = grid()
    single = model(cls, n_init=10).fit(X.astype(np.float32))
    assert gm.clustering.match(single.labels_, model(cls, n_init=10).fit(X).labels_, score="ari").scores.min() > 0.9
    for bad in (
        np.zeros((6, 3)),
        np.ones((6, 3)) * 1e9,
        X * 1e8,
        X * 1e-8,
        np.hstack([X, np.ones((90, 200))]),
        X[:, :1],
    ):
        fitted = model(cls).fit(bad)
        assert np.isfinite(fitted.objective_) and all(np.isfinite(C).all() for C in fitted.cluster_centers_)


@each
@pytest.mark.parametrize("seed", [0, 1])
def test_the_same_numbers_in_single_precision_are_clustered_alike(cls, seed):
    """No clusters here, so that many minima are nearly equal and rounding would decide."""
    X = np.random.default_rng(seed).normal(size=(90, 4)).astype(np.float32)
    single, double = model(cls).fit(X), model(cls).fit(X.astype(np.float64))
    assert np.array_equal(single.labels_, double.labels_) and single.objective_ == double.objective_
    assert np.array_equal(single.predict(X), double.predict(X.astype(np.float64)))


@each
def test_single_precision_is_kept_where_there_is_much_and_ends_as_low_from_the_same_start(cls, monkeypatch):
    monkeypatch.setattr(gm.clustering.points, "SINGLE", 0)
    X, truth = grid()
    X = X.astype(np.float32)
    options = {"init": truth} | ({"penalty": 1.0} if "penalty" in cls().get_params() else {})
    single, double = model(cls, **options).fit(X), model(cls, **options).fit(X.astype(np.float64))
    assert single.objective_ == pytest.approx(double.objective_, rel=1e-5)
    assert np.array_equal(single.labels_, double.labels_)


@each
def test_sparse_is_dense_or_refused(cls):
    X, _ = grid()
    X = np.where(np.abs(X) < 0.5, 0, X)
    if not model(cls)._sparse:
        with pytest.raises(TypeError, match="[Ss]parse"):
            model(cls).fit(sparse.csr_array(X))
        return
    a, b = model(cls).fit(X), model(cls).fit(sparse.csr_matrix(X))
    assert np.array_equal(a.labels_, b.labels_) and a.objective_ == pytest.approx(b.objective_)
    assert np.array_equal(b.predict(sparse.csr_array(X)), a.predict(X))


@each
def test_one_sentence_for_bad_arguments(cls):
    X, _ = grid()
    for options, words in [
        ({"n_clusters": "ab"}, "n_clusters must be an integer"),
        ({"n_clusters": ()}, "n_clusters must hold one number"),
        ({"n_clusters": (2, 0)}, "n_clusters must be an integer"),
        ({"n_init": 0}, "n_init must be an integer"),
        ({"max_iter": 0}, "max_iter must be an integer"),
    ]:
        with pytest.raises(ValueError, match=f"{cls.__name__}: {words}"):
            model(cls, **options).fit(X)
    with pytest.raises(ValueError, match="minimum of 3"):
        model(cls).fit(X[:2])


@each
def test_starts_are_reported(cls, capsys, monkeypatch):
    X, _ = grid()
    heard, bars, add_task = [], [], Progress.add_task
    quiet = model(cls, callback=lambda *state: heard.append(state)).fit(X)
    assert [state[0] for state in heard] == [1, 2, 3]
    assert quiet.objective_ == pytest.approx(min(value for _, value, _ in heard))
    assert capsys.readouterr().out == ""
    monkeypatch.setattr("gramian.learners.progress.can_draw", lambda: True)
    monkeypatch.setattr(
        Progress, "add_task", lambda bar, name, **rest: bars.append(name) or add_task(bar, name, **rest)
    )
    loud = model(cls, verbose=True).fit(X)
    assert bars == [cls.__name__] and np.array_equal(loud.labels_, quiet.labels_)
