"""The drop-in for metric-learn: its habits, its words, and our results under them."""

import inspect
import pickle
import warnings

import numpy as np
import pytest
from numpy.linalg import LinAlgError
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_diabetes, load_iris, make_spd_matrix
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import f1_score
from sklearn.model_selection import cross_val_predict, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import gramian as gm
import gramian.compat.metric_learn as metric_learn
from gramian.compat.metric_learn.base_metric import MahalanobisMixin, _PairsClassifierMixin
from gramian.compat.metric_learn.constraints import wrap_pairs
from gramian.compat.metric_learn.exceptions import DifferenceWarning, NonPSDError, PreprocessorError, _noted

SUPERVISED = [
    metric_learn.Covariance(),
    metric_learn.LFDA(),
    metric_learn.LMNN(),
    metric_learn.MLKR(),
    metric_learn.NCA(),
    metric_learn.RCA_Supervised(n_chunks=2, random_state=0),
    metric_learn.ITML_Supervised(random_state=0),
    metric_learn.LSML_Supervised(random_state=0),
    metric_learn.MMC_Supervised(random_state=0),
    metric_learn.SCML_Supervised(random_state=0),
    metric_learn.SDML_Supervised(balance_param=1e-5, random_state=0),
]
ON_PAIRS = [metric_learn.ITML(), metric_learn.MMC(), metric_learn.SDML(balance_param=1e-5)]


def name(estimator):
    return type(estimator).__name__


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def pairs(iris):
    X, y = iris
    index = metric_learn.Constraints(y).positive_negative_pairs(60, random_state=0)
    T, signs = wrap_pairs(X, index)
    a, b, c, d = index
    return T, np.concatenate([np.column_stack([a, b]), np.column_stack([c, d])]), signs


@parametrize_with_checks(SUPERVISED)
def test_scikit_learn_contract(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)


@pytest.mark.parametrize(
    "cls", [c for c in vars(metric_learn).values() if inspect.isclass(c)], ids=lambda c: c.__name__
)
def test_every_public_name_is_documented_and_stores_its_parameters(cls):
    assert cls.__doc__ and cls.__name__ in metric_learn.__all__
    if cls is not metric_learn.Constraints:
        assert set(cls().get_params()) == set(inspect.signature(cls).parameters)
        clone(cls())


@pytest.mark.parametrize("estimator", SUPERVISED, ids=name)
def test_supervised_learners_work_in_pipelines(estimator, iris):
    X, y = iris
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = make_pipeline(clone(estimator), KNeighborsClassifier())
        assert cross_val_score(model, X, y, cv=3).mean() > 0.85
    fitted = model.fit(X, y)[0]
    M = fitted.get_mahalanobis_matrix()
    np.testing.assert_allclose(M, fitted.components_.T @ fitted.components_)
    np.testing.assert_allclose(fitted.transform(sparse.csr_array(X)), fitted.transform(X))
    d = fitted.get_metric()(X[0], X[100])
    assert d == pytest.approx(fitted.pair_distance([[X[0], X[100]]])[0])
    assert d**2 == pytest.approx((X[0] - X[100]) @ M @ (X[0] - X[100]))
    assert pickle.loads(pickle.dumps(fitted.get_metric()))(X[0], X[100]) == d


@pytest.mark.parametrize("estimator", ON_PAIRS, ids=name)
def test_pairs_are_classified_and_calibrated(estimator, pairs):
    T, _, signs = pairs
    assert is_classifier(estimator)
    with pytest.raises(NotFittedError):
        clone(estimator).predict(T)
    fitted = clone(estimator).fit(T, signs, calibration_params={"strategy": "f_beta", "beta": 1.0})
    best = f1_score(signs, fitted.predict(T))
    for threshold in fitted.pair_distance(T):
        assert f1_score(signs, fitted.set_threshold(threshold).predict(T)) <= best
    for scoring in ("accuracy", "roc_auc", None):
        assert cross_val_score(clone(estimator), T, signs, scoring=scoring, cv=3).min() > 0.7
    assert set(cross_val_predict(clone(estimator), T, signs, cv=3)) == {-1, 1}


@pytest.mark.parametrize("estimator", ON_PAIRS, ids=name)
def test_indices_with_a_preprocessor_are_the_points(estimator, pairs, iris):
    X, _ = iris
    T, index, signs = pairs
    formed = clone(estimator).fit(T, signs)
    for preprocessor in (X, X.tolist(), lambda rows: X[rows]):
        fitted = clone(estimator).set_params(preprocessor=preprocessor).fit(index, signs)
        np.testing.assert_allclose(fitted.pair_score(index), formed.pair_score(T), rtol=1e-6)
        np.testing.assert_allclose(fitted.transform(index[:, 0]), formed.transform(T[:, 0]), rtol=1e-6)


