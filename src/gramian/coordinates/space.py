"""The space that points live in: its door and its inner product k(x, y), that of the features or of a kernel."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from scipy import sparse

from gramian import _checks, _device


class Space(ABC):
    """Points with an inner product. All methods but ``check`` and ``one`` take points that went through ``check``."""

    @property
    @abstractmethod
    def n_features(self) -> int | None:
        """Number of features of a point; None where points need not be vectors."""

    @abstractmethod
    def check(self, X: Any, owner: str, name: str = "X", min_points: int = 1) -> Any:
        """The door: points as the other methods take them, or one sentence in the name of ``owner``."""

    def accept(self, X: Any, name: str = "X") -> Any:
        """The part of the door behind the validation of vectors, for callers that did that themselves."""
        return X

    def one(self, x: Any, owner: str, name: str) -> Any:
        """A set of one point, for the door."""
        if sparse.issparse(x):
            return sparse.csr_array(x.reshape(1, -1))
        x = x if _device.foreign(x) else _checks.plain(x, owner, name)
        if x.ndim != 1:
            raise ValueError(f"{owner}: {name} must be a single point of shape (d,), got {x.shape}.")
        return x[None, :]

    @abstractmethod
    def inner(self, X: Any, Y: Any) -> np.ndarray:
        """k(x, y), (n, m)."""

    @abstractmethod
    def energy(self, X: Any) -> np.ndarray:
        """k(x, x), (n,)."""

    @abstractmethod
    def bilinear(self, X: Any, left: Any, right: Any) -> np.ndarray:
        """Inner products of the combinations ``left`` and ``right`` (m, n) of the points, row by row, (m,)."""

    @abstractmethod
    def sqdist(self, X: Any, Y: Any | None) -> np.ndarray:
        """k(x, x) + k(y, y) − 2k(x, y), (n, m); Y=None is X."""

    @abstractmethod
    def pair_sqdist(self, X: Any, Y: Any) -> np.ndarray:
        """Squared distance in the space of row i of X to row i of Y, (n,)."""

    def phi(self, X: Any) -> Any:
        """Points as vectors of the space, rows of an array or CSR matrix; None where they are not known."""
        return None
