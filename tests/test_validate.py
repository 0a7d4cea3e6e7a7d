"""The door: numbers, labels of any kind, scales, and what a message says."""

import pathlib
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator

import gramian
from gramian import _validate


@pytest.mark.parametrize("value", [3, np.int8(3), 3.0, np.float32(3), Fraction(3)])
def test_a_number_of_any_kind_comes_back_as_a_float(value):
    found = _validate.number(value, "Owner", "name", low=3, high=3)
    assert found == 3 and type(found) is float


def test_an_integer_may_be_of_any_size():
    assert _validate.number(10**400, "Owner", "name", integer=True) == 10**400


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, np.float32(np.inf), True, np.True_, "3", None, 1j, [3]])
def test_what_is_not_a_finite_number_is_refused(value):
    with pytest.raises(ValueError, match=r"Owner: name must be a number in \(-inf, inf\), got "):
        _validate.number(value, "Owner", "name")


def test_ends_of_an_interval():
    with pytest.raises(ValueError, match=r"Owner: name must be a number in \(0, 1\], got 0"):
        _validate.number(0, "Owner", "name", low=0, high=1, open_low=True)
    with pytest.raises(ValueError, match=r"Owner: name must be an integer in \[0, 1\], got 2"):
        _validate.number(2, "Owner", "name", low=0, high=1, integer=True)


def test_labels_of_any_type_get_codes_and_unknown_ones_minus_one():
    classes, codes = _validate.labels(["b", "a", "?", "b"], "T", unknown="?")
    assert classes.tolist() == ["a", "b"] and codes.tolist() == [1, 0, -1, 1]
    classes, codes = _validate.labels([2.0, np.nan, 7.0], "T", unknown=np.nan)
    assert classes.tolist() == [2.0, 7.0] and codes.tolist() == [0, -1, 1]
    mixed = np.array(["a", np.nan, "b"], dtype=object)  # a text column with gaps, as pandas reads it
    classes, codes = _validate.labels(mixed, "T", unknown=float("nan"))
    assert classes.tolist() == ["a", "b"] and codes.tolist() == [0, -1, 1]
    assert _validate.labels([3, 3], "T", unknown="x")[1].tolist() == [0, 0]


def test_labels_that_cannot_be_told_apart_are_named():
    with pytest.raises(ValueError, match=r"T: labels contain NaN or infinity; name unknown labels with unknown=\."):
        _validate.labels([1.0, np.nan], "T")
    with pytest.raises(ValueError, match="T: labels must be of one type, got float, str"):
        _validate.labels(np.array(["a", np.nan], dtype=object), "T")


@pytest.mark.parametrize("bad", [1e160, -1e160])
def test_data_whose_squares_overflow_are_refused(bad):
    X = np.array([[1.0, bad]])
    with pytest.raises(ValueError, match=r"T: X must have its largest entry between 1e-150 and 1e\+150, got 1e\+160"):
        _validate.points(X, "T")
    with pytest.raises(ValueError, match="contains NaN or infinity"):
        _validate.points(np.array([[bad, np.nan]]), "T")


def test_single_precision_stays_where_its_squares_fit():
    X = np.ones((2, 2), np.float32)
    assert _validate.points(X, "T").dtype == np.float32
    assert _validate.points(1e30 * X, "T").dtype == np.float64
    assert _validate.points(0 * X, "T").dtype == np.float32


def test_a_random_state_of_any_kind():
    for make in (lambda: 3, lambda: np.random.RandomState(3), lambda: np.random.default_rng(3)):
        first, again = (_validate.random(make(), "T").normal(size=3) for _ in range(2))
        np.testing.assert_array_equal(first, again)
    shared = np.random.default_rng(3)
    assert not np.array_equal(*(_validate.random(shared, "T").normal(size=3) for _ in range(2)))
    with pytest.raises(ValueError, match=r"T: random_state must be None, an integer in .*, got 'seed'\."):
        _validate.random("seed", "T")


