"""Numbers at the door."""

from fractions import Fraction

import numpy as np
import pytest

from gramian import _checks


@pytest.mark.parametrize("value", [3, np.int8(3), 3.0, np.float32(3), Fraction(3)])
def test_a_number_of_any_kind_comes_back_as_a_float(value):
    found = _checks.number(value, "Owner", "name", low=3, high=3)
    assert found == 3 and type(found) is float


def test_an_integer_may_be_of_any_size():
    assert _checks.number(10**400, "Owner", "name", integer=True) == 10**400


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, np.float32(np.inf), True, np.True_, "3", None, 1j, [3]])
def test_what_is_not_a_finite_number_is_refused(value):
    with pytest.raises(ValueError, match=r"Owner: name must be a number in \(-inf, inf\), got "):
        _checks.number(value, "Owner", "name")


def test_ends_of_an_interval():
    with pytest.raises(ValueError, match=r"Owner: name must be a number in \(0, 1\], got 0"):
        _checks.number(0, "Owner", "name", low=0, high=1, open_low=True)
    with pytest.raises(ValueError, match=r"Owner: name must be an integer in \[0, 1\], got 2"):
        _checks.number(2, "Owner", "name", low=0, high=1, integer=True)
