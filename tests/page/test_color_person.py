"""A person who judges emoji by color: 30 clicks over six queries, and what a new query is worth then."""

import os
from pathlib import Path

import numpy as np
import pytest

from gramian.service import Space, demo
from tests.page.conftest import Server, say, search, shown

pytestmark = pytest.mark.browser
TAUGHT = ("cherries", "frog", "blue heart", "lemon", "jack-o-lantern", "black heart")
PICTURES = os.environ.get("GRAMIAN_PICTURES")
"""A folder for pictures of each step, when somebody wants to look at them."""


@pytest.fixture(scope="module")
def emoji(tmp_path_factory):
    folder = tmp_path_factory.mktemp("emoji") / "space"
    try:
        with Space(folder, learning=False) as space:
            demo.fill(space, "emoji")
    except demo.Unavailable as error:
        pytest.skip(f"no emoji here: {error}")
    served = Server(folder)
    yield served
    served.stop()


def keep(page, name, **options):
    if PICTURES:
        page.wait_for_timeout(1300)
        page.screenshot(path=Path(PICTURES) / f"{name}.png", **options)


def colors(server):
    column = server.get("/v1/collections/emoji/columns?field=color")
    return {i: column["values"][code] for i, code in enumerate(column["codes"])}


def precision(server, colors, queries, version, k=20):
    """Share of the first k results that have the query's color, for each query."""
    found = []
    for query in queries:
        body = {"id": query, "k": k, "version": version}
        ids = server.post("/v1/collections/emoji/query", body)["ids"]
        found.append(np.mean([colors[i] == colors[query] for i in ids]))
    return np.array(found)


def test_thirty_clicks_by_color_help_a_new_query(emoji, open_page):
    color = colors(emoji)
    page = open_page(emoji.address)
    page.get_by_test_id("result").first.wait_for()
    keep(page, "1-open")
    clicks = 0
    for number, words in enumerate(TAUGHT):
        search(page, words)
        query = page.evaluate("history.state.query.id")
        if number == 0:
            keep(page, "2-search")
        judged = set()
        for _ in range(5):
            item = next(i for i in shown(page) if i not in judged and i != query)
            judged.add(item)
            say(page, item, color[item] == color[query])
            clicks += 1
        if number == 0:
            keep(page, "3-taught", full_page=True)
    assert clicks == 30
    page.get_by_label("Name of the new version").fill("by color")
    page.get_by_test_id("learn").click()
    page.locator("[data-version='1']").wait_for()
    rng = np.random.default_rng(0)
    clear = [i for i, word in color.items() if word not in ("mixed", "white", "gray")]
    queries = rng.choice(clear, 150, replace=False).tolist()
    before, after = (precision(emoji, color, queries, version) for version in (0, 1))
    gain = after - before
    error = gain.std(ddof=1) / np.sqrt(len(gain))
    print(
        f"new queries: {before.mean():.3f} of 20 are of the right color without, {after.mean():.3f} with the 30 clicks"
    )
    print(f"gain {gain.mean():+.3f} ± {error:.3f} over {len(queries)} queries; results after", end=" ")
    print(*(page.evaluate(f"document.documentElement.dataset.{name}") for name in ("openMs", "rankMs")), "ms")
    page.locator("[data-version='1']").get_by_test_id("activate").click()
    page.locator("[data-version='1'].active").wait_for()
    search(page, "tomato")
    keep(page, "4-in-use", full_page=True)
    assert gain.mean() > 2 * error
