"""What a person does in front of the page, with a watch in the page itself."""

import time
from typing import Any

from tests.page.conftest import say, search, shown

WATCH = """() => {
  const order = () => [...document.querySelectorAll('[data-testid=result]')].map(card => card.dataset.id).join();
  const watch = window.watch = { took: [] };
  const begin = () => { watch.start = performance.now(); watch.before = order(); };
  addEventListener('keydown', event => event.key === 'Enter' && begin(), true);
  const said = target => target.closest('[data-testid=like], [data-testid=dislike]');
  addEventListener('click', event => said(event.target) && begin(), true);
  new MutationObserver(() => {
    if (watch.start === undefined || order() === watch.before) return;
    const start = watch.start;
    watch.start = undefined;
    requestAnimationFrame(() => setTimeout(() => watch.took.push(performance.now() - start)));
  }).observe(document.body, { subtree: true, childList: true, attributes: true, attributeFilter: ['data-id'] });
}"""
"""From a key or a click to the moment after the frame that shows another order."""
FRAMES = """() => new Promise(done => {
  const map = document.querySelector('[data-testid=map]');
  const first = Number(map.dataset.frames), start = performance.now();
  setTimeout(() => done((Number(map.dataset.frames) - first) / (performance.now() - start) * 1000), 800);
})"""
"""Frames a second over the eight tenths of a second that a move takes."""


def opened(browser: Any, address: str) -> Any:
    """A tab of a person of their own, with results in it."""
    page = browser.new_context(viewport={"width": 1360, "height": 1000}).new_page()
    page.goto(address)
    page.get_by_test_id("result").first.wait_for()
    return page


def visits(page: Any, queries: list[int]) -> tuple[list[float], list[float]]:
    """Milliseconds of a search for each query, and of three clicks on its results."""
    page.evaluate(WATCH)
    searches, rankings = [], []
    for query in queries:
        search(page, f"#{query}")
        searches += taken(page)
        for like in (True, False, True):
            say(page, unjudged(page, skip=2), like)
            rankings += taken(page)
    return searches[1:], rankings[1:]


def taken(page: Any) -> list[float]:
    """What the watch has measured since it was last read; nothing where the order stayed."""
    page.wait_for_timeout(400)  # for the map too, which moves after a click
    return page.evaluate("watch.took.splice(0)")


def echoes(one: Any, other: Any, count: int) -> list[float]:
    """Milliseconds from a click of one person to the sentence on the page of another."""
    found = []
    search(one, "#5")
    newest = other.locator("[data-testid=activity] li").first
    for _ in range(count):
        before = newest.get_attribute("data-seq")
        card = one.locator(f"[data-testid=result][data-id='{unjudged(one)}']")
        start = time.perf_counter()
        card.get_by_test_id("like").click(no_wait_after=True)
        other.wait_for_function(f"document.querySelector('[data-testid=activity] li').dataset.seq > {before}")
        found.append(1000 * (time.perf_counter() - start))
        one.wait_for_timeout(300)
    return found


def unjudged(page: Any, skip: int = 0) -> int:
    """The best result that nothing was said of yet."""
    judged = page.evaluate("history.state.clicks.map(click => click.item)")
    return next(i for i in shown(page)[skip:] if i not in judged)


def load(browser: Any, address: str) -> float:
    """Seconds from the address to results and all points of the map on the page."""
    start = time.perf_counter()
    page = opened(browser, address)
    page.locator("[data-testid=map][data-version]").wait_for()
    seconds = time.perf_counter() - start
    page.context.close()
    return seconds


def frames(page: Any, count: int) -> list[float]:
    """Frames a second after each of some clicks, while the map moves."""
    found = []
    for _ in range(count):
        moves = int(page.get_by_test_id("map").get_attribute("data-moves"))
        say(page, unjudged(page), len(found) % 2 == 0)
        page.locator(f"[data-testid=map][data-moves='{moves + 1}']").wait_for()
        found.append(page.evaluate(FRAMES))
        page.wait_for_timeout(500)
    return found
