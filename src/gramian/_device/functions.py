"""NumPy's reductions, and functions that make arrays, on arrays of other libraries (NEP 18 and 35)."""

from typing import Any

import numpy as np

from gramian._device.array import DeviceArray, implements, own_dtype, to_device
from gramian._device.ufuncs import on_device

REDUCTIONS = {np.max: "max", np.min: "min", np.amax: "max", np.amin: "min", np.prod: "prod"}


def device_of(*values: Any) -> DeviceArray:
    """The first array on a device among some values."""
    return next(x for x in values if isinstance(x, DeviceArray))


def own(x: Any, like: DeviceArray) -> DeviceArray:
    """A value as an array on a device."""
    return x if isinstance(x, DeviceArray) else to_device(x, like)


@implements(np.sum)
def total(x: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False, **kwargs: Any) -> DeviceArray:
    """Sums; the sum of all reals is taken in double, since such sums decide when to stop."""
    wanted = own_dtype(x, dtype) if dtype is not None else x.data.dtype
    if dtype is None and x.dtype.kind == "b":
        wanted = x.xp.int64
    if dtype is None and axis is None and x.dtype.kind == "f":
        wanted = own_dtype(x, np.float64)
    data = x.xp.astype(x.data, x.xp.int64) if x.dtype.kind == "b" else x.data
    return x.wrap(x.xp.sum(data, axis=axis, dtype=wanted, keepdims=keepdims))


@implements(np.mean)
def mean(x: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False, **kwargs: Any) -> DeviceArray:
    """Means."""
    x = x if dtype is None else x.astype(dtype, copy=False)
    x = x if x.dtype.kind == "f" else x.astype(np.float64)
    return x.wrap(x.xp.mean(x.data, axis=axis, keepdims=keepdims))


def _reduction(name: str) -> Any:
    def reduce(x: Any, axis: Any = None, out: Any = None, keepdims: bool = False, initial: Any = None) -> DeviceArray:
        if initial is not None and x.size == 0:
            return x.wrap(x.xp.asarray(initial, dtype=x.data.dtype, device=x.device))
        found = x.wrap(getattr(x.xp, name)(x.data, axis=axis, keepdims=keepdims))
        if initial is None or name == "prod":
            return found
        return (np.maximum if name == "max" else np.minimum)(found, initial)

    return reduce


for _function, _name in REDUCTIONS.items():
    implements(_function)(_reduction(_name))


@implements(np.any)
def some(x: Any, axis: Any = None, keepdims: bool = False, **kwargs: Any) -> DeviceArray:
    """Whether any entry is not zero."""
    return x.wrap(x.xp.any(_truth(x), axis=axis, keepdims=keepdims))


@implements(np.all)
def every(x: Any, axis: Any = None, keepdims: bool = False, **kwargs: Any) -> DeviceArray:
    """Whether no entry is zero."""
    return x.wrap(x.xp.all(_truth(x), axis=axis, keepdims=keepdims))


def _truth(x: DeviceArray) -> Any:
    return x.data if x.dtype.kind == "b" else x.data != 0


@implements(np.count_nonzero)
def count(x: Any, axis: Any = None) -> DeviceArray:
    """Number of entries that are not zero."""
    return x.wrap(x.xp.sum(x.xp.astype(_truth(x), x.xp.int64), axis=axis))


@implements(np.var)
def variance(x: Any, axis: Any = None, ddof: int = 0, **kwargs: Any) -> DeviceArray:
    """Variances."""
    return x.wrap(x.xp.var(x.data, axis=axis, correction=ddof))


@implements(np.std)
def deviation(x: Any, axis: Any = None, ddof: int = 0, **kwargs: Any) -> DeviceArray:
    """Standard deviations."""
    return x.wrap(x.xp.std(x.data, axis=axis, correction=ddof))


@implements(np.cumsum)
def cumulative(x: Any, axis: Any = None, **kwargs: Any) -> DeviceArray:
    """Sums so far."""
    x = np.reshape(x, (-1,)) if axis is None else x
    data = x.xp.astype(x.data, x.xp.int64) if x.dtype.kind == "b" else x.data
    return x.wrap(x.xp.cumulative_sum(data, axis=0 if axis is None else axis % x.ndim))


@implements(np.where)
def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    """Entries of x or of y; places where the condition holds when neither is given."""
    if x is None:
        return np.nonzero(condition)
    like = device_of(x, y, condition)
    reals = [v for v in (x, y) if isinstance(v, DeviceArray)]
    dtype = reals[0].data.dtype if reals else own_dtype(like, np.result_type(type(x), type(y)))
    values = [on_device(v, like) for v in (x, y)]
    values = [v if hasattr(v, "dtype") else like.xp.asarray(v, dtype=dtype, device=like.device) for v in values]
    return like.wrap(like.xp.where(on_device(condition, like), *values))


@implements(np.clip)
def clip(x: Any, a_min: Any = None, a_max: Any = None, out: Any = None, **kwargs: Any) -> DeviceArray:
    """Entries within bounds."""
    found = x if a_min is None else np.maximum(x, a_min)
    found = found if a_max is None else np.minimum(found, a_max)
    if out is None:
        return found
    out.data = found.data
    return out


