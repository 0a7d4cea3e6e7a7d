"""NumPy's element-wise functions on arrays of other libraries (NEP 13)."""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from gramian._device.described import numpy_dtype

NAMES = {
    "absolute": "abs",
    "arccos": "acos",
    "arcsin": "asin",
    "arctan": "atan",
    "arctan2": "atan2",
    "conjugate": "conj",
    "power": "pow",
    "rint": "round",
    "invert": "bitwise_invert",
    "left_shift": "bitwise_left_shift",
    "right_shift": "bitwise_right_shift",
}
"""Names of the array API where they are not NumPy's."""
OPERATORS: dict[str, Callable] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "power": operator.pow,
    "matmul": operator.matmul,
}
IN_PLACE: dict[str, Callable] = {
    "add": operator.iadd,
    "subtract": operator.isub,
    "multiply": operator.imul,
    "divide": operator.itruediv,
}
REALS = {"divide", "sqrt", "exp", "log", "log1p", "expm1", "arccos", "power", "matmul"}
"""Functions whose values are reals even where their arguments are not."""


def apply(ufunc: Any, method: str, inputs: tuple, kwargs: dict) -> Any:
    """A ufunc on arrays of which at least one is on a device."""
    if method != "__call__":
        raise TypeError(f"numpy.{ufunc.__name__}.{method} has no form for arrays on a device.")
    if ufunc is np.divmod:
        return np.floor_divide(*inputs), np.remainder(*inputs)
    out = kwargs.pop("out", (None,))[0]
    where, dtype = kwargs.pop("where", True), kwargs.pop("dtype", None)
    like, values = _operands(ufunc.__name__, inputs, dtype)
    if out is not None and out is inputs[0] and ufunc.__name__ in IN_PLACE and where is True:
        return _in_place(ufunc.__name__, out, values)
    result = _function(ufunc.__name__, like, values)(*values)
    if where is not True:
        result = like.xp.where(on_device(where, like), result, out.data)
    if out is None:
        return like.wrap(result)
    out.data = result
    return out


def _function(name: str, like: Any, values: list) -> Callable:
    if name in OPERATORS:
        return OPERATORS[name]
    if name == "invert" and _kind(values[0]) == "b":
        return like.xp.logical_not
    return getattr(like.xp, NAMES.get(name, name))


def _in_place(name: str, out: Any, values: list) -> Any:
    left, right = values
    if _kind(left) == _kind(right) or not hasattr(right, "dtype"):
        out.data = IN_PLACE[name](out.data, right)
    else:
        out.data = OPERATORS[name](left, right)
    return out


def _operands(name: str, inputs: tuple, dtype: Any) -> tuple[Any, list]:
    """An array to be like, and all arguments as arrays of its library or Python numbers, of kinds that go together."""
    from gramian._device.array import DeviceArray, own_dtype

    arrays = [x for x in inputs if isinstance(x, DeviceArray)]
    like = max(arrays, key=lambda x: (x.dtype.kind == "f", x.ndim > 0))
    values = [on_device(x, like) for x in inputs]
    if dtype is not None:
        return like, [like.xp.astype(x, own_dtype(like, dtype)) if hasattr(x, "dtype") else x for x in values]
    kinds = {_kind(x) for x in values}
    if "f" in kinds or name in REALS:
        real = like.data.dtype if like.dtype.kind == "f" else own_dtype(like, np.float64)
        values = [_real(x, like, real) for x in values]
    elif kinds == {"b", "i"}:
        values = [like.xp.astype(x, like.xp.int64) if _kind(x) == "b" and hasattr(x, "dtype") else x for x in values]
    return like, values


def on_device(x: Any, like: Any) -> Any:
    """An argument as an array of a library, or as a Python number."""
    from gramian._device.array import DeviceArray, to_device

    if isinstance(x, DeviceArray):
        return x.data
    if isinstance(x, np.generic):
        return x.item()
    if isinstance(x, bool | int | float):
        return x
    host = np.asarray(x)
    return host.item() if host.ndim == 0 else to_device(host, like).data


def _real(x: Any, like: Any, real: Any) -> Any:
    """Whole numbers and truth values as reals, and single entries in the precision of the array that they meet."""
    if not hasattr(x, "dtype"):
        return x
    other = _kind(x) != "f" or (len(x.shape) == 0 and like.ndim > 0 and x.dtype != real)
    return like.xp.astype(x, real) if other else x


def _kind(x: Any) -> str:
    """Kind of the entries: "b", "i" or "f"."""
    if hasattr(x, "dtype"):
        kind = numpy_dtype(x.dtype).kind
        return "i" if kind == "u" else kind
    return "b" if isinstance(x, bool) else "i" if isinstance(x, int) else "f"