def test_what_came_stands_on_one_line():
    with pytest.raises(ValueError, match=r"got array\(\[\[1., 0.*\.\.\.\.$"):
        _validate.number(np.eye(30), "T", "x")
    with pytest.raises(ValueError, match=r"T: percentiles must be two numbers in \[0, 100\], got \(5, 101\)\."):
        _validate.percentiles((5, 101), "T")
    with pytest.raises(ValueError, match=r"T: prior must hold real numbers, got \[\['a'\]\]\."):
        _validate.psd([["a"]], "T", "prior")


@pytest.mark.parametrize("y", [None, np.array([0, 1, 1, 0]), np.array([True, False, False, True])])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, ">f8"])
def test_plain_arrays_pass_the_door_as_those_that_scikit_learn_looks_at(rng, y, dtype):
    X = (10 * rng.random((4, 3))).astype(dtype)
    glanced, looked = BaseEstimator(), BaseEstimator()
    glanced.feature_names_in_ = looked.feature_names_in_ = np.array(["a", "b"])
    named = {"reset": True, "min_points": 2}
    first = _validate.estimator_points(glanced, X, y, **named)
    again = _validate.estimator_points(looked, X.tolist(), None if y is None else y.tolist(), **named)
    for one, other in [(first, again)] if y is None else zip(first, again):
        np.testing.assert_allclose(one, other, rtol=1e-6)
    assert vars(glanced) == vars(looked) == {"n_features_in_": 3}


@pytest.mark.parametrize(
    ("X", "y"), [(np.ones((1, 3)), None), (np.ones((4, 0)), None), (np.ones((4, 3)), np.zeros(3, dtype=int))]
)
def test_arrays_that_are_not_what_they_should_be_are_refused_as_before(X, y):
    with pytest.raises(ValueError, match=r"BaseEstimator: Found (array with|input variables with)"):
        _validate.estimator_points(BaseEstimator(), X, y, reset=True, min_points=2)


def test_warnings_point_at_the_caller_and_are_given_in_one_place():
    package = pathlib.Path(gramian.__file__).parent
    files = [path for path in package.rglob("*.py") if path.name != "_validate.py"]
    assert not [str(path) for path in files if "warnings.warn(" in path.read_text()]


@given(st.lists(st.integers(-128, 127), min_size=1, max_size=40), st.sampled_from(["int8", "int64"]))
def test_labels_by_a_table_are_those_by_sorting(values, dtype):
    y = np.array(values, dtype=dtype)
    classes, codes = _validate.labels(y, "Test")
    assert classes.dtype == y.dtype and np.array_equal(classes, np.unique(y))
    assert np.array_equal(classes[codes], y)


def test_a_label_that_says_neither_yes_nor_no_is_itself_alone():
    pd = pytest.importorskip("pandas")
    y = np.array([1, 2, pd.NA, 1], dtype=object)
    assert _validate.labels(y, "Owner", unknown=pd.NA)[1].tolist() == [0, 1, -1, 0]
    assert _validate.labels([1, 2], "Owner", unknown=pd.NA)[1].tolist() == [0, 1]


def test_a_value_without_words_is_named_by_its_type():
    class Silent:
        def __repr__(self):
            raise RuntimeError

    with pytest.raises(ValueError, match="Owner: k must .* got a value of type Silent"):
        _validate.number(Silent(), "Owner", "k")
    with pytest.raises(ValueError, match="Owner: random_state must "):
        _validate.random(np.timedelta64(3, "D"), "Owner")


@pytest.mark.parametrize("shape", [(3, 2), (70_000, 3), (5, 40_000), (1, 70_000)])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_one_bad_number_is_found_wherever_it_is(shape, bad):
    X = np.ones(shape)
    for place in (0, X.size // 2, X.size - 1):
        Y = X.copy()
        Y.flat[place] = bad
        with pytest.raises(ValueError, match="contains NaN or infinity"):
            _validate.points(Y, "Owner")
        Y.flat[place] = -7.0
        assert _validate.largest(Y) == 7
