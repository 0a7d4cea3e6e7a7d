"""Meta of items: its fields as columns, and search by the words in it."""

import json
import re
import threading
from collections import OrderedDict
from typing import Any

import numpy as np

from gramian.service.snapshot import Collection

NAMES = ("name", "title", "label", "text")
"""Meta fields that name an item, the first that is there."""
MOST_SCANNED = 20_000
"""Places of a word that are looked at."""
MOST_COLUMNS = 64
"""Columns that are kept; a question about another field takes the place of the one asked for longest ago."""


def metas(view: Collection, ids: Any) -> list[dict[str, Any]]:
    """Meta of items, empty for those without."""
    texts = [view.metas[row] for row in view.find(ids).tolist()]
    return [json.loads(text) if text else {} for text in texts]


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

    def __init__(self) -> None:
        self._columns: OrderedDict[tuple[int, str], Column] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """Number of columns that are kept."""
        return len(self._columns)

    def matching(self, view: Collection, where: dict[str, Any]) -> np.ndarray:
        """Mask over the items, in the order of their ids: all fields have the value, or one of a list of values."""
        mask = np.ones(len(view.ids), bool)
        for field, wanted in where.items():
            codes, values = self.column(view, field)
            options = wanted if isinstance(wanted, list) else [wanted]
            mask &= np.isin(codes[view.rows], [values[key] for key in map(_key, options) if key in values])
        return mask

    def column(self, view: Collection, field: str) -> tuple[np.ndarray, dict[str, int]]:
        """Codes of a field by row, −1 where it is absent, and the code of each value, which is text of JSON."""
        with self._lock:
            column = self._columns.setdefault((view.number, field), Column())
            self._columns.move_to_end((view.number, field))
            if len(self._columns) > MOST_COLUMNS:
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


class Texts:
    """Names and meta of all items as one long text, made on first use and read at the speed of ``str.find``."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pages: dict[int, Page] = {}

    def search(self, view: Collection, words: str, k: int) -> tuple[np.ndarray, int]:
        """Ids of at most k items that hold all words, the best first, and how many there are."""
        with self._lock:
            page = self._pages.get(view.number)
            if page is None or page.revision != view.revision:
                page = self._pages[view.number] = Page(view)
        return page.search(words, k)


class Page:
    """The text of a collection as it was at one revision: a line for each item, its name before a tab."""

    def __init__(self, view: Collection) -> None:
        self.revision = view.revision
        self.ids = view.ids
        self.lines = [_line(view.metas[row]) for row in view.rows.tolist()]
        self.ends = np.cumsum([len(line) + 1 for line in self.lines])  # (n,)
        self.names = [line[: line.index("\t")] for line in self.lines]
        self.text = "\n".join(self.lines)

    def search(self, words: str, k: int) -> tuple[np.ndarray, int]:
        """Items with all words: those named so first, then those with the words in their names, then in their meta."""
        wanted = " ".join(words.lower().split())
        parts = wanted.split(" ")
        rows = [row for row in self._candidates(parts) if all(part in self.lines[row] for part in parts)]
        named = [row for row in rows if all(part in self.names[row] for part in parts)]
        patterns = [re.compile(rf"\b{re.escape(part)}\b") for part in parts]
        best = sorted(named, key=lambda row: _rank(self.names[row], wanted, patterns))[:k]
        if len(best) < k:
            rest = sorted(set(rows).difference(named))
            inside = {row: not all(word.search(self.lines[row]) for word in patterns) for row in rest}
            best += sorted(rest, key=lambda row: (inside[row], len(self.names[row]), row))[: k - len(best)]
        return self.ids[best], len(rows)

    def _candidates(self, parts: list[str]) -> list[int]:
        """Rows with the longest of the words, at least those of its first places."""
        longest = max(parts, key=len)
        places = re.finditer(re.escape(longest), self.text) if longest else iter(())
        starts = np.array([place.start() for place, _ in zip(places, range(MOST_SCANNED))], np.int64)
        return np.unique(np.searchsorted(self.ends, starts, side="right")).tolist()


def _line(meta: str | None) -> str:
    fields = json.loads(meta) if meta else {}
    name = next((fields[field] for field in NAMES if isinstance(fields.get(field), str)), "")
    values = [value for value in fields.values() if value is not name]
    rest = " ".join(value if isinstance(value, str) else json.dumps(value) for value in values)
    return f"{name}\t{rest}".lower().replace("\n", " ")


def _rank(name: str, wanted: str, words: list[re.Pattern[str]]) -> tuple[int, int, str]:
    """How well a name that holds all words fits: equal, one of several that is equal, whole words, its beginning."""
    if name == wanted:
        order = 0
    elif wanted in name.split(", "):
        order = 1
    elif all(word.search(name) for word in words):
        order = 2
    else:
        order = 3 if name.startswith(wanted) else 4
    return order, len(name), name
