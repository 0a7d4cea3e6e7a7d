"""NumPy's functions that join, reshape and lay out arrays, on arrays of other libraries."""

from typing import Any

import numpy as np

from gramian._device.array import DeviceArray, implements
from gramian._device.functions import device_of, own


@implements(np.concatenate)
def concatenate(arrays: Any, axis: int = 0, **kwargs: Any) -> DeviceArray:
    """Arrays one after the other."""
    like = device_of(*arrays)
    parts = [own(x, like) for x in arrays]
    kinds = {part.dtype for part in parts}
    if len(kinds) > 1:
        wanted = np.result_type(*kinds)
        parts = [part.astype(wanted, copy=False) for part in parts]
    return like.wrap(like.xp.concat([part.data for part in parts], axis=axis))


@implements(np.stack)
def stack(arrays: Any, axis: int = 0, **kwargs: Any) -> DeviceArray:
    """Arrays along a new axis."""
    like = device_of(*arrays)
    return like.wrap(like.xp.stack([own(x, like).data for x in arrays], axis=axis))


@implements(np.hstack, np.column_stack)
def hstack(arrays: Any, **kwargs: Any) -> DeviceArray:
    """Columns one after the other."""
    like = device_of(*arrays)
    parts = [own(x, like) for x in arrays]
    return concatenate([part[:, None] if part.ndim == 1 else part for part in parts], axis=1)


@implements(np.vstack)
def vstack(arrays: Any, **kwargs: Any) -> DeviceArray:
    """Rows one after the other."""
    like = device_of(*arrays)
    parts = [own(x, like) for x in arrays]
    return concatenate([part[None, :] if part.ndim == 1 else part for part in parts])


@implements(np.append)
def append(x: Any, values: Any, axis: Any = None) -> DeviceArray:
    """An array with values at its end."""
    like = device_of(x, values)
    return concatenate([np.ravel(own(x, like)), np.ravel(own(np.atleast_1d(values), like))])


@implements(np.reshape)
def reshape(x: Any, *shape: Any, **kwargs: Any) -> DeviceArray:
    """The same entries in another shape."""
    wanted = shape[0] if len(shape) == 1 else shape
    wanted = (wanted,) if isinstance(wanted, int) else tuple(wanted)
    return x.wrap(x.xp.reshape(x.data, wanted))


@implements(np.ravel)
def ravel(x: Any, *args: Any, **kwargs: Any) -> DeviceArray:
    """All entries in a row."""
    return x.wrap(x.xp.reshape(x.data, (-1,)))


@implements(np.transpose)
def transpose(x: Any, axes: Any = None) -> DeviceArray:
    """Axes in another order."""
    return x.wrap(x.xp.permute_dims(x.data, tuple(reversed(range(x.ndim))) if axes is None else tuple(axes)))


@implements(np.broadcast_to)
def broadcast_to(x: Any, shape: Any, **kwargs: Any) -> DeviceArray:
    """An array repeated along new axes."""
    return x.wrap(x.xp.broadcast_to(x.data, shape))


@implements(np.repeat)
def repeat(x: Any, repeats: Any, axis: Any = None) -> DeviceArray:
    """Each entry several times."""
    x = ravel(x) if axis is None else x
    return x.wrap(x.xp.repeat(x.data, repeats, axis=0 if axis is None else axis))


@implements(np.tile)
def tile(x: Any, reps: Any) -> DeviceArray:
    """An array several times."""
    return x.wrap(x.xp.tile(x.data, reps if isinstance(reps, tuple) else (reps,)))


@implements(np.atleast_1d)
def atleast_1d(x: Any) -> DeviceArray:
    """At least one axis."""
    return ravel(x) if x.ndim == 0 else x


@implements(np.atleast_2d)
def atleast_2d(x: Any) -> DeviceArray:
    """At least two axes."""
    return reshape(x, (1, -1)) if x.ndim < 2 else x


@implements(np.diagonal)
def diagonal(x: Any, *args: Any, **kwargs: Any) -> DeviceArray:
    """Diagonal of a matrix."""
    return x.wrap(x.xp.linalg.diagonal(x.data))


@implements(np.diag)
def diag(x: Any, k: int = 0) -> DeviceArray:
    """Diagonal of a matrix, or the matrix of a diagonal."""
    return diagonal(x) if x.ndim == 2 else np.eye(len(x), like=x) * x


@implements(np.fill_diagonal)
def fill_diagonal(x: Any, value: Any, **kwargs: Any) -> None:
    """Set the diagonal of a square matrix."""
    numbers = x.xp.arange(x.shape[0], device=x.device)
    on = numbers[:, None] == numbers[None, :]
    value = value if np.ndim(value) == 0 else own(value, x)
    x.data = np.where(x.wrap(on), value, x).data


@implements(np.tril)
def tril(x: Any, k: int = 0) -> DeviceArray:
    """Entries on and below a diagonal."""
    return x.wrap(x.xp.tril(x.data, k=k))


@implements(np.triu)
def triu(x: Any, k: int = 0) -> DeviceArray:
    """Entries on and above a diagonal."""
    return x.wrap(x.xp.triu(x.data, k=k))


@implements(np.diff)
def diff(x: Any, n: int = 1, axis: int = -1, **kwargs: Any) -> DeviceArray:
    """Differences of neighbors along the last axis."""
    return x[..., 1:] - x[..., :-1]
