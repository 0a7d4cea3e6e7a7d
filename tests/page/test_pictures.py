"""Every state of the page as a picture; with GRAMIAN_PICTURES=FOLDER they are kept, and put together as page.png."""

import os
from pathlib import Path

import numpy as np
import pytest

from gramian.service import Space, demo
from tests.page.conftest import Server, say, search

pytestmark = pytest.mark.browser
QUERY = 1005
STEPS = ("search", "say")


@pytest.fixture
def pictures(tmp_path):
    folder = Path(os.environ.get("GRAMIAN_PICTURES") or tmp_path / "pictures")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture
def digits(tmp_path):
    with Space(tmp_path / "space", learning=False) as space:
        demo.fill(space, "digits")
    served = Server(tmp_path / "space")
    yield served
    served.stop()


def test_pictures_of_every_state(digits, open_page, pictures):
    image = pytest.importorskip("PIL.Image")
    digit = np.array([item["meta"]["digit"] for item in listed(digits)])
    page = open_page(digits.address)
    first = search(page, f"#{QUERY}")
    keep(page, pictures / "search.png")
    for item in first[:6]:
        say(page, item, bool(digit[item] == digit[QUERY]))
    page.mouse.move(5, 500)
    keep(page, pictures / "say.png")
    page.get_by_test_id("changed").scroll_into_view_if_needed()
    keep(page, pictures / "changed.png")
    page.get_by_test_id("why").first.click()
    page.locator("dialog table").wait_for()
    keep(page, pictures / "why.png")
    for name, scheme, width in (("dark", "dark", 1360), ("narrow", "light", 390), ("narrow-dark", "dark", 390)):
        other = open_page(digits.address, color_scheme=scheme)
        other.set_viewport_size({"width": width, "height": 900})
        say(other, search(other, f"#{QUERY}")[0], True)
        keep(other, pictures / f"{name}.png", full_page=True)
    sides = [image.open(pictures / f"{name}.png").convert("RGB") for name in STEPS]
    together = image.new("RGB", (sum(side.width for side in sides) + 24, sides[0].height), "white")
    for i, side in enumerate(sides):
        together.paste(side, (i * (side.width + 24), 0))
    small = together.resize((1600, round(together.height * 1600 / together.width)), image.Resampling.LANCZOS)
    small.quantize(256, method=image.Quantize.MAXCOVERAGE).save(pictures / "page.png", optimize=True)
    assert np.asarray(small).std() > 5  # something was drawn


def keep(page, path, **options):
    page.wait_for_timeout(1300)
    page.screenshot(path=path, **options)


def listed(server):
    found, after = [], ""
    while True:
        answer = server.get(f"/v1/collections/digits/items?fields=id,meta&limit=1000{after}")
        found += answer["items"]
        if answer["next"] is None:
            return found
        after = f"&after={answer['next']}"
