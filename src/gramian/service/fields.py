"""Meta fields as columns: which items have a value, found without reading their meta again."""

import json
import threading
from collections import OrderedDict
from typing import Any

import numpy as np

from gramian.service.snapshot import Collection


class Column:
    """Codes of the values of one field, by row; rows that come later are read when they are asked for."""

    def __init__(self) -> None:
        self.codes = np.zeros(0, np.int32)
        self.values: dict[str, int] = {}

    def extend(self, metas: list[str | None], field: str) -> None:
        """Read the rows behind those that are known; −1 is for items without the field."""
        new = np.full(len(metas) - len(self.codes), -1, np.int32)
        for i, text in enumerate(metas[len(self.codes) :]):
            meta = json.loads(text) if text else {}
            if field in meta:
                new[i] = self.values.setdefault(_key(meta[field]), len(self.values))
        self.codes = np.concatenate([self.codes, new])


class Fields:
    """Columns of all collections of a space, made on first use."""

    MOST = 64
    """Columns that are kept; a question about another field takes the place of the one asked for longest ago."""

    def __init__(self) -> None:
        self._columns: OrderedDict[tuple[int, str], Column] = OrderedDict()
        self._lock = threading.Lock()

    def matching(self, view: Collection, where: dict[str, Any]) -> np.ndarray:
        """Mask over the items, in the order of their ids: all fields have the value, or one of a list of values."""
        mask = np.ones(len(view.ids), bool)
        for field, wanted in where.items():
            codes, values = self.column(view, field)
            options = wanted if isinstance(wanted, list) else [wanted]
            known = [values[key] for key in map(_key, options) if key in values]
            mask &= np.isin(codes[view.rows], known)
        return mask

    def column(self, view: Collection, field: str) -> tuple[np.ndarray, dict[str, int]]:
        """Codes of a field by row, −1 where it is absent, and the code of each value, which is text of JSON."""
        with self._lock:
            column = self._columns.setdefault((view.number, field), Column())
            self._columns.move_to_end((view.number, field))
            if len(self._columns) > self.MOST:
                self._columns.popitem(last=False)
            n = len(view.vectors)
            if len(column.codes) < n:
                column.extend(view.metas[:n], field)
            return column.codes, column.values


def _key(value: Any) -> str:
    """A value as text, equal for equal values; 1 and 1.0 are one value, true is another."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return json.dumps(value, sort_keys=True)
