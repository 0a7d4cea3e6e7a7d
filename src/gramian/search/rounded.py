"""Points in half or a quarter of the memory: 16-bit floats, or bytes with a scale and an offset for each row.

What is kept is what is searched: codes, distances and answers are those of the rounded points. A 16-bit float has an
error of at most 2⁻¹¹ of a value; a byte of at most 1/508 of the range of the values of its row.
"""

from typing import Any, Literal

import numpy as np

from gramian import linalg
from gramian.search.columns import Dense

Store = Literal["float64", "float32", "float16", "int8"]
_HALF = float(np.finfo(np.float16).max)


def stored(X: Any, store: str | None, owner: str) -> Any:
    """Points in the form in which they are kept."""
    if store is None:
        return X
    if store in ("float64", "float32"):
        return X.astype(store, copy=False)
    if store == "int8":
        return _bytes(X)
    if np.abs(X).max(initial=0.0) > _HALF:
        raise ValueError(f"{owner}: X must not exceed {_HALF:g} with store='float16'; rescale X, or take 'float32'.")
    return RoundedRows(X.astype(np.float16), np.zeros((0, 2), np.float32))


def _bytes(X: np.ndarray) -> "RoundedRows":
    """x ≈ offset + scale · byte, with bytes from −127 to 127 over the range of each row."""
    low, high = X.min(axis=1, initial=np.inf), X.max(axis=1, initial=-np.inf)
    offsets, scales = ((low + high) / 2).astype(np.float32), ((high - low) / 254).astype(np.float32)
    data = np.empty(X.shape, np.int8)
    for block in linalg.blocks(len(X), 16 * X.shape[1]):
        unit = np.where(scales[block] > 0, scales[block], 1)[:, None]
        data[block] = np.clip(np.rint((X[block] - offsets[block, None]) / unit), -127, 127)
    return RoundedRows(data, np.column_stack([scales, offsets]))


class RoundedRows:
    """Rounded points that are read as an array of single precision; each reading makes a copy of what is asked for."""

    dtype = np.dtype(np.float32)
    ndim = 2

    def __init__(self, data: np.ndarray, scales: np.ndarray) -> None:
        self.data = data
        self.scales = scales

    @property
    def shape(self) -> tuple[int, ...]:
        """Numbers of rows and of features."""
        return self.data.shape

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, rows: Any) -> np.ndarray:
        values = self.data[rows].astype(np.float32)
        if len(self.scales) == 0:
            return values
        own = self.scales[rows]
        return values * own[..., :1] + own[..., 1:]

    def mean(self, axis: int, dtype: Any) -> np.ndarray:
        """Mean of the rows."""
        total = np.zeros(self.shape[1], dtype)
        for block in linalg.blocks(len(self), 8 * self.shape[1]):
            total += self[block].sum(axis=0, dtype=dtype)
        return total / max(len(self), 1)

    def copy(self) -> "RoundedRows":
        """Itself: rounding has made a copy."""
        return self

    @property
    def raw(self) -> np.ndarray:
        """The data as compiled loops take them: bytes, or 16-bit floats as integers."""
        return self.data if self.data.dtype == np.int8 else self.data.view(np.uint16)


class Rounded:
    """Column of rounded points."""

    def __init__(self, data: Dense, scales: Dense) -> None:
        self.data = data
        self.scales = scales

    @classmethod
    def of(cls, rows: RoundedRows) -> "Rounded":
        """Column that starts with these rows."""
        return cls(Dense(rows.data), Dense(rows.scales))

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.data.n

    @property
    def rows(self) -> RoundedRows:
        """The rows."""
        return RoundedRows(self.data.rows, self.scales.rows)

    def append(self, rows: RoundedRows) -> "Rounded":
        """Column with more rows."""
        return Rounded(self.data.append(rows.data), self.scales.append(rows.scales))

    def take(self, index: np.ndarray) -> "Rounded":
        """Column of the chosen rows, in the order given."""
        return Rounded(self.data.take(index), self.scales.take(index) if self.scales.n else self.scales)

    def part(self, start: int, stop: int) -> "Rounded":
        """A view of some rows."""
        return Rounded(self.data.part(start, stop), self.scales.part(start, stop))

    def state(self) -> Any:
        """What to store."""
        return {"rounded": self.data.rows, "scales": self.scales.rows}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> "Rounded":
        """Column of what a file holds, when it fits together."""
        data, scales = state["rounded"], state["scales"]
        wanted = len(data) if data.dtype == np.int8 else 0
        if data.dtype not in (np.int8, np.float16) or data.ndim != 2 or scales.shape != (wanted, 2):
            raise ValueError("its rounded points do not fit together")
        return cls(Dense(data), Dense(np.asarray(scales, np.float32)))
