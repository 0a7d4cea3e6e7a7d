"""Learners whose look at the points is another one when these lie in blocks; all others are taken as they are."""

import copy
from typing import Any


def inner_of(learner: Any) -> Any:
    """A copy of the learner that works on blocks."""
    own = copy.copy(learner)
    return own
