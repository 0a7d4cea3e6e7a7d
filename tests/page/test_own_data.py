"""Data of one's own, opened as a notebook does: reasons that people can read, and no space left behind."""

import numpy as np
import pytest

import gramian as gm
from tests.page.conftest import search

pytestmark = pytest.mark.browser


def test_shown_embeddings_say_why_by_what_was_liked(open_page):
    rng = np.random.default_rng(0)
    kind = np.arange(120) % 4
    X = rng.standard_normal((4, 32))[kind] + 0.3 * rng.standard_normal((120, 32))
    meta = {
        "name": [f"text {i}" for i in range(120)],
        "section": np.array(["law", "art", "math", "food"])[kind].tolist(),
    }
    space = gm.service.show(X, meta, browser=False)
    folder = space.store.folder
    try:
        page = open_page(space.address)
        search(page, "text 8")
        card = page.locator('[data-testid=result]:not([data-id="8"])').first
        liked = card.get_attribute("data-id")
        card.get_by_test_id("like").click()
        page.mouse.move(0, 0)
        page.wait_for_timeout(1200)
        page.locator(f'[data-testid=result]:not([data-id="{liked}"]):not([data-id="8"])').first.get_by_test_id(
            "why"
        ).click()
        page.get_by_test_id("reasons").wait_for()
        said = page.get_by_role("dialog").inner_text()
        assert f"You liked text {liked}" in said and "Both have section law" in said and "feature" not in said
    finally:
        space.close()
    assert not folder.exists()
