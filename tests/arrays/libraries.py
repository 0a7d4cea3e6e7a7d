"""Other array libraries on the CPU: array-api-strict on a device that NumPy cannot read, and torch."""

from importlib.util import find_spec

import numpy as np
import pytest


def strict(x, device="device1"):
    """An array of array-api-strict, which takes nothing beyond the standard, where NumPy cannot read it."""
    xp = pytest.importorskip("array_api_strict")
    return xp.asarray(np.asarray(x), device=xp.Device(device))


def single(x):
    """An array on a device without double precision, as MPS is."""
    x = np.asarray(x)
    return strict(x.astype(np.float32) if x.dtype == np.float64 else x, "no_float64")


def torch(x):
    """A tensor of torch on the CPU."""
    return pytest.importorskip("torch").tensor(np.asarray(x))


MAKERS = {"strict": strict, "torch": torch}
INSTALLED = [name for name, package in zip(MAKERS, ("array_api_strict", "torch")) if find_spec(package)]


def foreign(x):
    """Whether x is an array of another library."""
    return hasattr(x, "shape") and type(x).__module__.split(".")[0] in ("array_api_strict", "torch", "cupy")


def host(x):
    """A NumPy array of anything."""
    if hasattr(x, "detach"):
        x = x.detach().cpu()
    elif hasattr(x, "to_device"):
        x = np.from_dlpack(x)
    return x.get() if type(x).__module__.startswith("cupy") else np.asarray(x)