@implements(np.zeros)
def zeros(shape: Any, dtype: Any = None, *, like: DeviceArray, **kwargs: Any) -> DeviceArray:
    """Zeros on the device of ``like``; reals are in its precision unless a type is given."""
    return _made("zeros", shape, dtype, like)


@implements(np.ones)
def ones(shape: Any, dtype: Any = None, *, like: DeviceArray, **kwargs: Any) -> DeviceArray:
    """Ones."""
    return _made("ones", shape, dtype, like)


@implements(np.empty)
def empty(shape: Any, dtype: Any = None, *, like: DeviceArray, **kwargs: Any) -> DeviceArray:
    """Entries that will be set."""
    return _made("empty", shape, dtype, like)


@implements(np.full)
def full(shape: Any, fill_value: Any, dtype: Any = None, *, like: DeviceArray, **kwargs: Any) -> DeviceArray:
    """One value everywhere."""
    wanted = _dtype(np.result_type(type(fill_value)) if dtype is None else dtype, like)
    return like.wrap(like.xp.full(shape, fill_value, dtype=wanted, device=like.device))


@implements(np.eye)
def eye(n: int, m: int | None = None, dtype: Any = None, *, like: DeviceArray, **kwargs: Any) -> DeviceArray:
    """The identity."""
    return like.wrap(like.xp.eye(n, n if m is None else m, dtype=_dtype(dtype, like), device=like.device))


@implements(np.arange)
def arange(*args: Any, dtype: Any = None, like: DeviceArray, **kwargs: Any) -> DeviceArray:
    """Numbers in a row."""
    return like.wrap(like.xp.arange(*args, dtype=own_dtype(like, dtype or np.int64), device=like.device))


@implements(np.asarray, np.array)
def asarray(x: Any, dtype: Any = None, *, like: DeviceArray, **kwargs: Any) -> DeviceArray:
    """An array on the device of ``like``."""
    found = x if isinstance(x, DeviceArray) else to_device(x, like)
    return found if dtype is None else found.astype(dtype, copy=False)


def _made(name: str, shape: Any, dtype: Any, like: DeviceArray) -> DeviceArray:
    return like.wrap(getattr(like.xp, name)(shape, dtype=_dtype(dtype, like), device=like.device))


def _dtype(dtype: Any, like: DeviceArray) -> Any:
    """The type asked for; the precision of ``like`` for reals of no type."""
    if dtype is None or np.dtype(dtype) == np.float64:
        return like.data.dtype if like.dtype.kind == "f" else own_dtype(like, np.float64)
    return own_dtype(like, dtype)


@implements(np.zeros_like)
def zeros_like(x: Any, dtype: Any = None, shape: Any = None, **kwargs: Any) -> DeviceArray:
    """Zeros of a shape."""
    return _made("zeros", x.shape if shape is None else shape, x.dtype if dtype is None else dtype, x)


@implements(np.ones_like)
def ones_like(x: Any, dtype: Any = None, **kwargs: Any) -> DeviceArray:
    """Ones of a shape."""
    return _made("ones", x.shape, x.dtype if dtype is None else dtype, x)


@implements(np.empty_like)
def empty_like(x: Any, dtype: Any = None, **kwargs: Any) -> DeviceArray:
    """Entries that will be set."""
    return _made("empty", x.shape, x.dtype if dtype is None else dtype, x)


@implements(np.full_like)
def full_like(x: Any, fill_value: Any, dtype: Any = None, **kwargs: Any) -> DeviceArray:
    """One value everywhere."""
    wanted = x.data.dtype if dtype is None else own_dtype(x, dtype)
    return x.wrap(x.xp.full(x.shape, fill_value, dtype=wanted, device=x.device))


@implements(np.astype)
def astype(x: Any, dtype: Any, **kwargs: Any) -> DeviceArray:
    """Entries of another type."""
    return x.astype(dtype)


@implements(np.copy)
def copy(x: Any, **kwargs: Any) -> DeviceArray:
    """A copy."""
    return x.copy()


@implements(np.array_equal)
def array_equal(x: Any, y: Any, **kwargs: Any) -> bool:
    """Whether shapes and entries agree."""
    return x.shape == y.shape and bool(np.all(x == y))


@implements(np.allclose)
def allclose(x: Any, y: Any, rtol: float = 1e-5, atol: float = 1e-8, **kwargs: Any) -> bool:
    """Whether entries agree to tolerances."""
    return bool(np.all(np.abs(x - y) <= atol + rtol * np.abs(y)))


@implements(np.shape)
def shape(x: Any) -> tuple[int, ...]:
    """Lengths of the axes."""
    return x.shape


@implements(np.ndim)
def ndim(x: Any) -> int:
    """Number of axes."""
    return x.ndim


@implements(np.result_type)
def result_type(*values: Any) -> np.dtype:
    """The type that arrays go into together."""
    return np.result_type(*(v.dtype if isinstance(v, DeviceArray) else v for v in values))