def test_metrics_are_those_of_our_learners(pairs, iris):
    X, y = iris
    T, _, signs = pairs
    theirs = metric_learn.ITML(gamma=2.0).fit(T, signs)
    points, side = gm.Pairs.from_tuples(T, signs, bounds=tuple(theirs.bounds_**2))
    ours = gm.ITML(gamma=2.0, anchor=0, tol=1e-3).fit(points, side)
    np.testing.assert_allclose(theirs.get_mahalanobis_matrix(), ours.metric_.matrix)
    theirs = metric_learn.LFDA(k=5, n_components=2).fit(X, y)
    np.testing.assert_allclose(theirs.components_, gm.LFDA(2, 5, anchor=0).fit(X, y).components_)
    theirs = metric_learn.RCA().fit(X, y)
    np.testing.assert_allclose(theirs.components_, gm.RCA(anchor=0).fit(X, y).components_)


def test_lmnn_weighs_pull_and_push(iris):
    X, y = iris
    theirs = metric_learn.LMNN(regularization=0.2, init="identity").fit(X, y)
    ours = gm.LMNN(push=4.0, anchor=0, init="identity").fit(X, y)
    np.testing.assert_allclose(theirs.get_mahalanobis_matrix(), ours.metric_.matrix)


def test_scale_of_mmc_follows_its_start(pairs):
    T, _, signs = pairs
    V = (T[:, 0] - T[:, 1])[signs == 1]
    for start in (np.eye(4), 3 * np.eye(4)):
        M = metric_learn.MMC(init=start).fit(T, signs).get_mahalanobis_matrix()
        spread, before = (np.einsum("ij,jk,ik->", V, A, V) for A in (M, start))
        assert spread == pytest.approx(before / 100, rel=1e-4)


def test_weights_of_lsml_are_normalized(iris):
    X, y = iris
    index = np.column_stack(metric_learn.Constraints(y).positive_negative_pairs(40, same_length=True, random_state=0))
    weights = np.arange(1.0, len(index) + 1)
    fitted = metric_learn.LSML(preprocessor=X).fit(index, weights=weights)
    np.testing.assert_allclose(fitted.w_, weights / weights.sum())
    np.testing.assert_array_equal(weights, np.arange(1.0, len(index) + 1))
    assert fitted.score(index) > 0.8 and set(fitted.predict(index)) <= {-1, 1}


def test_triplets_of_scml(iris):
    X, y = iris
    triplets = metric_learn.Constraints(y).generate_knntriplets(X, 3, 4)
    fitted = metric_learn.SCML(n_basis=40, preprocessor=X, random_state=0).fit(triplets)
    assert fitted.score(triplets) > 0.9


def test_mlkr_takes_real_targets():
    X, y = load_diabetes(return_X_y=True)
    fitted = metric_learn.MLKR(n_components=2, max_iter=20).fit(X[:100], y[:100])
    assert fitted.transform(X).shape == (442, 2)


def test_a_learner_may_be_built_on_the_base_classes(pairs):
    class Plain(MahalanobisMixin, _PairsClassifierMixin):
        def fit(self, pairs, y):
            pairs, y = self._prepare_inputs(pairs, y, type_of_inputs="tuples")
            self.components_ = np.eye(pairs.shape[2])
            return self

    T, _, signs = pairs
    fitted = Plain().fit(T, signs)
    with pytest.raises(AttributeError, match="A threshold for this estimator has not been set"):
        fitted.predict(T)
    fitted.calibrate_threshold(T, signs, strategy="max_tnr", min_rate=0.9)
    assert (fitted.predict(T)[signs == 1] == 1).mean() >= 0.9


def test_negative_labels_are_unknown(iris):
    X, y = iris
    y = np.where(np.arange(len(y)) % 2 == 0, y, -1)
    constraints = metric_learn.Constraints(y)
    chunks = constraints.chunks(10, 3, random_state=0)
    assert (chunks[y < 0] == -1).all() and len(np.unique(chunks)) == 11
    assert (y[np.concatenate(constraints.positive_negative_pairs(50, random_state=0))] >= 0).all()
    assert (y[constraints.generate_knntriplets(X, 2, 2)] >= 0).all()


@pytest.mark.parametrize("cls", [metric_learn.ITML_Supervised, metric_learn.LSML_Supervised])
def test_priors_that_cannot_serve_are_named(cls, iris):
    X, y = iris
    with pytest.raises(LinAlgError, match="You should provide a strictly positive definite matrix as `prior`"):
        cls(prior=np.diag([1.0, 1.0, 1.0, 0.0])).fit(X, y)
    with pytest.raises(NonPSDError, match="not positive semidefinite"):
        cls(prior=np.diag([1.0, 1.0, 1.0, -1.0])).fit(X, y)
    with pytest.raises(LinAlgError, match="Unable to get a true inverse"):
        cls(prior="covariance").fit(np.hstack([X, X[:, :1]]), y)
    cls(prior=make_spd_matrix(4, random_state=0)).fit(X, y)


