"""An array of another library that answers NumPy's functions."""

from collections.abc import Callable
from functools import wraps
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from gramian._array import namespace, to_numpy
from gramian._device import indexing, ufuncs
from gramian._device.described import Convertible, Described

FUNCTIONS: dict[Any, Callable] = {}
"""NumPy's functions, each with what stands for it on a device."""
MAKERS = (np.arange, np.array, np.asarray, np.empty, np.eye, np.full, np.ones, np.zeros)
"""Functions that make an array where another one is."""
METHODS = (
    *("all", "any", "argmax", "argmin", "argsort", "cumsum", "diagonal", "max", "mean", "min", "prod", "ravel"),
    *("repeat", "reshape", "std", "sum", "take", "trace", "transpose", "var"),
)
"""Methods that are NumPy's functions of the same name."""


def implements(*names: Any) -> Callable:
    """Say that a function stands for some of NumPy's."""

    def register(function: Callable) -> Callable:
        FUNCTIONS.update(dict.fromkeys(names, function))
        return function

    return register


class DeviceArray(Described, Convertible, NDArrayOperatorsMixin):
    """``data`` of the array-API namespace ``xp``; NumPy arrays that it meets are sent to its device, in its precision.

    It turns into a NumPy array in :func:`to_host` alone: NumPy's own conversion is refused, so that no copy is hidden.
    """

    __slots__ = ("__weakref__", "data", "xp")
    __array_priority__ = 1000
    flags = SimpleNamespace(writeable=True)

    def __init__(self, data: Any, xp: Any = None) -> None:
        self.data = data
        self.xp = namespace(data) if xp is None else xp

    @property
    def T(self) -> Any:
        """Axes in reverse order."""
        if self.ndim == 2:
            return self.wrap(self.data.T)
        return np.transpose(self)

    def wrap(self, data: Any) -> "DeviceArray":
        """Data of the same library."""
        return DeviceArray(data, self.xp)

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(
            "these data are on a device, and this step works on NumPy arrays only; pass them as NumPy arrays "
            "(X.cpu().numpy() in torch, X.get() in CuPy)."
        )

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return ufuncs.apply(ufunc, method, inputs, kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if func not in FUNCTIONS:
            name = f"{func.__module__}.{func.__name__}"
            raise TypeError(f"{name} has no form for arrays on a device; pass NumPy arrays for this step.")
        if func in MAKERS:
            kwargs["like"] = self  # NumPy calls the array that ``like=`` names, and leaves the name out
        return FUNCTIONS[func](*args, **kwargs)

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Any:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, key: Any) -> "DeviceArray":
        return self.wrap(indexing.get(self, key))

    def __setitem__(self, key: Any, value: Any) -> None:
        indexing.put(self, key, value)

    def __hash__(self) -> int:  # type: ignore[override]  # the mixin compares by entries
        return id(self)

    def __repr__(self) -> str:
        return f"DeviceArray({self.data!r})"

    def astype(self, dtype: Any, copy: bool = True, **kwargs: Any) -> "DeviceArray":
        """Entries of another type; double becomes single where the device has no double."""
        wanted = own_dtype(self, dtype)
        return self.wrap(self.xp.astype(self.data, wanted, copy=copy))

    def copy(self, order: Any = None) -> "DeviceArray":
        """A copy on the same device."""
        return self.wrap(self.xp.asarray(self.data, copy=True))

    def fill(self, value: Any) -> None:
        """Set all entries."""
        self.data[...] = value


def _method(name: str) -> Callable:
    def method(self: DeviceArray, *args: Any, **kwargs: Any) -> Any:
        return getattr(np, name)(self, *args, **kwargs)

    method.__name__, method.__doc__ = name, f"As ``numpy.{name}``."
    return method


for _name in METHODS:
    setattr(DeviceArray, _name, _method(_name))


def own_dtype(array: DeviceArray, dtype: Any) -> Any:
    """The dtype of an array's library for one of NumPy's; single for double where there is none."""
    from gramian._device.memory import double

    name = np.dtype(dtype).name
    if name == "float64" and not double(array):
        name = "float32"
    return getattr(array.xp, name)


def to_device(host: Any, like: DeviceArray) -> Any:
    """A NumPy array on the device of another; floats take the precision of an array of floats that they meet."""
    host = np.asarray(host)
    dtype = like.dtype if host.dtype.kind == like.dtype.kind == "f" else host.dtype
    wanted = own_dtype(like, dtype)
    if not (host.flags.c_contiguous and host.flags.writeable):
        host = host.copy()
    return like.wrap(like.xp.asarray(host, dtype=wanted, device=like.device))


def to_host(x: Any) -> Any:
    """What is on a device as a NumPy array; anything else as it is."""
    return to_numpy(x.data) if isinstance(x, DeviceArray) else x


def native(function: Callable) -> Callable:
    """A function of arrays of any one library, for arrays under NumPy's functions too."""

    @wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        given = [x for x in (*args, *kwargs.values()) if isinstance(x, DeviceArray)]
        if not given:
            return function(*args, **kwargs)
        found = function(*map(outside, args), **{name: outside(x) for name, x in kwargs.items()})
        parts = found if isinstance(found, tuple) else (found,)
        parts = tuple(given[0].wrap(x) if hasattr(x, "shape") else x for x in parts)
        return parts if isinstance(found, tuple) else parts[0]

    return wrapped


def held(x: Any) -> bool:
    """Whether x is an array of another library under NumPy's functions."""
    return isinstance(x, DeviceArray)


def outside(x: Any) -> Any:
    """The array of the caller's own library; anything else as it is."""
    return x.data if isinstance(x, DeviceArray) else x
