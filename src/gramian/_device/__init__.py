"""Arrays of other libraries (torch, CuPy, any array-API namespace), on whatever device, under NumPy's functions.

The package is written once, in NumPy. At the door an array of another library is wrapped (:func:`inside`), and NumPy's
own protocols (NEP 13, 18 and 35) carry every function to it, so that all work is done where the data are; at the way
out the answer is given back as what came (:func:`outside`). Data cross between host and device only in
:func:`to_device` and :func:`to_host`, never silently.
"""

from gramian._device import functions, linear, nearest, ordering, shapes
from gramian._device.array import DeviceArray, held, native, outside, to_device, to_host
from gramian._device.door import foreign, inside, refusal, same_place, whole_numbers
from gramian._device.memory import block_bytes, double
from gramian._device.shuffles import permutation

__all__ = [
    "DeviceArray",
    "block_bytes",
    "double",
    "foreign",
    "functions",
    "held",
    "inside",
    "linear",
    "native",
    "nearest",
    "ordering",
    "outside",
    "permutation",
    "refusal",
    "same_place",
    "shapes",
    "to_device",
    "to_host",
    "whole_numbers",
]
