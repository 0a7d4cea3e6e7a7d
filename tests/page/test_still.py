"""The list holds still under the pointer, a click is said once, and one undo takes back one click."""

import pytest

from tests.page.conftest import say, search, shown

pytestmark = pytest.mark.browser
WAITING = "document.documentElement.dataset.rankMs === undefined"


def spot(page, item, button="like"):
    box = page.locator(f"[data-testid=result][data-id='{item}']").get_by_test_id(button).bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def judged(server, like=True):
    said = server.get("/v1/collections/things/feedback")["feedback"]
    return [click["item"] for click in said if click["like"] == like and not click["undone"]]


def test_three_clicks_on_one_spot_judge_one_item(server, open_page):
    page = open_page(server.address)
    first = search(page, "#12")
    page.mouse.move(*spot(page, first[9]))
    for _ in range(3):
        page.mouse.down()
        page.mouse.up()
        page.wait_for_timeout(250)
        assert shown(page) == first  # it does not move between the clicks
    page.wait_for_function("document.documentElement.dataset.rankMs")
    assert shown(page) != first
    page.wait_for_timeout(300)
    assert judged(server) == [first[9]]


def test_a_late_second_click_on_the_spot_judges_no_other_item(server, open_page):
    page = open_page(server.address)
    first = search(page, "#12")
    page.mouse.move(*spot(page, first[9], "dislike"))
    page.mouse.down()
    page.mouse.up()
    page.wait_for_function("document.documentElement.dataset.rankMs")
    assert shown(page)[9] != first[9]
    page.wait_for_timeout(150)
    page.mouse.down()
    page.mouse.up()
    page.wait_for_timeout(400)
    assert judged(server, like=False) == [first[9]]


def test_the_order_changes_once_the_pointer_has_left(server, open_page):
    page = open_page(server.address)
    first = search(page, "#12")
    page.mouse.move(*spot(page, first[9]))
    page.mouse.down()
    page.mouse.up()
    page.wait_for_timeout(200)
    assert page.evaluate(WAITING) and shown(page) == first
    page.mouse.move(5, 5)
    page.wait_for_timeout(100)  # far less than the rest of the 600 ms
    assert not page.evaluate(WAITING) and shown(page) != first


def test_what_is_under_the_pointer_does_not_look_liked(server, open_page):
    page = open_page(server.address)
    first = search(page, "#12")
    say(page, first[0], True)
    look = """card => [card, card.querySelector('[data-testid=like]')].map(part => getComputedStyle(part))
      .map((style, i) => (i ? style.backgroundColor : style.boxShadow))"""
    liked = page.locator(f"[data-id='{first[0]}'].result")
    other = page.locator(f"[data-id='{shown(page)[5]}'].result")
    page.wait_for_timeout(900)
    other.get_by_test_id("like").hover()
    assert set(liked.evaluate(look)).isdisjoint(other.evaluate(look))


def test_one_undo_takes_back_one_click(server, open_page):
    page = open_page(server.address)
    first = search(page, "#12")
    say(page, first[3], True)
    say(page, first[3], False)
    page.keyboard.press("Control+z")
    page.locator(f"[data-id='{first[3]}'] [data-testid=like][aria-pressed=true]").wait_for()
    page.wait_for_timeout(300)
    assert judged(server) == [first[3]] and judged(server, like=False) == []
    page.keyboard.press("Control+z")
    page.locator("[data-testid=undo][disabled]").wait_for()
    page.wait_for_timeout(300)
    assert judged(server) == judged(server, like=False) == []
