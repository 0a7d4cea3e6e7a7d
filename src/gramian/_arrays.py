"""Arrays of any library that keeps to the array API: NumPy, torch, CuPy, array-api-strict.

Code that may meet points on a device asks for their :func:`namespace` and uses its functions; NumPy is its own. Data
cross between host and device in :func:`asarray` and :func:`to_numpy` alone. Fitted values are NumPy, always.
"""

import os
import sys
from typing import Any

import numpy as np
from scipy import sparse

Array = np.ndarray
"""An array of any library: in types NumPy's stands for all of them."""
Matrix = np.ndarray | sparse.csr_array
"""Rows of numbers, dense or sparse."""
COMPATIBLE = ("torch", "cupy")
"""Libraries whose functions array-api-compat brings to the standard."""
UNCHANGEABLE = ("jax", "jaxlib")
"""Libraries whose arrays cannot be written to; theirs are read as NumPy arrays."""
SHARE = 1 / 32
"""Share of the memory of an accelerator that one block of a computation takes."""
LEAST, MOST = 64 << 20, 2 << 30
"""Bounds of the size of such a block, in bytes."""


def namespace(x: Any) -> Any:
    """The array-API namespace of an array; NumPy's for anything that has none."""
    if isinstance(x, np.ndarray):
        return np
    library = type(x).__module__.split(".")[0]
    if library in COMPATIBLE:
        try:
            if library == "torch":
                from array_api_compat import torch

                return torch
            from array_api_compat import cupy

            return cupy
        except ImportError as error:
            raise ImportError(f"{library} arrays need array-api-compat: pip install 'gramian[{library}]'.") from error
    return x.__array_namespace__() if hasattr(x, "__array_namespace__") else np


def foreign(x: Any) -> bool:
    """Whether x is an array of another library than NumPy that computations can stay with."""
    if isinstance(x, np.ndarray | np.generic) or not hasattr(x, "shape"):
        return False
    root = type(x).__module__.split(".")[0]
    if root in UNCHANGEABLE:
        return False
    return root in COMPATIBLE or hasattr(x, "__array_namespace__")


def detached(x: Any) -> Any:
    """The same numbers without a record of how they were made."""
    return x.detach() if hasattr(x, "detach") else x


def asarray(x: Any, like: Any) -> Any:
    """A NumPy array, or None, where ``like`` is; real numbers take the precision of real numbers there."""
    if x is None or not foreign(like) or foreign(x):
        return x
    host, xp = np.asarray(x), namespace(like)
    precise = host.dtype.kind == "f" and xp.isdtype(like.dtype, "real floating")
    dtype = like.dtype if precise else getattr(xp, host.dtype.name)
    if not (host.flags.c_contiguous and host.flags.writeable):
        host = host.copy()
    return xp.asarray(host, dtype=dtype, device=like.device)


def to_numpy(x: Any) -> Any:
    """What is an array of another library as a NumPy array; anything else as it is."""
    if not foreign(x):
        return x
    if hasattr(x, "detach"):
        x = x.detach().cpu()
    elif hasattr(x, "get") and type(x).__module__.startswith("cupy"):
        x = x.get()
    try:
        return np.asarray(x)
    except (TypeError, RuntimeError):
        return np.from_dlpack(x)


def put(x: Any, places: tuple[Any, ...], values: Any) -> None:
    """Set the entries at listed places, one list of numbers for each axis, or the rows at a list of them.

    The standard has no such assignment: where a library has none, every place looks up whether it is listed.
    """
    places = tuple(asarray(place, x) for place in places)
    values = asarray(values, x) if hasattr(values, "shape") else values
    try:
        x[places] = values
        return
    except IndexError:
        pass
    xp = namespace(x)
    index = xp.reshape(xp.arange(int(np.prod(x.shape)), device=x.device), x.shape)
    listed = index[places] if len(places) == x.ndim else xp.take(index, places[0], axis=0)
    if 0 in listed.shape:
        return
    values = values if foreign(values) else xp.asarray(values, dtype=x.dtype, device=x.device)
    values = xp.reshape(xp.broadcast_to(values, listed.shape), (-1,))
    order = xp.argsort(xp.reshape(listed, (-1,)))
    listed, values = xp.take(xp.reshape(listed, (-1,)), order), xp.take(values, order)
    everywhere = xp.reshape(index, (-1,))
    slots = xp.clip(xp.searchsorted(listed, everywhere), 0, listed.shape[0] - 1)
    hit = xp.take(listed, slots) == everywhere
    x[...] = xp.reshape(xp.where(hit, xp.take(values, slots), xp.reshape(x, (-1,))), x.shape)


