"""NumPy's indexing on arrays of other libraries, in terms of slices, ``take`` and masks."""

from typing import Any

import numpy as np

from gramian._device.described import numpy_dtype


def get(array: Any, key: Any) -> Any:
    """Entries of an array, as its library holds them."""
    xp, data = array.xp, array.data
    parts = _parts(array, key)
    masks = [part for part in parts if _kind(part) == "b"]
    if masks and len(parts) == 1:
        return data[parts[0]]
    lists = [axis for axis, part in enumerate(parts) if _kind(part) in ("b", "i")]
    if len(lists) > 1:
        return data[tuple(_all_axes(parts, data))]
    if not lists:
        return _sliced(xp, data, parts)
    place = lists[0]
    rows = parts[place]
    rows = xp.nonzero(rows)[0] if _kind(rows) == "b" else rows
    data = _sliced(xp, data, [slice(None) if axis == place else part for axis, part in enumerate(parts)])
    axis = place - sum(isinstance(part, int) for part in parts[:place])
    flat = xp.take(data, xp.reshape(rows, (-1,)), axis=axis)
    return xp.reshape(flat, (*data.shape[:axis], *rows.shape, *data.shape[axis + 1 :]))


def put(array: Any, key: Any, value: Any) -> None:
    """Set entries of an array."""
    from gramian._device.ufuncs import on_device

    xp, data = array.xp, array.data
    parts = _parts(array, key)
    value = on_device(value, array)
    if hasattr(value, "dtype") and value.dtype != data.dtype:
        value = xp.astype(value, data.dtype)
    if len(parts) == 1 and _kind(parts[0]) == "b":
        data[parts[0]] = value
    elif not any(_kind(part) in ("b", "i") for part in parts):
        data[_bounded(_all_axes(parts, data), data)] = value
    else:
        _scatter(array, [xp.nonzero(part)[0] if _kind(part) == "b" else part for part in parts], value)


def _scatter(array: Any, parts: list, value: Any) -> None:
    """Set the entries at listed places; where a library cannot, every place looks up whether it is listed."""
    xp, data = array.xp, array.data
    try:
        data[tuple(parts)] = value
        return
    except IndexError:
        pass
    shape = data.shape
    numbers = xp.reshape(xp.arange(array.size, device=array.device), shape)
    listed = array.wrap(numbers)[tuple(array.wrap(p) if hasattr(p, "dtype") else p for p in parts)].data
    value = xp.broadcast_to(xp.asarray(value, dtype=data.dtype, device=array.device), listed.shape)
    listed, value = xp.reshape(listed, (-1,)), xp.reshape(value, (-1,))
    if listed.shape[0] == 0:
        return
    order = xp.argsort(listed)
    listed, value = xp.take(listed, order), xp.take(value, order)
    everywhere = xp.arange(array.size, device=array.device)
    place = xp.minimum(xp.searchsorted(listed, everywhere), xp.asarray(listed.shape[0] - 1, device=array.device))
    hit = xp.take(listed, place) == everywhere
    flat = xp.where(hit, xp.take(value, place), xp.reshape(data, (-1,)))
    data[...] = xp.reshape(flat, shape)


def _parts(array: Any, key: Any) -> list:
    """The index of each axis: slices, numbers, None, and arrays on the device; an ellipsis is spelled out."""
    from gramian._device.array import DeviceArray, to_device

    key = key if isinstance(key, tuple) else (key,)
    parts: list[Any] = []
    for part in key:
        if isinstance(part, DeviceArray):
            part = int(part) if part.ndim == 0 and part.dtype.kind in "iu" else part.data
        elif isinstance(part, np.integer):
            part = int(part)
        elif isinstance(part, list | np.ndarray):
            host = np.asarray(part)
            part = to_device(host if host.size else host.astype(np.int64), array).data
        parts.append(part)
    if any(part is Ellipsis for part in parts):
        at = next(i for i, part in enumerate(parts) if part is Ellipsis)
        missing = array.ndim - sum(part is not None for part in parts) + 1
        parts[at : at + 1] = [slice(None)] * missing
    return parts


def _all_axes(parts: list, data: Any) -> list:
    used = sum(part is not None for part in parts)
    return [*parts, *[slice(None)] * (len(data.shape) - used)]


def _sliced(xp: Any, data: Any, parts: list) -> Any:
    """Slices and numbers; a slice that runs backwards is a slice that is flipped."""
    whole, flipped, axis = _all_axes(parts, data), [], 0
    for i, part in enumerate(whole):
        if isinstance(part, slice) and part.step is not None and part.step < 0:
            assert part == slice(None, None, -1), "only whole axes are reversed"
            whole[i] = slice(None)
            flipped.append(axis)
        axis += not isinstance(part, int)
    data = data[_bounded(whole, data)]
    return xp.flip(data, axis=tuple(flipped)) if flipped else data


def _bounded(parts: list, data: Any) -> tuple:
    """Slices that end where the axis does."""
    found, axis = [], 0
    for part in parts:
        if isinstance(part, slice):
            part = slice(*part.indices(data.shape[axis]))
        found.append(part)
        axis += part is not None
    return tuple(found)


def _kind(part: Any) -> str:
    if not hasattr(part, "dtype"):
        return ""
    return "b" if numpy_dtype(part.dtype).kind == "b" else "i"
