"""Errors and warnings that callers of metric-learn match on."""

from numpy.linalg import LinAlgError

from gramian import _validate


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
        _validate.warn(f"{text} See 'Coming from metric-learn' in the documentation.", DifferenceWarning)
