"""What answers, what is on trial, and whether it was good, in plain words; what changed is in sight."""

import pytest

from tests.page.conftest import say, search, shown
from tests.page.test_first_minute import color_of

pytestmark = pytest.mark.browser
JARGON = ("gmml", "score ", "distance 0", "distance 1", " : plain", "#12")
SIZES = {"wide": (1280, 800), "phone": (390, 844), "twice": (640, 400)}
SMALLEST = 40


def teach(page, server, query, clicks):
    wanted = color_of(server, query)
    said = set()
    search(page, f"#{query}")
    for _ in range(clicks):
        item = next(i for i in shown(page) if i not in said)
        said.add(item)
        say(page, item, color_of(server, item) == wanted)


def test_a_trial_and_its_outcome_are_said_in_plain_words(server, open_page):
    page = open_page(server.address)
    score = page.get_by_test_id("score")
    score.get_by_text("answered by the features as they are").wait_for()
    teach(page, server, 12, 4)
    page.get_by_test_id("learn").click()
    trial = page.get_by_test_id("trial")
    trial.get_by_text("a distance learned from 4 clicks").wait_for()
    teach(page, server, 30, 6)
    if "told the two apart yet" not in trial.inner_text():
        assert "between" in trial.get_by_role("img").get_attribute("aria-label")
        assert any(word in trial.inner_text() for word in ("Too early to tell", "It is ahead", "It is behind"))
    page.locator("[data-version='1']").get_by_test_id("activate").click()
    score.get_by_text("Was it good?").wait_for()
    teach(page, server, 45, 5)
    score.get_by_text("Since it is in use").wait_for()
    text = score.inner_text()
    assert "of 5 judged results were liked, before" in text and "difference" in text or "than before" in text
    everything = page.locator("body").inner_text()
    assert not [word for word in JARGON if word in everything]


def test_what_changed_is_in_sight_after_a_click(server, open_page):
    for name, (width, height) in SIZES.items():
        page = open_page(server.address)
        page.set_viewport_size({"width": width, "height": height})
        first = search(page, "#12")
        last = page.locator(f"[data-id='{first[15]}'].result")
        last.scroll_into_view_if_needed()
        say(page, first[15], False)
        page.mouse.move(3, 3)
        told = page.get_by_test_id("changed").get_by_text("places changed")
        box = told.bounding_box()
        assert box["y"] >= 0 and box["y"] + box["height"] <= height, name
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), name
    page.get_by_role("button", name="Side by side").click()
    page.get_by_role("heading", name="After").wait_for()


def test_the_deciding_word_is_whole_and_what_is_touched_is_large(server, open_page):
    page = open_page(server.address)
    page.set_viewport_size({"width": 390, "height": 844})
    say(page, search(page, "#12")[0], True)
    cut = "facts => facts.filter(f => f.scrollWidth > f.clientWidth || getComputedStyle(f).textOverflow === 'ellipsis')"
    assert page.locator(".facts").evaluate_all(f"facts => ({cut})(facts).length") == 0
    sizes = """buttons => buttons.filter(b => b.offsetParent && !b.matches('.link, .open'))
      .map(b => [b.getAttribute('aria-label') ?? b.innerText, b.offsetWidth, b.offsetHeight])"""
    small = [row for row in page.locator("button, select, a.button").evaluate_all(sizes) if min(row[1:]) < SMALLEST]
    assert not small


def test_selects_are_ours_and_cards_do_not_all_weigh_the_same(server, open_page):
    page = open_page(server.address)
    search(page, "#12")
    assert page.locator("select").first.evaluate("s => getComputedStyle(s).appearance") in ("base-select", "none")
    page.mouse.move(3, 3)
    shadow = page.get_by_test_id("result").evaluate_all("cards => cards.map(c => getComputedStyle(c).boxShadow)")
    assert set(shadow) == {"none"}  # one card stands out beside the results: the map
    columns = page.locator("ol.grid").evaluate("g => getComputedStyle(g).gridTemplateColumns.split(' ').length")
    assert 24 % columns == 0  # no hole at the end