def test_what_differs_is_said_once(pairs):
    T, _, signs = pairs
    _noted.clear()
    with pytest.warns(DifferenceWarning, match="bounds are distances here"):
        metric_learn.ITML().fit(T, signs, bounds=(1.0, 3.0))
    with warnings.catch_warnings():
        warnings.simplefilter("error", DifferenceWarning)
        metric_learn.ITML().fit(T, signs, bounds=(1.0, 3.0))


def test_failing_to_converge_is_never_silent(iris):
    with pytest.warns(ConvergenceWarning, match=r"\[NCA\] NCA did not converge"):
        metric_learn.NCA(max_iter=2).fit(*iris)


def test_broken_preprocessors_and_shapes_are_named(pairs, iris):
    X, _ = iris
    T, index, signs = pairs
    with pytest.raises(PreprocessorError, match="An error occurred when trying to use the preprocessor"):
        metric_learn.MMC(preprocessor=lambda rows: X[rows + 10**6]).fit(index, signs)
    with pytest.raises(ValueError, match="3D array of formed tuples expected by MMC. Found 2D array instead"):
        metric_learn.MMC().fit(index, signs)
    with pytest.raises(ValueError, match=r"Tuples of 2 element\(s\) expected by MMC. Got tuples of 3"):
        metric_learn.MMC().fit(np.ones((4, 3, 2)), [1, 1, -1, -1])
    with pytest.raises(ValueError, match=r"only values in \[-1, 1\]"):
        metric_learn.MMC().fit(T, (signs + 1) // 2)


def test_tuples_have_the_names_of_their_kind():
    for cls, name in (
        (metric_learn.ITML, "pairs"),
        (metric_learn.SCML, "triplets"),
        (metric_learn.LSML, "quadruplets"),
    ):
        for method in (cls.predict, cls.decision_function, cls.score):
            assert list(inspect.signature(method).parameters)[1] == name


def test_sdml_warns_where_its_matrix_is_not_definite_and_solves_where_the_penalty_helps():
    X = np.array([[0.0, 0.0], [1.0, 1.0], [0.3, 0.4]])
    pairs, signs = X[[[0, 1], [0, 2]]], [-1, 1]
    prior = np.linalg.inv([[1.2, -0.9], [-0.9, 1.2]])
    with pytest.warns(ConvergenceWarning, match="not positive semi-definite"):
        model = metric_learn.SDML(balance_param=0.9, sparsity_param=2.0, prior=prior).fit(pairs, signs)
    assert (np.linalg.eigvalsh(model.get_mahalanobis_matrix()) > 0).all()
    with pytest.warns(ConvergenceWarning), pytest.raises(RuntimeError, match="graphical lasso"):
        metric_learn.SDML(balance_param=10.0, sparsity_param=2.0, prior=prior).fit(pairs, signs)


def test_fits_leave_what_fits_left_there(pairs, iris):
    assert metric_learn.MMC().fit(pairs[0], pairs[2]).converged_
    np.testing.assert_array_equal(metric_learn.LMNN().fit(*iris).labels_, iris[1])


@pytest.mark.parametrize("learner", [*ON_PAIRS, *SUPERVISED[1:]], ids=name)
def test_what_needs_labels_says_so(learner, iris, pairs):
    given = pairs[0] if learner in ON_PAIRS else iris[0]
    with pytest.raises(ValueError, match=f"{name(learner)} requires y to be passed, but the target y is None; give"):
        clone(learner).fit(given, None)


def test_warnings_point_at_the_line_of_the_caller(iris):
    X, y = iris
    _noted.clear()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        metric_learn.LMNN(learn_rate=1e-6).fit(X, y)
        metric_learn.NCA(max_iter=2).fit(X, y)
        metric_learn.SCML_Supervised(random_state=0).fit(X, y)
        metric_learn.ITML_Supervised(num_constraints=20)
    assert {warning.filename for warning in caught} == {__file__}
    assert {warning.category for warning in caught} >= {DifferenceWarning, ConvergenceWarning, FutureWarning}


def test_sdml_without_a_minimum_says_what_helps(pairs):
    T, _, signs = pairs
    with pytest.warns(ConvergenceWarning), pytest.raises(RuntimeError, match="Lower balance_param, or take gramian"):
        metric_learn.SDML(balance_param=0.5).fit(T, signs)