def refusal(owner: str, name: str, x: Any) -> str:
    """The sentence for data on a device that must be on the host."""
    return (
        f"{owner}: {name} must be on the host here, got {type(x).__name__} on {getattr(x, 'device', 'a device')}; "
        f"this runs on the CPU: pass {name}.cpu().numpy() (torch) or {name}.get() (CuPy)."
    )


def precise(x: Any, owner: str, name: str) -> None:
    """Raise where the device of an array has no double precision."""
    xp = namespace(x)
    if "mps" in str(x.device) or (
        hasattr(xp, "__array_namespace_info__")
        and "float64" not in xp.__array_namespace_info__().dtypes(device=x.device, kind="real floating")
    ):
        raise TypeError(f"{owner}: {name} is on a device without double precision. " + refusal(owner, name, x))


def same_place(owner: str, X: Array, Y: Array) -> None:
    """Raise unless two sets of points are on one device, in one library."""
    if not foreign(X) and not foreign(Y):
        return
    places = [f"{type(v).__module__.split('.')[0]} on {v.device}" if foreign(v) else "NumPy" for v in (X, Y)]
    if places[0] != places[1]:
        raise ValueError(f"{owner}: X and Y must be on one device, got {places[0]} and {places[1]}; move one of them.")


def block_bytes(x: Any, budget: int) -> int:
    """Bytes that a block of work on an array may take: ``budget`` on a processor with caches, more on an accelerator.

    On an accelerator a block must fill all of its units, and caches matter little.
    """
    memory = _memory(x)
    return budget if memory is None else int(min(max(memory[1] * SHARE, LEAST), MOST))


def free_bytes(x: Any) -> float | None:
    """Memory that is left on the device that an array is on; None on the processor, infinite where nobody says."""
    if not foreign(x) or "cpu" in str(x.device).lower():
        return None
    memory = _memory(x)
    return float("inf") if memory is None else memory[0]


def _memory(x: Any) -> tuple[int, int] | None:
    """Bytes of the accelerator that an array is on: free, and in all; None on a processor."""
    torch, cupy = sys.modules.get("torch"), sys.modules.get("cupy")
    if torch is not None and isinstance(x, torch.Tensor) and x.device.type == "cuda":
        free, total = torch.cuda.mem_get_info(x.device)
        spare = torch.cuda.memory_reserved(x.device) - torch.cuda.memory_allocated(x.device)  # torch gives it out again
        return free + spare, total
    if cupy is not None and isinstance(x, cupy.ndarray):
        free, total = cupy.cuda.runtime.memGetInfo()
        return free + cupy.get_default_memory_pool().free_bytes(), total
    return None


def rounding(x: Any) -> float:
    """Unit of rounding of products in single precision: 2⁻²⁴, or 2⁻¹¹ where the library is told to use TF32."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(x, torch.Tensor):
        coarse = torch.get_float32_matmul_precision() != "highest"
    else:
        coarse = "cupy" in sys.modules and os.environ.get("CUPY_TF32") == "1"
    return 2.0**-11 if coarse else 2.0**-24


def cholesky_or_none(A: Array) -> Any:
    """Lower Cholesky factor of a symmetric matrix, or None when it is not positive definite."""
    return _finite_or_none("cholesky", A)


def inverse_or_none(A: Array) -> Any:
    """Inverse of a matrix, or None when it is singular to working precision."""
    return _finite_or_none("inv", A)


def _finite_or_none(operation: str, A: Array) -> Any:
    xp = namespace(A)
    try:
        result = getattr(xp.linalg, operation)(A)
    except (np.linalg.LinAlgError, RuntimeError):
        return None
    return result if bool(xp.all(xp.isfinite(result))) else None
