"""Every state of the page as a picture; with GRAMIAN_PICTURES=FOLDER they are kept, page.gif for the README too."""

import os
from pathlib import Path

import numpy as np
import pytest
from benchmarks.serve import color as person

from gramian.service import Space, demo
from tests.page.conftest import Server, say, search
from tests.page.test_color_person import emoji  # noqa: F401

pytestmark = pytest.mark.browser
QUERY = 242
ASKED = "tomato"
WIDTH = 860
"""Of the moving picture, in pixels."""


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


def test_a_moving_picture_of_the_first_minute(emoji, open_page, pictures):  # noqa: F811
    image = pytest.importorskip("PIL.Image")
    color = person.colors(emoji)
    page = open_page(emoji.address)
    page.set_viewport_size({"width": 1280, "height": 800})
    page.get_by_test_id("welcome").wait_for()
    keep(page, pictures / "welcome.png")
    ids = search(page, ASKED)
    query = page.evaluate("history.state.query.id")
    page.locator("h2").first.click()  # so that no cursor blinks
    steps = [keep(page, pictures / "step-0.png")]
    said = {query}
    for _ in range(4):
        item = next(i for i in ids if i not in said)
        ids = say(page, item, color[item] == color[query])
        said.add(item)
        page.mouse.move(5, 500)
        steps.append(keep(page, pictures / f"step-{len(said) - 1}.png"))
    right = [sum(color[i] == color[query] for i in found[:10]) for found in (search(page, ASKED), ids)]
    print(f"of ten results have the color of {ASKED}: {right[0]} before, {right[1]} after four clicks")
    frames = [image.open(step).convert("RGB") for step in steps]
    size = (WIDTH, round(frames[0].height * WIDTH / frames[0].width))
    colors = frames[-1].resize(size).quantize(128, method=image.Quantize.MEDIANCUT)
    small = [frame.resize(size, image.Resampling.LANCZOS).quantize(palette=colors, dither=0) for frame in frames]
    times = [2500, *[1300] * (len(small) - 2), 4000]
    small[0].save(pictures / "page.gif", save_all=True, append_images=small[1:], duration=times, loop=0, optimize=True)
    assert right[1] > right[0]


def test_pictures_of_every_state(digits, open_page, pictures):
    pytest.importorskip("PIL.Image")
    digit = digits_of(digits)
    page = open_page(digits.address)
    teach(page, digit, QUERY, 8)
    page.mouse.move(5, 500)
    keep(page, pictures / "said.png", full_page=True)
    page.get_by_test_id("why").first.click()
    page.locator("dialog table").wait_for()
    keep(page, pictures / "why.png")
    page.keyboard.press("Escape")
    lasso(page)
    keep(page, pictures / "lasso.png")
    page.get_by_role("button", name="Clear", exact=True).click()
    box = page.get_by_test_id("map").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, steps=4)
    keep(page, pictures / "hover.png")
    page.get_by_test_id("learn").click()
    page.locator("[data-version='1']").wait_for()
    for query in (100, 200, 300):
        teach(page, digit, query, 4)
    page.get_by_label("Compare").select_option("all")
    page.locator(".chip").first.wait_for()
    keep(page, pictures / "duel.png", full_page=True)
    page.locator("[data-version='1']").get_by_test_id("activate").click()
    page.locator("[data-version='1'].active").wait_for()
    page.get_by_label("Compare").select_option("0:1")
    keep(page, pictures / "in-use.png", full_page=True)
    digits.kill()
    page.get_by_test_id("offline").wait_for()
    keep(page, pictures / "offline.png")
    digits.start()
    page.get_by_test_id("offline").wait_for(state="detached")
    for name, scheme, width in (("dark", "dark", 1360), ("narrow", "light", 390), ("narrow-dark", "dark", 390)):
        other = open_page(digits.address, color_scheme=scheme)
        other.set_viewport_size({"width": width, "height": 900})
        teach(other, digit, QUERY, 4)
        keep(other, pictures / f"{name}-top.png")
        keep(other, pictures / f"{name}.png", full_page=True)
    assert all(path.stat().st_size > 10_000 for path in pictures.glob("*.png"))  # something was drawn


def teach(page, digit, query, clicks):
    """Judge the best results that were not judged yet, one after the other."""
    said, ids = set(), search(page, f"#{query}")
    for _ in range(clicks):
        item = next(i for i in ids if i not in said)
        ids = say(page, item, bool(digit[item] == digit[query]))
        said.add(item)


def lasso(page, left=0.35, top=0.35, right=0.65, bottom=0.65):
    """Draw around a part of the map, given in shares of its width and height."""
    page.evaluate("scrollTo(0, 0)")
    page.get_by_role("button", name="Lasso").click()
    box = page.get_by_test_id("map").bounding_box()
    corners = ((left, top), (right, top), (right, bottom), (left, bottom), (left, top))
    places = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in corners]
    page.mouse.move(*places[0])
    page.mouse.down()
    for place in places[1:]:
        page.mouse.move(*place, steps=5)
    page.mouse.up()
    page.get_by_test_id("selection").wait_for()


def keep(page, path, **options):
    page.wait_for_timeout(1300)
    page.screenshot(path=path, **options)
    return path


def digits_of(server):
    column = server.get("/v1/collections/digits/columns?field=digit")
    return np.array([column["values"][code] for code in column["codes"]])
