"""NumPy's functions that sort, search and pick, on arrays of other libraries."""

import sys
from typing import Any

import numpy as np

from gramian._device.array import DeviceArray, implements
from gramian._device.functions import device_of, own
from gramian._device.shapes import concatenate, diff


@implements(np.argmax)
def argmax(x: Any, axis: Any = None, **kwargs: Any) -> DeviceArray:
    """Place of the largest entry."""
    return x.wrap(x.xp.argmax(x.data, axis=axis))


@implements(np.argmin)
def argmin(x: Any, axis: Any = None, **kwargs: Any) -> DeviceArray:
    """Place of the smallest entry."""
    return x.wrap(x.xp.argmin(x.data, axis=axis))


@implements(np.sort)
def sort(x: Any, axis: int = -1, **kwargs: Any) -> DeviceArray:
    """Entries in ascending order."""
    return x.wrap(x.xp.sort(x.data, axis=axis))


@implements(np.argsort)
def argsort(x: Any, axis: int = -1, **kwargs: Any) -> DeviceArray:
    """Places in ascending order; equal entries keep their order."""
    return x.wrap(x.xp.argsort(x.data, axis=axis, stable=True))


@implements(np.argpartition)
def argpartition(x: Any, kth: int, axis: int = -1, **kwargs: Any) -> DeviceArray:
    """Places with those of the kth smallest entries first."""
    return argsort(x, axis=axis)


@implements(np.partition)
def partition(x: Any, kth: int, axis: int = -1, **kwargs: Any) -> DeviceArray:
    """Entries with the kth smallest first."""
    return sort(x, axis=axis)


@implements(np.take)
def take(x: Any, indices: Any, axis: Any = None, **kwargs: Any) -> DeviceArray:
    """Entries at listed places."""
    like = device_of(x, indices)
    x = own(x, like)
    x = np.ravel(x) if axis is None else x
    return x[(slice(None),) * ((axis or 0) % x.ndim) + (indices,)]


@implements(np.take_along_axis)
def take_along_axis(x: Any, indices: Any, axis: int = -1) -> DeviceArray:
    """Entries at places listed for each row."""
    like = device_of(x, indices)
    x, indices = own(x, like), own(indices, like)
    if hasattr(like.xp, "take_along_axis"):
        return like.wrap(like.xp.take_along_axis(x.data, indices.data, axis=axis))
    return x[np.arange(x.shape[0], like=x)[:, None], indices]


@implements(np.nonzero)
def nonzero(x: Any) -> tuple[DeviceArray, ...]:
    """Places of entries that are not zero."""
    return tuple(x.wrap(part) for part in x.xp.nonzero(x.data))


@implements(np.flatnonzero)
def flatnonzero(x: Any) -> DeviceArray:
    """Places of entries that are not zero, in a row."""
    return x.wrap(x.xp.nonzero(x.xp.reshape(x.data, (-1,)))[0])


@implements(np.searchsorted)
def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> DeviceArray:
    """Where values would stand in a sorted array."""
    like = device_of(a, v)
    a, v = own(a, like), own(v, like)
    flat = like.xp.searchsorted(a.data, like.xp.reshape(v.data, (-1,)), side=side)
    return like.wrap(like.xp.reshape(flat, v.shape))


@implements(np.unique)
def unique(x: Any, return_inverse: bool = False, **kwargs: Any) -> Any:
    """Different entries, ascending, and where each entry stands among them."""
    if any(kwargs.values()):
        raise TypeError(f"numpy.unique has no {', '.join(kwargs)} for arrays on a device.")
    if not return_inverse:
        return sort(x.wrap(x.xp.unique_values(x.data)))
    values, inverse = x.xp.unique_inverse(x.data)
    order = argsort(x.wrap(values))
    return x.wrap(values)[order], argsort(order)[x.wrap(inverse)]


@implements(np.bincount)
def bincount(x: Any, weights: Any = None, minlength: int = 0) -> DeviceArray:
    """How often each of the numbers 0, 1, … occurs."""
    if weights is not None:
        raise TypeError("numpy.bincount has no weights for arrays on a device.")
    size = max(minlength, int(np.max(x)) + 1 if x.size else 0)
    return diff(searchsorted(sort(x), np.arange(size + 1, like=x)))


@implements(np.delete)
def delete(x: Any, part: slice, axis: Any = None) -> DeviceArray:
    """An array without a slice of its rows."""
    if not isinstance(part, slice) or (axis or 0) != 0 or part.step not in (None, 1):
        raise TypeError("numpy.delete takes out slices of rows only for arrays on a device.")
    start, stop, _ = part.indices(x.shape[0])
    return concatenate([x[:start], x[stop:]])


@implements(np.median)
def median(x: Any, axis: Any = None, **kwargs: Any) -> DeviceArray:
    """Medians."""
    x = np.ravel(x) if axis is None else x
    axis = 0 if axis is None else axis
    ordered = sort(x, axis=axis)
    n = x.shape[axis]
    before = (slice(None),) * (axis % x.ndim)
    low, high = ordered[(*before, (n - 1) // 2)], ordered[(*before, n // 2)]
    return x.wrap((low.data + high.data) / 2)


@implements(np.quantile)
def quantile(x: Any, q: Any, **kwargs: Any) -> DeviceArray:
    """Quantiles of all entries, between the two entries next to them."""
    ordered = sort(np.ravel(x))
    place = np.asarray(q) * (len(ordered) - 1)
    low = np.floor(place).astype(int)
    high = np.minimum(low + 1, len(ordered) - 1)
    return ordered[np.atleast_1d(low)] * np.atleast_1d(1 - (place - low)) + ordered[
        np.atleast_1d(high)
    ] * np.atleast_1d(place - low)


@implements(np.percentile)
def percentile(x: Any, q: Any, **kwargs: Any) -> DeviceArray:
    """Quantiles in percent."""
    return quantile(x, np.asarray(q) / 100)


def lowest(D: Any, k: int) -> tuple[Any, Any]:
    """Values (n, k) and columns of the k smallest entries of each row, ascending."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(D.data, torch.Tensor):
        values, columns = torch.topk(D.data, k, dim=1, largest=False, sorted=True)
        return D.wrap(values), D.wrap(columns)
    cupy = sys.modules.get("cupy")
    if cupy is not None and isinstance(D.data, cupy.ndarray) and k < D.shape[1]:
        near = D.wrap(cupy.argpartition(D.data, k, axis=1)[:, :k])
        order = argsort(take_along_axis(D, near, axis=1), axis=1)
        near = take_along_axis(near, order, axis=1)
        return take_along_axis(D, near, axis=1), near
    near = argsort(D, axis=1)[:, :k]
    return take_along_axis(D, near, axis=1), near
