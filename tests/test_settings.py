"""Annotations as the one description of settings: what they take, what they say, and where they are read from."""

import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from typing import Annotated, Any, Literal

import numpy as np
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, clone

import gramian as gm
from gramian import _settings
from gramian._settings import (
    Count,
    Index,
    Loudness,
    Names,
    Path,
    Percentiles,
    Positive,
    Seed,
    Share,
    Size,
    Sizes,
    Within,
    check,
    checked,
    require,
)


def is_number(value, low, high=math.inf, whole=False):
    """Whether Python, or NumPy, counts this as a finite number between two ends."""
    kinds = (int, np.integer) if whole else (int, float, np.integer, np.floating, Fraction)
    if type(value) in (bool, np.bool_, np.timedelta64) or not isinstance(value, kinds):
        return False
    value = value if isinstance(value, Fraction) else value.item() if isinstance(value, np.generic) else value
    return abs(value) <= 1.7976931348623157e308 and low <= value <= high and (not whole or abs(value) <= 2**53)


def is_array(value):
    return type(value) in (list, tuple, range) or (type(value) is np.ndarray and value.shape != ())


def is_listed(value):
    return type(value) in (list, tuple, range) or (type(value) is np.ndarray and value.ndim == 1)


NAIVE: list[tuple[Any, Callable]] = [
    (int, lambda v: is_number(v, -math.inf, whole=True)),
    (float, lambda v: is_number(v, -math.inf)),
    (Count, lambda v: is_number(v, 1, whole=True)),
    (Index, lambda v: is_number(v, 0, whole=True)),
    (Positive, lambda v: is_number(v, 5e-324)),
    (Size, lambda v: is_number(v, 0)),
    (Share, lambda v: is_number(v, 0, 1)),
    (Annotated[float, Within(-1, 1)], lambda v: is_number(v, -1, 1)),
    (Annotated[int, Within(8, 12)], lambda v: is_number(v, 8, 12, whole=True)),
    (bool, lambda v: type(v) in (bool, np.bool_) or (is_number(v, 0, 1, whole=True))),
    (Loudness, lambda v: type(v) in (bool, np.bool_) or is_number(v, -math.inf, whole=True)),
    (str, lambda v: isinstance(v, str)),
    (type(None), lambda v: v is None),
    (dict | None, lambda v: v is None or type(v) is dict),
    (Callable | None, lambda v: v is None or callable(v)),
    (Count | None, lambda v: v is None or is_number(v, 1, whole=True)),
    (Literal["auto"] | Share, lambda v: is_number(v, 0, 1) or (isinstance(v, str) and v == "auto")),
    (Literal["word", "auto"], lambda v: isinstance(v, str) and v in ("word", "auto")),
    (Literal["word"] | np.ndarray, lambda v: (isinstance(v, str) and v == "word") or is_array(v)),
    (Path, lambda v: isinstance(v, str)),
    (Names, lambda v: is_listed(v) and all(isinstance(name, str) for name in v)),
    (Sizes, lambda v: is_listed(v) and all(is_number(size, 5e-324) for size in v)),
    (Sequence[Count], lambda v: is_listed(v) and all(is_number(size, 1, whole=True) for size in v)),
    (
        tuple[Share, Count],
        lambda v: is_listed(v) and len(v) == 2 and is_number(v[0], 0, 1) and is_number(v[1], 1, whole=True),
    ),
    (Percentiles, lambda v: is_listed(v) and len(v) == 2 and all(is_number(p, 0, 100) for p in v)),
    (BaseEstimator | None, lambda v: v is None or isinstance(v, BaseEstimator)),
    (Any, lambda v: True),
]
"""Annotations, each with what it takes written out by hand."""

