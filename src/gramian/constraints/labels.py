"""Class labels as side information: codes of classes, in the order of their names or of their appearance."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gramian import _validate


@dataclass(frozen=True)
class Labels:
    """Class labels as side information for learners that use all of them at once.

    ``codes`` (n,) index into ``classes``; −1 stands for an unknown label.
    """

    codes: np.ndarray
    classes: np.ndarray

    @classmethod
    def from_array(
        cls, y: Any, owner: str, n: int | None = None, unknown: Any = None, numbers: bool = False
    ) -> "Labels":
        """Encode labels of any type; entries equal to ``unknown`` become −1. Labels stay as they are."""
        if isinstance(y, Labels):
            return y
        classes, codes = _validate.labels(y, owner, n, unknown, numbers)
        return cls(codes, classes)

    def of(self, rows: np.ndarray) -> "Labels":
        """The labels of some points, coded anew."""
        codes = self.codes[rows]
        used = np.unique(codes[codes >= 0])  # classes that are left
        return Labels(np.where(codes < 0, -1, np.searchsorted(used, codes)), self.classes[used])

    def by_appearance(self) -> "Labels":
        """The same with classes in the order in which they appear, so that their names reach no draw."""
        if len(self.classes) == 0:
            return self
        codes = self.codes[self.codes >= 0]
        earliest = np.full(len(self.classes), len(codes))  # (C,)
        np.minimum.at(earliest, codes, np.arange(len(codes)))
        order = np.argsort(earliest, kind="stable")
        place = np.empty_like(order)  # the inverse of the order
        place[order] = np.arange(len(order))
        return Labels(np.where(self.codes < 0, -1, place[self.codes]), self.classes[order])

    def groups(self) -> list[np.ndarray]:
        """Indices of the points of each class."""
        order = np.argsort(self.codes, kind="stable")
        start = np.searchsorted(self.codes[order], np.arange(len(self.classes) + 1))  # (C + 1,)
        return [order[start[c] : start[c + 1]] for c in range(len(self.classes))]
