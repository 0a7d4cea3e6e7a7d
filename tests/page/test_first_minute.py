"""The first minute of a person in front of the page, by mouse and by keyboard alone."""

import pytest

from tests.page.conftest import COLORS, Server, colored_space, say, search, shown

pytestmark = pytest.mark.browser


def color(page, item):
    return page.locator(f"[data-testid=result][data-id='{item}'] .facts").inner_text()


def test_the_first_minute(server, open_page):
    page = open_page(server.address)
    first = search(page, "#12")
    assert len(first) == 24 and 12 not in first
    wanted = server.get("/v1/collections/things/items/12")["meta"]["color"]
    orders = [first]
    said = set()
    for like in (False, False, True, True, True):  # of what is on the page at that moment
        item = next(i for i in orders[-1] if i not in said and (color(page, i) == wanted) == like)
        orders.append(say(page, item, like))
        said.add(item)
    right = [sum(color_of(server, i) == wanted for i in ids) for ids in (first, orders[-1])]
    assert orders[-1] != first and right[1] > right[0]
    assert "places changed" in page.get_by_test_id("changed").inner_text()
    page.get_by_test_id("map").and_(page.locator("[data-moves]:not([data-moves='0'])")).wait_for()
    assert "5 clicks so far" in page.get_by_test_id("score").inner_text()
    for before in reversed(orders[:-1]):
        page.evaluate("delete document.documentElement.dataset.rankMs")
        page.get_by_test_id("undo").click()
        page.wait_for_function("document.documentElement.dataset.rankMs")
        assert shown(page) == before
    assert page.get_by_test_id("undo").is_disabled()
    page.get_by_text("(taken back)").nth(4).wait_for()


def color_of(server, item):
    return server.get(f"/v1/collections/things/items/{item}")["meta"]["color"]


def test_words_numbers_and_vectors_are_searched(server, open_page):
    page = open_page(server.address)
    assert search(page, "thing 7")[0] == 7
    assert "are named so" in page.locator(".query").inner_text()
    vector = server.get("/v1/collections/things/items/9")["x"]
    assert search(page, ", ".join(map(str, vector)))[0] == 9
    assert search(page, "#9") != [] and 9 not in shown(page)
    page.get_by_test_id("search").fill("nowhere to be found")
    page.keyboard.press("Enter")
    page.get_by_text("Nothing is named").wait_for()


def test_all_is_done_by_keyboard(server, open_page):
    page = open_page(server.address)
    page.get_by_test_id("result").first.wait_for()
    page.keyboard.press("/")
    page.keyboard.type("#30")
    page.keyboard.press("Enter")
    page.locator("em", has_text="thing 30").wait_for()
    first = shown(page)
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.dataset.testid") == "result":
            break
    assert page.evaluate("document.activeElement.dataset.id") == str(first[0])
    page.keyboard.press("ArrowRight")
    page.keyboard.press("+")
    liked = page.locator(f"[data-id='{first[1]}'] [data-testid=like][aria-pressed=true]")
    liked.wait_for()
    page.wait_for_function("document.documentElement.dataset.rankMs")
    assert page.evaluate("document.activeElement.dataset.id") == str(first[1])  # the card keeps the keyboard
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.dataset.testid") == "like"
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.dataset.testid") == "dislike"
    page.keyboard.press("-")
    page.locator(f"[data-id='{first[1]}'] [data-testid=dislike][aria-pressed=true]").wait_for()
    page.keyboard.press("Control+z")  # takes back one click: the like stands again
    liked.wait_for()
    page.keyboard.press("Control+z")
    page.locator("[data-testid=undo][disabled]").wait_for()
    assert page.locator("[aria-pressed=true][data-testid=like]").count() == 0
    page.locator(f"[data-id='{first[2]}']").focus()
    page.keyboard.press("Enter")
    page.locator("em", has_text=f"thing {first[2]}").first.wait_for()
    page.get_by_test_id("map").focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("+")


def test_reload_and_back_keep_what_was_said(server, open_page):
    page = open_page(server.address)
    first = search(page, "#5")
    ranked = say(page, first[3], True)
    ranked = say(page, first[4], False) or ranked
    page.wait_for_function("history.state.clicks.length === 2")
    page.reload()
    page.locator("[aria-pressed=true]").nth(1).wait_for()
    page.wait_for_function("document.documentElement.dataset.rankMs")
    assert shown(page) == ranked
    search(page, "#40")
    assert page.locator("[aria-pressed=true][data-testid=like]").count() == 0
    page.go_back()
    page.locator("[aria-pressed=true]").nth(1).wait_for()
    page.wait_for_function("document.querySelector('[data-testid=search]').value === 'thing 5'")  # a name, not a number
    page.wait_for_function(f"document.querySelector('[data-testid=result]').dataset.id === '{ranked[0]}'")
    assert shown(page) == ranked


def test_why_says_what_sets_two_items_apart(server, open_page):
    page = open_page(server.address)
    first = search(page, "#12")
    page.locator(f"[data-id='{first[0]}']").get_by_test_id("why").click()
    table = page.locator("dialog table")
    table.wait_for()
    assert {"color", "kind"} == set(table.locator("th").all_inner_texts())
    page.keyboard.press("Escape")
    page.locator("dialog").wait_for(state="detached")


def test_an_empty_space_opens_with_digits(tmp_path, open_page):
    served = Server(tmp_path / "empty")
    try:
        assert served.get("/v1/collections")["seq"] == 0
        page = open_page(served.address)
        page.get_by_text("handwritten digits").wait_for()
        page.get_by_test_id("welcome").get_by_text("what you mean by similar").wait_for()
        listed = [served.get(f"/v1/collections/digits/items/{i}")["meta"]["digit"] for i in shown(page)]
        assert len(listed) == 12 and len(set(listed)) == 10  # all kinds, and no question yet
        assert page.get_by_test_id("like").count() == 0
        assert served.get("/v1/collections/digits")["items"] == 1797
    finally:
        served.stop()


def test_a_script_in_meta_is_shown_as_text(tmp_path, open_page):
    evil = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"
    served = Server(colored_space(tmp_path / "space", meta={3: {"name": evil, "color": "<b>red</b>"}}))
    try:
        page = open_page(served.address)
        assert 3 in search(page, "onerror")
        card = page.locator("[data-testid=result][data-id='3']")
        assert card.locator("script, b, .name img").count() == 0 and "<img src=x" in card.inner_text()
        say(page, 3, True)
        page.get_by_test_id("activity").get_by_text("<img src=x").first.wait_for()
        search(page, "#3")
        page.wait_for_timeout(300)
        assert page.title() == "gramian" and set(COLORS)
    finally:
        served.stop()