numbers = st.one_of(
    st.integers(-3, 12),
    st.floats(-2, 102),
    st.sampled_from([math.nan, math.inf, -math.inf, 5e-324, -0.0, 10**30, 2**53, 2**53 + 1, 10**400]),
    st.integers(-3, 12).map(np.int8),
    st.floats(0, 1, width=32).map(np.float32),
    st.fractions(0, 2),
)
values = st.one_of(
    numbers,
    st.sampled_from([None, True, False, np.True_, np.False_, "auto", "word", "", b"x", 1j, len, gm.RCA()]),
    st.sampled_from([np.timedelta64(1, "D"), np.datetime64("2020"), np.array(1), np.eye(2), np.array(["a", "b"])]),
    st.lists(numbers, max_size=3),
    st.tuples(numbers, numbers),
    st.lists(st.sampled_from(["a", "b", 1]), max_size=2),
    st.lists(st.integers(0, 3), max_size=3).map(np.array),
    st.dictionaries(st.text(max_size=1), st.integers(), max_size=1),
)


@pytest.mark.parametrize(("hint", "naive"), NAIVE, ids=[str(place) for place in range(len(NAIVE))])
@given(value=values)
def test_an_annotation_takes_what_it_says(hint, naive, value):
    if naive(value):
        require(hint, value, "Owner", "name")
    else:
        with pytest.raises(ValueError, match=r"^Owner: name must be .*, got .*\.$") as caught:
            require(hint, value, "Owner", "name")
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("hint", "words"),
    [
        (Count, "an integer in [1, inf)"),
        (Positive, "a number in (0, inf)"),
        (Annotated[float, Within(0, 1, above=True)], "a number in (0, 1]"),
        (Annotated[float, Within(high=2)], "a number in (-inf, 2]"),
        (float, "a number"),
        (Count | None, "an integer in [1, inf) or None"),
        (Literal["auto"] | Share, "'auto' or a number in [0, 1]"),
        (Literal["a", "b"] | Size | None, "one of 'a', 'b', a number in [0, inf) or None"),
        (Literal["a", "b"], "one of 'a', 'b'"),
        (Loudness, "True, False or an integer"),
        (tuple[Share, str], "(a number in [0, 1], a string)"),
        (Sequence[Count], "a list, each an integer in [1, inf)"),
        (Callable | None, "a function or None"),
        (Seed, "None, an integer in [0, 2**32), a RandomState or a Generator"),
        (gm.kernels.Kernel | None, "a Kernel or None"),
    ],
)
def test_what_is_expected_in_words(hint, words):
    assert _settings.kind(hint).phrase == words


@pytest.mark.parametrize("value", [None, 0, np.int64(3), 2**32 - 1, np.random.RandomState(0), np.random.default_rng(0)])
def test_seeds_are_what_scikit_learn_takes_and_generators(value):
    require(Seed, value, "Owner", "random_state")
    for bad in (-1, 2**32, 1.0, "seed", np.timedelta64(3, "D"), [1]):
        with pytest.raises(ValueError, match=r"random_state must be None, an integer in \[0, 2\*\*32\)"):
            require(Seed, bad, "Owner", "random_state")


@dataclass(eq=False, repr=False)
class Base(BaseEstimator):
    reg: Size = 0.0
    _: KW_ONLY
    tol: Size | None = None

    def fit(self, X, y=None):
        with _settings.intact(self):
            self.mean_ = np.mean(X)
            return self


@dataclass(eq=False, repr=False)
class Derived(Base):
    n_components: Count | None = None
    _: KW_ONLY
    tol: Positive | None = None


class Ordinary(Base):
    def __init__(self, reg=0.0, *, penalty: Literal["l1", "l2"] = "l1", tol=None):
        super().__init__(reg, tol=tol)
        self.penalty = penalty


def test_annotations_of_bases_count_and_the_nearest_wins():
    for cls, name, good, bad in [
        (Derived, "reg", 1, -1),
        (Derived, "tol", 1e-3, 0),
        (Derived, "n_components", 2, 0),
        (Ordinary, "reg", 1, -1),
        (Ordinary, "tol", 0, -1),
        (Ordinary, "penalty", "l2", "l3"),
    ]:
        check(cls(**{name: good}))
        with pytest.raises(ValueError, match=f"{cls.__name__}: {name} must be "):
            check(cls(**{name: bad}))


