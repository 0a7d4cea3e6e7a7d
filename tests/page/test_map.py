"""The map: what a lasso holds, colors by a field of meta, pictures on hover, and the same without a mouse."""

import pytest

from tests.page.conftest import say, search, shown
from tests.page.test_pictures import lasso

pytestmark = pytest.mark.browser


def ready(page):
    page.locator("[data-testid=map][data-points='400'][data-version]").wait_for()


def test_a_lasso_selects_and_what_it_holds_is_exported_and_taught(server, open_page):
    page = open_page(server.address)
    search(page, "#12")
    ready(page)
    lasso(page, 0.24, 0.04, 0.30, 0.16)
    chosen = int(page.get_by_test_id("selection").inner_text().split()[0])
    assert 0 < chosen < 60
    listed = shown(page)  # the list shows what was chosen
    with page.expect_download() as download:
        page.get_by_role("button", name="Export ids").click()
    ids = [int(line) for line in download.value.path().read_text().split()]
    assert len(set(ids)) == chosen and set(ids) <= set(range(400)) and listed == ids[: len(listed)]
    page.get_by_test_id("selection").get_by_role("button", name="+ like").click()
    page.get_by_test_id("selection").wait_for(state="detached")
    page.wait_for_function("history.state.clicks.length > 0")
    taught = server.get("/v1/collections/things/feedback")["feedback"]
    assert {click["item"] for click in taught} == set(ids) - {12}


def test_a_few_chosen_without_a_mouse_are_taught_at_once(server, open_page):
    page = open_page(server.address)
    search(page, "#12")
    ready(page)
    page.get_by_test_id("map").focus()
    for _ in range(14):
        page.keyboard.press("+")
    page.get_by_role("button", name="Select what is in view").press("Enter")
    selection = page.get_by_test_id("selection")
    chosen = int(selection.inner_text().split()[0]) if selection.count() else 0
    assert chosen < 100
    page.get_by_test_id("map").focus()
    page.keyboard.press("0")
    page.get_by_role("button", name="Select what is in view").press("Enter")
    assert int(selection.inner_text().split()[0]) > 390
    selection.get_by_role("button", name="+ like").press("Enter")
    page.get_by_text("At most 200 items").wait_for()


def test_colors_follow_a_field_and_a_picture_follows_the_mouse(server, open_page):
    page = open_page(server.address)
    search(page, "#12")
    ready(page)
    page.get_by_label("Color by").select_option("")
    page.locator(".legend").wait_for(state="detached")
    page.get_by_label("Color by").select_option("color")
    page.locator(".legend li").nth(4).wait_for()
    assert set(page.locator(".legend li").all_inner_texts()) == {"red", "green", "blue", "yellow", "black"}
    box = page.get_by_test_id("map").bounding_box()
    for share in (0.24, 0.26, 0.28, 0.30, 0.32):  # over the densest part of this map
        page.mouse.move(box["x"] + share * box["width"], box["y"] + 0.5 * box["height"], steps=3)
        if page.locator(".hover").count():
            break
    page.locator(".hover img").wait_for()
    assert page.locator(".hover").inner_text().startswith("thing ")


def test_a_field_of_colors_is_drawn_in_them_from_the_start(server, open_page):
    page = open_page(server.address)
    ready(page)
    assert page.get_by_label("Color by").input_value() == "color"
    dots = page.locator(".legend li").evaluate_all(
        "rows => rows.map(r => [r.innerText.trim(), getComputedStyle(r.querySelector('i')).backgroundColor])"
    )
    strongest = {"red": 0, "green": 1, "blue": 2}
    for word, color in dots:
        rgb = [int(part) for part in color[4:-1].split(",")]
        if word in strongest:
            assert max(range(3), key=rgb.__getitem__) == strongest[word]
    assert dict(dots)["black"] != dict(dots)["blue"] and len(dots) == 5


def test_near_by_there_are_pictures_and_previews_stay_inside(server, open_page):
    page = open_page(server.address)
    search(page, "#12")
    ready(page)
    plot = page.get_by_test_id("map")
    assert plot.get_attribute("data-pictures") == "0"
    plot.focus()
    for _ in range(7):
        page.keyboard.press("+")
    page.wait_for_function("Number(document.querySelector('[data-testid=map]').dataset.pictures) > 2")
    page.keyboard.press("0")
    frame = plot.bounding_box()
    seen = 0
    for x, y in [(x / 20, y / 12) for y in (0.3, 1, 2, 6, 11, 11.7) for x in range(21)]:
        page.mouse.move(frame["x"] + x * frame["width"], frame["y"] + y * frame["height"])
        if page.locator(".hover").count():
            box = page.locator(".hover").bounding_box()
            seen += 1
            assert frame["x"] - 1 <= box["x"] and box["x"] + box["width"] <= frame["x"] + frame["width"] + 1
            assert frame["y"] - 1 <= box["y"] and box["y"] + box["height"] <= frame["y"] + frame["height"] + 1
    assert seen


def test_the_map_follows_what_was_said(server, open_page):
    page = open_page(server.address)
    first = search(page, "#12")
    ready(page)
    say(page, first[0], False)
    page.get_by_test_id("moved").get_by_text("items moved with what was said").wait_for()
    assert int(page.get_by_test_id("moved").inner_text().split()[0]) > 0
