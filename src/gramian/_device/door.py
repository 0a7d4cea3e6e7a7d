"""Which arrays of other libraries come in, and the sentence for those that cannot."""

from typing import Any

import numpy as np

from gramian._array import COMPATIBLE, namespace
from gramian._device.array import DeviceArray, to_host

UNCHANGEABLE = ("jax", "jaxlib")
"""Libraries whose arrays cannot be written to; theirs are read as NumPy arrays."""


def foreign(x: Any) -> bool:
    """Whether x is an array of another library than NumPy that computations can stay with."""
    if isinstance(x, np.ndarray | np.generic) or not hasattr(x, "shape"):
        return False
    root = type(x).__module__.split(".")[0]
    if root in UNCHANGEABLE:
        return False
    return root in COMPATIBLE or hasattr(x, "__array_namespace__")


def inside(x: Any) -> Any:
    """An array of another library under NumPy's functions; anything else as it is."""
    if not foreign(x):
        return x
    return DeviceArray(x.detach() if hasattr(x, "detach") else x, namespace(x))


def whole_numbers(x: Any) -> Any:
    """Labels, ids or marks from a device as a NumPy array; anything else as it is."""
    return to_host(inside(x))


def refusal(owner: str, name: str, x: Any) -> str:
    """The sentence for data on a device that must be on the host."""
    return (
        f"{owner}: {name} must be on the host here, got {type(x).__name__} on {getattr(x, 'device', 'a device')}; "
        f"this runs on the CPU: pass {name}.cpu().numpy() (torch) or {name}.get() (CuPy)."
    )


def same_place(owner: str, X: Any, Y: Any) -> None:
    """Raise unless two sets of points are on one device, in one library."""
    if not isinstance(X, DeviceArray) and not isinstance(Y, DeviceArray):
        return
    places = [
        f"{type(v.data).__module__.split('.')[0]} on {v.device}" if isinstance(v, DeviceArray) else "NumPy"
        for v in (X, Y)
    ]
    if places[0] != places[1]:
        raise ValueError(f"{owner}: X and Y must be on one device, got {places[0]} and {places[1]}; move one of them.")
