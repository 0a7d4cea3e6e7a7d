"""A person who judges emoji by color: 30 clicks through the page, and what a new query is worth then."""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from tests.page import chromium
from tests.page.conftest import Server, say, search, shown

from gramian.service import Space, demo

TITLE = "Thirty clicks by color, through the page"
NOTES = """
A simulated person who judges emoji by their color makes 30 clicks on the page: they search for cherries, frog, blue
heart, lemon, jack-o-lantern and black heart, and say of five results each, always the best that they have not yet
judged, whether it has the color of what they searched for. Then *Learn now*. Then other emoji of a clear color are
asked for, without a click: which share of their 20 nearest has their color? The color of an emoji is the word for most
of its opaque pixels; the features are histograms of colors, edges by place and word vectors of the name, 64 of each,
so the distance that is right for this person has to leave two thirds of them out. *gain* is ± its standard error.
"""
TAUGHT = ("cherries", "frog", "blue heart", "lemon", "jack-o-lantern", "black heart")
VAGUE = ("mixed", "white", "gray")
ASKED, SHOWN = 150, 20
Colors = dict[int, str]


def available() -> bool:
    """Whether there is a browser."""
    return chromium.missing() is None


def run(quick: bool = False) -> list[dict[str, Any]]:
    """A row for all new queries, and one for each color."""
    if chromium.missing():
        raise FileNotFoundError(f"color: {chromium.missing()}")
    with tempfile.TemporaryDirectory() as folder, chromium.launched() as browser:
        with Space(Path(folder), learning=False) as space:
            demo.fill(space, "emoji")
        server = Server(Path(folder))
        try:
            page = browser.new_context().new_page()
            page.goto(server.address)
            teach(page, colors(server))
            return judged(server)
        finally:
            server.stop()


def colors(server: Server) -> Colors:
    """The color of each emoji in a word."""
    column = server.get("/v1/collections/emoji/columns?field=color")
    return {i: column["values"][code] for i, code in enumerate(column["codes"])}


def teach(page: Any, color: Colors, look: Callable[[str], None] = lambda name: None) -> int:
    """Click as the person does, then let the space learn a version; returns the number of clicks."""
    clicks = 0
    for number, words in enumerate(TAUGHT):
        search(page, words)
        query = page.evaluate("history.state.query.id")
        look(f"search-{number}")
        said: set[int] = set()
        for _ in range(5):
            item = next(i for i in shown(page) if i not in said and i != query)
            said.add(item)
            say(page, item, color[item] == color[query])
            clicks += 1
        look(f"taught-{number}")
    page.get_by_label("Name of the new version").fill("by color")
    page.get_by_test_id("learn").click()
    page.locator("[data-version='1']").wait_for()
    return clicks


def judged(server: Server) -> list[dict[str, Any]]:
    """What the version that was learned is worth to queries that nobody asked."""
    color = colors(server)
    clear = [i for i, word in color.items() if word not in VAGUE]
    queries = np.random.default_rng(0).choice(clear, ASKED, replace=False)
    words = np.array([color[i] for i in queries.tolist()])
    plain, learned = (precision(server, color, queries.tolist(), version) for version in (0, 1))
    rows = [row("all", plain, learned)]
    return rows + [row(word, plain[words == word], learned[words == word]) for word in np.unique(words).tolist()]


def precision(server: Server, color: Colors, queries: list[int], version: int) -> np.ndarray:
    """Share of the results that have the query's color, for each query."""
    found = []
    for query in queries:
        body = {"id": query, "k": SHOWN, "version": version}
        ids = server.post("/v1/collections/emoji/query", body)["ids"]
        found.append(np.mean([color[i] == color[query] for i in ids]))
    return np.array(found)


def row(word: str, plain: np.ndarray, learned: np.ndarray) -> dict[str, Any]:
    """Means over queries, and the gain with its standard error."""
    gain = learned - plain
    error = f" ± {gain.std(ddof=1) / np.sqrt(len(gain)):.3f}" if len(gain) > 1 else ""
    return {
        "color": word,
        "new queries": len(gain),
        "plain features": round(float(plain.mean()), 3),
        "learned from 30 clicks": round(float(learned.mean()), 3),
        "gain": f"{gain.mean():+.3f}{error}",
    }
