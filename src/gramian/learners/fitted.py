"""Fitted attributes that read another one."""

from collections.abc import Callable
from typing import Any

from sklearn.utils.validation import check_is_fitted


def reading(source: str, name: str, doc: str, kind: Callable[[Any], Any] | None = None) -> Any:
    """A property that reads the field ``name`` of the fitted attribute ``source``, as a plain ``kind``."""

    def read(estimator: Any) -> Any:
        check_is_fitted(estimator, source)
        value = getattr(getattr(estimator, source), name)
        return value if kind is None else kind(value)

    return property(read, doc=doc)
