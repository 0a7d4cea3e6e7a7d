"""Points that stay in a file: whoever writes into it changes an index behind its back, which is noticed."""

import os
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Source:
    """The file of mapped rows as it was: its name, which file of that name it was, its size and when it was written."""

    path: str
    stamp: tuple[int, int, int, int]

    @classmethod
    def of(cls, rows: np.ndarray) -> "Source | None":
        """The file in which rows stand; None for rows in memory, and where nothing of that name is there any more."""
        mapped = rows if isinstance(rows, np.memmap) else rows.base
        if not isinstance(mapped, np.memmap) or mapped.filename is None:
            return None
        path = os.fspath(mapped.filename)
        stamp = stamp_of(path)
        return None if stamp is None else cls(path, stamp)

    def check(self, owner: str) -> None:
        """Raise where the file was written into; a new one in its place, or none, leaves the rows as they were."""
        now = stamp_of(self.path)
        if now is not None and now[:2] == self.stamp[:2] and now != self.stamp:
            raise ValueError(
                f"{owner}: the file of its points must stay as it is, got another size or time of {self.path!r}; "
                "add its points to a new index."
            )


def stamp_of(path: str) -> tuple[int, int, int, int] | None:
    """Device, number, size and time of a file, None where there is none."""
    try:
        stat = os.stat(path)
    except OSError:
        return None
    return stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns
