"""Points that stay in a file: whoever writes into it changes an index behind its back, which is noticed."""

import os
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Source:
    """The file of mapped rows as it was when they were taken."""

    path: str
    before: os.stat_result

    @classmethod
    def of(cls, rows: np.ndarray) -> "Source | None":
        """The file in which rows stand; None for rows in memory, and where nothing of that name is there any more."""
        mapped = rows if isinstance(rows, np.memmap) else rows.base
        if not isinstance(mapped, np.memmap) or mapped.filename is None:
            return None
        path = os.fspath(mapped.filename)
        try:
            return cls(path, os.stat(path))
        except OSError:
            return None

    def check(self, owner: str) -> None:
        """Raise where the file was written into; a new one in its place, or none, leaves the rows as they were."""
        try:
            now = os.stat(self.path)
        except OSError:
            return
        if now.st_mtime_ns == self.before.st_mtime_ns and now.st_size == self.before.st_size:
            return
        if os.path.samestat(now, self.before):
            raise ValueError(
                f"{owner}: the file of its points must stay as it is, got another size or time of {self.path!r}; "
                "add its points to a new index."
            )
