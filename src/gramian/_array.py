"""The array namespace of an input: the only place that knows which array library is in use."""

from typing import Any

import numpy as np

COMPATIBLE = ("torch", "cupy")
"""Libraries whose functions array-api-compat brings to the standard."""


def namespace(x: Any) -> Any:
    """Return the array-API namespace of ``x`` (NumPy, torch, CuPy, array-api-strict, …)."""
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
    if hasattr(x, "__array_namespace__"):
        return x.__array_namespace__()
    return np


def to_numpy(x: Any) -> np.ndarray:
    """Return ``x`` as a NumPy array, copying from a device when needed."""
    if hasattr(x, "detach"):
        x = x.detach().cpu()
    elif hasattr(x, "get") and type(x).__module__.startswith("cupy"):
        x = x.get()
    try:
        return np.asarray(x)
    except (TypeError, RuntimeError):
        return np.from_dlpack(x)


def like(x: Any, reference: Any) -> Any:
    """Return the NumPy array ``x`` in the namespace, dtype and device of ``reference``."""
    xp = namespace(reference)
    if xp is np:
        return np.asarray(x, dtype=reference.dtype)
    device = getattr(reference, "device", None)
    return xp.asarray(np.ascontiguousarray(x), dtype=reference.dtype, device=device)


def cholesky(A: Any) -> Any:
    """Lower Cholesky factor of a symmetric matrix, or None when it is not positive definite."""
    return _finite_or_none(namespace(A), "cholesky", A)


def inverse(A: Any) -> Any:
    """Inverse of a matrix, or None when it is singular to working precision."""
    return _finite_or_none(namespace(A), "inv", A)


def _finite_or_none(xp: Any, operation: str, A: Any) -> Any:
    try:
        result = getattr(xp.linalg, operation)(A)
    except (np.linalg.LinAlgError, RuntimeError):
        return None
    return result if bool(xp.all(xp.isfinite(result))) else None
