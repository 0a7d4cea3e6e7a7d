"""What constructors do: keep their parameters, under new names where they come under old ones."""

from typing import Any

from gramian import _checks


def store(estimator: Any, given: dict[str, Any], **new_names: str) -> None:
    """Keep the parameters of a constructor, its ``locals()``; ``new_names`` says what old names are called now."""
    values = {name: value for name, value in given.items() if name != "self"}
    for old, new in new_names.items():
        values[new] = renamed(old, new, values[old], values[new])
        values[old] = "deprecated"
    vars(estimator).update(values)


def renamed(old: str, new: str, value: Any, default: Any) -> Any:
    """The value of a parameter that may come under its old name."""
    if isinstance(value, str) and value == "deprecated":
        return default
    _checks.warn(
        f'"{old}" parameter has been renamed to "{new}". It has been deprecated in version 0.6.3 and will be removed '
        "in 0.7.0",
        FutureWarning,
    )
    return value
