"""How much a device can hold and which precision it has: block sizes come from here."""

import os
import sys
from typing import Any

from gramian._device.array import outside

SHARE = 1 / 32
"""Share of the memory of an accelerator that one block of a computation takes."""
LEAST, MOST = 64 << 20, 2 << 30
"""Bounds of the size of such a block, in bytes."""
DOUBLES: dict[tuple[str, str], bool] = {}
"""Whether a device of a library, by their names, has double precision."""
PAIRS, DISTANCES = 16 << 20, 64 << 20
"""Sizes of blocks of differences and of distances where the device is a processor with caches, in bytes."""


def block_bytes(x: Any, budget: int) -> int:
    """Bytes that a block of work on an array may take: ``budget`` on a processor with caches, more on an accelerator.

    On an accelerator a block must fill all of its units, and caches matter little.
    """
    total = _memory(outside(x))
    return budget if total is None else int(min(max(total * SHARE, LEAST), MOST))


def double(x: Any) -> bool:
    """Whether the device of an array has double precision; MPS has not."""
    device = x.data.device
    key = x.xp.__name__, str(device)
    if key not in DOUBLES:
        DOUBLES[key] = "mps" not in key[1] and "float64" in _declared(x.xp, device)
    return DOUBLES[key]


def _declared(xp: Any, device: Any) -> Any:
    """Names of the types of reals that a library says a device has."""
    if not hasattr(xp, "__array_namespace_info__"):
        return ("float64",)
    return xp.__array_namespace_info__().dtypes(device=device, kind="real floating")


def rounding(x: Any) -> float:
    """Unit of rounding of products in single precision: 2⁻²⁴, or 2⁻¹¹ where the library is told to use TF32."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(outside(x), torch.Tensor):
        coarse = torch.get_float32_matmul_precision() != "highest"
    else:
        coarse = "cupy" in sys.modules and os.environ.get("CUPY_TF32") == "1"
    return 2.0**-11 if coarse else 2.0**-24


def _memory(data: Any) -> int | None:
    """Memory of the accelerator that an array is on, in bytes; None on a processor."""
    torch, cupy = sys.modules.get("torch"), sys.modules.get("cupy")
    if torch is not None and isinstance(data, torch.Tensor):
        kind = data.device.type
        if kind == "cuda":
            return torch.cuda.get_device_properties(data.device).total_memory
        return torch.mps.recommended_max_memory() if kind == "mps" else None
    if cupy is not None and isinstance(data, cupy.ndarray):
        return cupy.cuda.runtime.memGetInfo()[1]
    return None
