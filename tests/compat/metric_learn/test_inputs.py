"""Points, tuples and preprocessors, as metric-learn takes them."""

import inspect

import numpy as np
import pytest
from sklearn.base import clone
from tests.compat.problems import ON_PAIRS, name

import gramian.compat.metric_learn as metric_learn
from gramian.compat.metric_learn.exceptions import PreprocessorError


@pytest.mark.parametrize("estimator", ON_PAIRS, ids=name)
def test_indices_with_a_preprocessor_are_the_points(estimator, pairs, iris):
    X, _ = iris
    T, index, signs = pairs
    formed = clone(estimator).fit(T, signs)
    for preprocessor in (X, X.tolist(), lambda rows: X[rows]):
        fitted = clone(estimator).set_params(preprocessor=preprocessor).fit(index, signs)
        np.testing.assert_allclose(fitted.pair_score(index), formed.pair_score(T), rtol=1e-6)
        np.testing.assert_allclose(fitted.transform(index[:, 0]), formed.transform(T[:, 0]), rtol=1e-6)


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
    for cls, kind in (
        (metric_learn.ITML, "pairs"),
        (metric_learn.SCML, "triplets"),
        (metric_learn.LSML, "quadruplets"),
    ):
        for method in (cls.predict, cls.decision_function, cls.score):
            assert list(inspect.signature(method).parameters)[1] == kind
