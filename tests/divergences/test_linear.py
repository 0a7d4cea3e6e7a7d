"""Linear objectives, and when they have no minimum."""

import numpy as np
import pytest
from tests.solvers.problems import one_pair

from gramian.divergences import LinearLogDet
from gramian.solvers import (
    DualAscent,
)


def test_unbounded_linear_logdet_is_reported():
    with pytest.raises(ValueError, match="unbounded below"):
        DualAscent().solve(one_pair([1.0, 0.0], 1, 1.0, div=LinearLogDet(np.zeros((2, 2)))))
