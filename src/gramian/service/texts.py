"""Search by words: items whose names and meta hold all words of a text."""

import json
import re
import threading

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
        self.names = [line[: line.index("\t")] for line in lines]
        self.text = "\n".join(lines)

    def search(self, words: str, k: int) -> tuple[np.ndarray, int]:
        """Items with all words: those named so first, then those with the words in their names, then in their meta."""
        wanted = " ".join(words.lower().split())
        parts = wanted.split(" ")
        places = re.finditer(re.escape(max(parts, key=len)), self.text) if wanted else iter(())
        starts = np.array([place.start() for place, _ in zip(places, range(MOST_SCANNED))], np.int64)
        rows = np.unique(np.searchsorted(self.ends, starts, side="right")).tolist()
        found = [row for row in rows if all(part in self.lines[row] for part in parts)]
        named = [row for row in found if all(part in self.names[row] for part in parts)]
        patterns = [re.compile(rf"\b{re.escape(part)}\b") for part in parts]
        best = sorted(named, key=lambda row: _rank(self.names[row], wanted, patterns))[:k]
        if len(best) < k:
            others = sorted(set(found).difference(named))
            inside = [not all(word.search(self.lines[row]) for word in patterns) for row in others]
            order = sorted(range(len(others)), key=lambda i: (inside[i], len(self.names[others[i]]), others[i]))
            best += [others[i] for i in order[: k - len(best)]]
        return self.ids[best], len(found)


def _line(meta: str | None) -> str:
    fields = json.loads(meta) if meta else {}
    name = next((fields[field] for field in NAMES if isinstance(fields.get(field), str)), "")
    others = [value for value in fields.values() if value is not name]
    rest = " ".join(value if isinstance(value, str) else json.dumps(value) for value in others)
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
