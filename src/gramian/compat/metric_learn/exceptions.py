"""Errors and warnings that callers of metric-learn match on."""

import warnings
from typing import Any

from numpy.linalg import LinAlgError


class PreprocessorError(Exception):
    """A preprocessor that failed."""

    def __init__(self, original_error: Exception):
        super().__init__(f"An error occurred when trying to use the preprocessor: {original_error!r}")


class NonPSDError(LinAlgError, ValueError):
    """A matrix that should be positive semi-definite and is not."""

    def __init__(self) -> None:
        super().__init__("Matrix is not positive semidefinite (PSD).")


class DifferenceWarning(UserWarning):
    """Something that works otherwise than in metric-learn, on purpose."""


_noted: set[str] = set()


def note(text: str) -> None:
    """Say once in a process where we differ."""
    if text not in _noted:
        _noted.add(text)
        warnings.warn(f"{text} See 'Coming from metric-learn' in the documentation.", DifferenceWarning, stacklevel=3)


def renamed(old: str, new: str, value: Any, default: Any) -> Any:
    """The value of a parameter that may come under its old name."""
    if isinstance(value, str) and value == "deprecated":
        return default
    warnings.warn(
        f'"{old}" parameter has been renamed to "{new}". It has been deprecated in version 0.6.3 and will be removed '
        "in 0.7.0",
        FutureWarning,
        stacklevel=3,
    )
    return value
