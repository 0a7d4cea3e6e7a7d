"""Pictures and texts that are no items: where the collection has an encoder, they are searched with."""

import io

import numpy as np
import pytest

from gramian.service import Space, encoders, sources
from gramian.service.demo import emoji
from tests.page.conftest import Server, search, shown

pytestmark = pytest.mark.browser
WORDS = {"red": "a red tomato", "green": "a green frog", "blue": "the blue ocean"}


@pytest.fixture
def painted(tmp_path):
    """Thirty pictures of three colors with a text each, and the encoder of the emoji."""
    image = pytest.importorskip("PIL.Image", reason="pictures need Pillow: make browser")
    if encoders.words() is None:
        pytest.skip("texts need word vectors: make browser")
    names = [word for word in WORDS for _ in range(10)]
    pictures = [png(image, name, 8 + i) for i, name in enumerate(names)]
    X, encoder = emoji._features([encoders.read_picture(p) for p in pictures], [WORDS[name] for name in names])
    folder = tmp_path / "space"
    with Space(folder, learning=False) as space:
        space.create("painted", X.shape[1])
        space.add("painted", X, meta=[{"name": f"{n} {i}", "image": f"{i}.png"} for i, n in enumerate(names)])
    (folder / "pictures").mkdir(exist_ok=True)
    for i, picture in enumerate(pictures):
        (folder / "pictures" / f"{i}.png").write_bytes(picture)
    sources.describe(folder, "painted", ["x"] * X.shape[1], encoder)
    served = Server(folder)
    yield served
    served.stop()


def png(image, color, inset):
    picture = image.new("RGBA", (64, 64), (0, 0, 0, 0))
    picture.paste(color, (inset, inset, 64 - inset, 64 - inset))
    content = io.BytesIO()
    picture.save(content, "png")
    return content.getvalue()


def kinds(page, label):
    page.locator("em", has_text=label).first.wait_for()
    return np.array(page.locator("[data-testid=result] .name").all_inner_texts()[:10])


def test_a_picture_and_a_text_of_ones_own_are_searched(painted, open_page):
    image = pytest.importorskip("PIL.Image")
    page = open_page(painted.address)
    search(page, "#3")
    file = {"name": "mine.png", "mimeType": "image/png", "buffer": png(image, "green", 20)}
    page.get_by_test_id("upload").set_input_files(file)
    assert all(name.startswith("green") for name in kinds(page, "mine.png"))
    item = shown(page)[0]
    page.locator(f"[data-id='{item}']").get_by_test_id("like").click()  # a query that is no item can be taught too
    page.get_by_test_id("activity").get_by_text("a vector").wait_for()
    text = {"name": "note.txt", "mimeType": "text/plain", "buffer": WORDS["blue"].encode()}
    page.get_by_test_id("upload").set_input_files(text)
    assert all(name.startswith("blue") for name in kinds(page, "note.txt"))
    page.get_by_test_id("search").fill("red tomato")
    page.get_by_role("button", name="By meaning").click()
    assert all(name.startswith("red") for name in kinds(page, "red tomato"))
    page.get_by_test_id("upload").set_input_files({**file, "buffer": b"no picture"})
    page.get_by_text("not a picture").wait_for()
