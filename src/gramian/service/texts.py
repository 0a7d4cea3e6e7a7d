"""Search by words: items whose names and meta hold all words of a text."""

import json
import re
import threading
from typing import Any

import numpy as np

from gramian.service.snapshot import Collection

NAMES = ("name", "title", "label", "text")
"""Meta fields that name an item, the first that is there."""
MOST_SCANNED = 20_000
"""Places of a word that are looked at."""


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
        lines = [_line(view.metas[row]) for row in view.rows.tolist()]
        self.ends = np.cumsum([len(line) + 1 for line in lines])
        self.lines = lines
        self.text = "\n".join(lines)

    def search(self, words: str, k: int) -> tuple[np.ndarray, int]:
        """Items with all words: equal names first, then names that begin so, then whole words, then any place."""
        wanted = " ".join(words.lower().split())
        parts = wanted.split(" ")
        places = re.finditer(re.escape(max(parts, key=len)), self.text) if wanted else iter(())
        starts = np.array([place.start() for place, _ in zip(places, range(MOST_SCANNED))], np.int64)
        rows = np.unique(np.searchsorted(self.ends, starts, side="right")).tolist()
        found = [row for row in rows if all(part in self.lines[row] for part in parts)]
        found.sort(key=lambda row: _rank(self.lines[row], wanted, parts))
        return self.ids[found[:k]], len(found)


def _line(meta: str | None) -> str:
    fields = json.loads(meta) if meta else {}
    name = next((fields[field] for field in NAMES if isinstance(fields.get(field), str)), "")
    rest = " ".join(_words(value) for value in fields.values() if value is not name)
    return f"{name}\t{rest}".lower().replace("\n", " ")


def _words(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _rank(line: str, wanted: str, parts: list[str]) -> tuple[int, int, str]:
    name = line.partition("\t")[0]
    if name == wanted:
        return 0, 0, name
    whole = all(re.search(rf"\b{re.escape(part)}\b", line) for part in parts)
    named = all(part in name for part in parts)
    order = 1 if named and whole else 2 if name.startswith(wanted) else 3 if named else 4 if whole else 5
    return order, len(name), name
