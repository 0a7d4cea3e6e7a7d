"""gramian: learn distances and kernels from side information, and search with them fast.

Every public name is imported on first use; ``_registry.py`` says where each one lives.
"""

from typing import Any

from gramian import _registry

__version__ = "0.2.0"
_PUBLIC = {*_registry.HOME, *_registry.BASES, *_registry.MODULES}
__all__ = sorted(_PUBLIC - _registry.INNER)


def __getattr__(name: str) -> Any:
    value = _registry.find(name)
    if value is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return value


def __dir__() -> list[str]:
    return sorted([*_PUBLIC, "__version__"])
