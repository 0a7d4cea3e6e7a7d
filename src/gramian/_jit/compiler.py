"""The compiler of the loops: numba's, with files of compiled code that any number of processes may write at once."""

import contextlib
import hashlib
import pickle
import sys
from collections.abc import Callable
from typing import Any

import numba
from numba.core.caching import IndexDataCacheFile

if sys.byteorder != "little":
    raise ImportError("gramian: its codes, files and compiled loops need a little-endian processor.")


class CompiledFiles(IndexDataCacheFile):
    """One file for each function and signature, known by its name, and checked for what it says that it is.

    numba numbers the files of a function and lists them in another one. Two processes that compile two signatures at
    the same time take one number for both, and the code of one may then be given out as that of the other, for good.
    """

    def _name(self, key: Any) -> str:
        types, *place = key
        what = repr((self._version, self._source_stamp, str(types), place))
        return self._data_name_pattern.replace("{number:d}", hashlib.sha256(what.encode()).hexdigest()[:16])

    def save(self, key: Any, data: Any) -> None:
        """Write the code of a key; a full disk is no reason not to run it."""
        with contextlib.suppress(OSError):
            self._save_data(self._name(key), (key, data))

    def load(self, key: Any) -> Any:
        """The code of a key, None where there is none."""
        try:
            of, data = self._load_data(self._name(key))
        except (OSError, EOFError, pickle.UnpicklingError):
            return None
        return data if of == key else None


def njit(**options: Any) -> Callable[[Callable], Any]:
    """numba's ``njit`` with a cache on disk, where there is a folder for one."""

    def compiled(function: Callable) -> Any:
        loop = numba.njit(**options)(function)
        with contextlib.suppress(AttributeError, RuntimeError):  # not compiled at all, or no folder to write to
            loop.enable_caching()
            cache = loop._cache
            place = cache._impl
            cache._cache_file = CompiledFiles(cache._cache_path, place.filename_base, place.locator.get_source_stamp())
        return loop

    return compiled