def test_an_estimator_of_annotations_is_one_of_scikit_learn():
    model = Derived(2, n_components=3)
    copy = clone(model)
    assert (
        copy.get_params() == {"reg": 2, "n_components": 3, "tol": None}
        and repr(copy) == "Derived(n_components=3, reg=2)"
    )
    assert list(inspect.signature(Derived).parameters) == ["reg", "n_components", "tol"]
    with pytest.raises(ValueError, match="Derived: reg must be a number in"):
        model.set_params(reg="much").fit([1.0])
    assert vars(model) == {"reg": "much", "n_components": 3, "tol": None}


def test_a_fit_that_fails_changes_nothing():
    model = Base().fit([1.0, 3.0])
    with pytest.raises(TypeError):
        model.fit(["a", None])
    assert model.mean_ == 2 and Base(tol=-1).__dict__ == {"reg": 0.0, "tol": -1}


@pytest.mark.parametrize(
    ("hint", "value", "is_type_error"),
    [
        (Count, "x", False),
        (Literal["auto"] | Share, 2, False),
        (Callable | None, 3, True),
        (gm.kernels.Kernel, "rbf", True),
        (Literal["auto"] | gm.kernels.Kernel, "rbf", True),
    ],
)
def test_what_is_no_object_of_its_class_is_a_type_error_too(hint, value, is_type_error):
    with pytest.raises(ValueError, match="Owner: name must be") as caught:
        require(hint, value, "Owner", "name")
    assert isinstance(caught.value, TypeError) == is_type_error


@checked
def power(base: Size, exponent: Count = 2, *more: int, shift: float = 0.0, **rest: Any):
    return base**exponent + shift, more, rest


class Room:
    @classmethod
    @checked
    def of(cls, size: Count):
        return size

    @checked
    def door(self, width: Positive | None):
        return width


def test_functions_and_methods_are_checked_by_their_annotations():
    assert power(3.0) == (9.0, (), {}) and power(2, 3, 4, shift=1, other=5) == (9, (4,), {"other": 5})
    for call, sentence in [
        (lambda: power(-1), r"power: base must be a number in \[0, inf\), got -1\."),
        (lambda: power(1, exponent=0.5), r"power: exponent must be an integer in \[1, inf\), got 0\.5\."),
        (lambda: power(1, shift="x"), r"power: shift must be a number, got 'x'\."),
        (lambda: Room.of(0), r"Room: size must be an integer"),
        (lambda: Room().door(width=0), r"Room: width must be a number in \(0, inf\) or None, got 0\."),
        (lambda: power(1, base=2), "multiple values for argument 'base'"),
        (lambda: power(), "missing 1 required positional argument"),
        (lambda: Room().door(1, 2), "takes 2 positional arguments but 3 were given"),
    ]:
        with pytest.raises((TypeError, ValueError), match=sentence):
            call()
    assert inspect.signature(power).parameters["exponent"].default == 2 and power.__name__ == "power"


@pytest.mark.parametrize("value", [np.int8(2), np.float32(2), np.float64(2), Fraction(2)])
def test_functions_get_numbers_of_python(value):
    (answer, _, _), width = power(value, 1), Room().door(value)
    assert answer == width == 2 and type(width) in (int, float) and type(answer) in (int, float)


def test_the_same_bounds_hold_in_a_body_of_pydantic():
    class Body(pydantic.BaseModel):
        k: Count = 1
        share: Literal["auto"] | Share = "auto"
        size: Positive | None = None

    assert Body(k=3, share=0.5, size=1).model_dump() == {"k": 3, "share": 0.5, "size": 1.0}
    for bad in ({"k": 0}, {"share": 1.5}, {"share": "word"}, {"size": 0}):
        with pytest.raises(pydantic.ValidationError):
            Body(**bad)


def test_a_value_that_cannot_be_shown_is_named_by_its_type():
    class Silent:
        def __repr__(self):
            raise RuntimeError

    with pytest.raises(ValueError, match="Owner: k must be .* got a value of type Silent"):
        require(Count, Silent(), "Owner", "k")
    with pytest.raises(ValueError, match=r"got array\(\[\[1., 0.*\.\.\.\.$"):
        require(Count, np.eye(30), "Owner", "k")
