"""A person who judges emoji by color: 30 clicks over six queries, and what a new query is worth then."""

import os
from pathlib import Path

import numpy as np
import pytest
from benchmarks.serve import color as person

from gramian.service import Space, demo
from tests.page.conftest import Server, search

pytestmark = pytest.mark.browser
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


def keep(page, name):
    if PICTURES:
        page.wait_for_timeout(1300)
        page.screenshot(path=Path(PICTURES) / f"emoji-{name}.png", full_page=True)


def test_thirty_clicks_by_color_help_a_new_query(emoji, open_page):
    page = open_page(emoji.address)
    page.get_by_test_id("result").first.wait_for()
    keep(page, "open")
    assert person.teach(page, person.colors(emoji), look=lambda name: keep(page, name)) == 30
    rows = person.judged(emoji)
    for row in rows:
        print("of 20 results have the right color:", ", ".join(f"{name} {value}" for name, value in row.items()))
    page.locator("[data-version='1']").get_by_test_id("activate").click()
    page.locator("[data-version='1'].active").wait_for()
    search(page, "tomato")
    keep(page, "in-use")
    gain, error = map(float, rows[0]["gain"].split(" ± "))
    assert gain > 2 * error


def test_four_clicks_turn_the_list(emoji):
    """Each on the best result not yet judged; of the first ten, how many have the query's color before and after."""
    color = person.colors(emoji)
    clear = [i for i, word in color.items() if word not in person.VAGUE]
    gains, means = [], []
    for query in np.random.default_rng(0).choice(clear, 60, replace=False).tolist():
        right = []
        said = {"likes": [], "dislikes": []}
        for _ in range(5):
            ids = emoji.post("/v1/collections/emoji/query", {"id": query, "k": 24, **said})["ids"]
            right.append(sum(color[i] == color[query] for i in ids[:10]))
            item = next(i for i in ids if i not in said["likes"] + said["dislikes"])
            said["likes" if color[item] == color[query] else "dislikes"].append(item)
        means.append((right[0], right[4]))
        gains.append(right[4] - right[0])
    error = np.std(gains, ddof=1) / np.sqrt(len(gains))
    before, after = np.mean(means, axis=0)
    gain = f"{np.mean(gains):+.1f} ± {error:.1f}"
    print(f"of ten results have the right color: {before:.1f} before, {after:.1f} after four clicks, {gain}")
    assert np.mean(gains) > 2 * error
