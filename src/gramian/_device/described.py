"""What an array on a device says about itself, and how it becomes Python numbers."""

from typing import Any

import numpy as np

from gramian._array import to_numpy


class Described:
    """Shape, type and place of ``data``, under NumPy's names."""

    __slots__ = ()
    data: Any

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes."""
        return tuple(self.data.shape)

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.data.shape)

    @property
    def size(self) -> int:
        """Number of entries."""
        return int(np.prod(self.shape))

    @property
    def dtype(self) -> np.dtype:
        """NumPy's name of the type of the entries."""
        return numpy_dtype(self.data.dtype)

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return self.size * self.dtype.itemsize

    @property
    def device(self) -> Any:
        """Where the data are."""
        return self.data.device


class Convertible:
    """``data`` as Python numbers, which crosses to the host."""

    __slots__ = ()
    data: Any

    def __float__(self) -> float:
        return float(self.data)

    def __int__(self) -> int:
        return int(self.data)

    def __index__(self) -> int:
        return int(self.data)

    def __bool__(self) -> bool:
        return bool(self.data)

    def tolist(self) -> Any:
        """Entries as Python numbers."""
        return to_numpy(self.data).tolist()

    def item(self) -> Any:
        """The only entry as a Python number."""
        return to_numpy(self.data).item()


def numpy_dtype(dtype: Any) -> np.dtype:
    """NumPy's dtype of a dtype of any library."""
    return dtype if isinstance(dtype, np.dtype) else np.dtype(str(dtype).rsplit(".", 1)[-1])
