"""A hundred thousand points, and what axe says of every state of the page: nothing."""

import time

import numpy as np
import pytest

from gramian.service import Space
from tests.page.conftest import ROOT, Server, say, search

pytestmark = pytest.mark.browser
AXE = ROOT / "page" / "node_modules" / "axe-core" / "axe.min.js"
N, D = 100_000, 16
FRAMES = """() => new Promise(done => {
  const map = document.querySelector('[data-testid=map]');
  const first = Number(map.dataset.frames), start = performance.now();
  setTimeout(() => done((Number(map.dataset.frames) - first) / (performance.now() - start) * 1000), 800);
})"""


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    folder = tmp_path_factory.mktemp("large") / "space"
    rng = np.random.default_rng(0)
    centers = rng.standard_normal((12, D))
    kind = rng.integers(0, 12, N)
    X = (centers[kind] + 0.4 * rng.standard_normal((N, D))).astype(np.float32)
    with Space(folder, learning=False) as space:
        space.create("many", D)
        space.add("many", X, list(range(N)), meta=[{"name": f"point {i}", "kind": int(k)} for i, k in enumerate(kind)])
    served = Server(folder)
    yield served
    served.stop()


def test_a_hundred_thousand_points_load_and_move(large, open_page):
    start = time.perf_counter()
    page = open_page(large.address)
    page.locator(f"[data-testid=map][data-points='{N}'][data-version]").wait_for()
    page.get_by_test_id("result").first.wait_for()
    loaded = time.perf_counter() - start
    page.wait_for_timeout(500)
    search(page, "#12")
    first = page.get_by_test_id("result").first.get_attribute("data-id")
    say(page, int(first), False)
    page.locator("[data-testid=map][data-moves='1']").wait_for()
    frames = page.evaluate(FRAMES)
    opened, ranked = (page.evaluate(f"document.documentElement.dataset.{name}") for name in ("openMs", "rankMs"))
    print(f"{N:,} points: loaded in {loaded:.2f} s, {frames:.0f} frames a second while they move, ", end="")
    print(f"results after {opened} ms, ranked anew after {ranked} ms")
    assert page.locator("[data-testid=map]").get_attribute("data-points") == str(N)


LOOKS = (("light", 1280, 800), ("dark", 1280, 800), ("light", 390, 844), ("dark", 390, 844), ("light", 640, 400))


def test_axe_finds_nothing(server, open_page):
    if not AXE.is_file():
        pytest.skip("axe-core is not installed: make page")
    for scheme, width, height in LOOKS:
        page = open_page(server.address, color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": height})
        page.get_by_test_id("welcome").wait_for()
        page.evaluate(AXE.read_text(encoding="utf-8"))
        assert violations(page) == []
        first = search(page, "#12")
        say(page, first[0], True)
        say(page, first[5], False)
        page.mouse.move(3, 3)
        page.wait_for_timeout(400)
        assert violations(page) == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        page.get_by_test_id("why").first.click()
        page.locator("dialog table").wait_for()
        assert violations(page, "dialog") == []
        page.keyboard.press("Escape")
        page.get_by_test_id("search").fill("nowhere to be found")
        page.keyboard.press("Enter")
        page.get_by_test_id("nothing").wait_for()
        assert violations(page) == []


def violations(page, inside="document"):
    """What axe has to say, of any impact."""
    place = "document" if inside == "document" else f"'{inside}'"
    found = page.evaluate(f"axe.run({place})")["violations"]
    return [(v["id"], v["impact"], [n["html"][:150] for n in v["nodes"]][:3]) for v in found]


def test_nothing_is_asked_of_other_machines(server, open_page):
    page = open_page(server.address)
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.reload()
    search(page, "#12")
    assert asked and all(url.startswith((server.address, "data:", "blob:")) for url in asked)
