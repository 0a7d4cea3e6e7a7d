"""What every learner of metric-learn can be asked."""

import inspect
import pickle
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.metrics import f1_score
from sklearn.model_selection import cross_val_predict, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.compat.problems import ON_PAIRS, name

import gramian as gm
import gramian.compat.metric_learn as metric_learn
from gramian.compat.metric_learn.base_metric import MahalanobisMixin, _PairsClassifierMixin

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


def test_fits_leave_what_fits_left_there(pairs, iris):
    assert metric_learn.MMC().fit(pairs[0], pairs[2]).converged_
    np.testing.assert_array_equal(metric_learn.LMNN().fit(*iris).labels_, iris[1])


@pytest.mark.parametrize("learner", [*ON_PAIRS, *SUPERVISED[1:]], ids=name)
def test_what_needs_labels_says_so(learner, iris, pairs):
    given = pairs[0] if learner in ON_PAIRS else iris[0]
    with pytest.raises(ValueError, match=f"{name(learner)} requires y to be passed, but the target y is None; give"):
        clone(learner).fit(given, None)


def test_every_fit_is_whole():
    learners = [value for value in vars(metric_learn).values() if inspect.isclass(value) and hasattr(value, "fit")]
    assert len(learners) > 15 and all(hasattr(cls.fit, "guarded") for cls in learners)
