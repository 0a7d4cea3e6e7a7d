"""The map: what a lasso holds, colors by a field of meta, pictures on hover, and the same without a mouse."""

import pytest

from tests.page.conftest import search
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
    with page.expect_download() as download:
        page.get_by_role("button", name="Export ids").click()
    ids = [int(line) for line in download.value.path().read_text().split()]
    assert len(set(ids)) == chosen and set(ids) <= set(range(400))
    page.get_by_test_id("selection").get_by_role("button", name="+ like").click()
    page.get_by_test_id("selection").wait_for(state="detached")
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
