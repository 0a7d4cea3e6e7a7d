"""A first visit explains itself, and no search ends in nothing."""

import numpy as np
import pytest

from tests.page.conftest import say, search, shown
from tests.page.test_uploads import painted  # noqa: F401

pytestmark = pytest.mark.browser


def test_a_first_visit_explains_itself(server, open_page):
    page = open_page(server.address)
    welcome = page.get_by_test_id("welcome")
    welcome.wait_for()
    assert "learns what you mean by similar" in welcome.inner_text()
    assert "same color" in page.get_by_test_id("task").inner_text()
    first = server.get("/v1/collections/things/about")["first_at"]
    assert f"0 of {first} clicks to the first learned distance" in welcome.get_by_test_id("progress").inner_text()
    assert page.get_by_test_id("examples").get_by_role("button").count() == 3
    assert len(shown(page)) == 12 and page.get_by_test_id("like").count() == 0
    page.get_by_test_id("examples").get_by_role("button").first.click()
    page.get_by_test_id("like").nth(23).wait_for()
    page.wait_for_function("document.querySelector('[data-testid=search]').value.startsWith('thing ')")
    say(page, shown(page)[0], True)
    page.get_by_test_id("progress").get_by_text(f"1 of {first} clicks").first.wait_for()
    page.get_by_title("Begin anew").click()
    welcome.get_by_text(f"1 of {first} clicks").wait_for()


def test_a_search_that_finds_nothing_says_what_to_do(server, open_page):
    page = open_page(server.address)
    search(page, "#12")
    assert page.get_by_test_id("search").input_value() == "thing 12"
    page.get_by_test_id("search").fill("nowhere to be found")
    page.keyboard.press("Enter")
    page.get_by_test_id("nothing").get_by_text("Nothing is named “nowhere to be found”").wait_for()
    assert shown(page) == []  # the old list is gone
    page.reload()
    page.get_by_test_id("nothing").wait_for()
    page.get_by_test_id("examples").get_by_role("button").last.click()
    page.get_by_test_id("like").first.wait_for()


def test_words_that_name_nothing_are_searched_by_meaning(painted, open_page):  # noqa: F811
    page = open_page(painted.address)
    names = search(page, "green")
    assert "Found by name" in page.get_by_test_id("summary").inner_text() and len(names) == 24
    search(page, "the frog")
    assert "Nothing is named “the frog”: found by meaning" in page.get_by_test_id("summary").inner_text()
    listed = page.locator("[data-testid=result] .name").all_inner_texts()[:10]
    assert np.mean([name.startswith("green") for name in listed]) == 1
    assert page.get_by_test_id("search").input_value() == "the frog"
    page.reload()
    page.get_by_test_id("summary").get_by_text("found by meaning").wait_for()
