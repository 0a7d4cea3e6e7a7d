"""A server in a process of its own, and pages of a real browser in front of it."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import numpy as np
import pytest

from gramian.service import Space, sources
from gramian.service.demo import digits
from tests.page import chromium

ROOT = Path(__file__).parents[2]
COLORS = ("red", "green", "blue", "yellow", "black")


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Server:
    """``gramian serve`` on a space, which can be killed and started again at the same port."""

    def __init__(self, folder, *arguments):
        self.folder = folder
        self.arguments = arguments
        self.port = free_port()
        self.address = f"http://127.0.0.1:{self.port}"
        self.start()

    def start(self):
        command = [sys.executable, "-m", "gramian", "serve", "--no-browser", "--port", str(self.port)]
        command += ["--space", str(self.folder), *self.arguments]
        environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
        self.process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
        for _ in range(1800):
            try:
                urllib.request.urlopen(f"{self.address}/readyz", timeout=1)
                return
            except OSError:
                time.sleep(0.1)
        raise RuntimeError("the server did not start")

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self):
        self.process.terminate()
        self.process.wait(120)

    def get(self, path):
        return json.load(urllib.request.urlopen(f"{self.address}{path}"))

    def post(self, path, body):
        request = urllib.request.Request(f"{self.address}{path}", json.dumps(body).encode())
        request.add_header("Content-Type", "application/json")
        return json.load(urllib.request.urlopen(request))


@pytest.fixture(scope="session")
def browser():
    """A browser; software draws for it, as on a machine without a graphics card."""
    missing = chromium.missing()
    if missing:
        pytest.skip(missing)
    with chromium.launched() as opened:
        yield opened


@pytest.fixture
def open_page(browser):
    """Open an address in a browser session of its own; at the end nothing may have gone wrong in any of them."""
    contexts, errors = [], []

    def opened(address, **options):
        context = browser.new_context(viewport={"width": 1360, "height": 1000}, **options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(60_000)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(address)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert not errors


def colored_space(folder, n=400, meta=None):
    """Items with pictures of five grays: near by four loud features, of one color by four quiet ones."""
    rng = np.random.default_rng(3)
    color, kind = rng.integers(0, 5, n), rng.integers(0, 5, n)
    X = np.hstack([1.0 * np.eye(5)[color], 1.6 * np.eye(5)[kind]]) + 0.15 * rng.standard_normal((n, 10))
    rows = [{"name": f"thing {i}", "color": COLORS[c], "image": f"{c}.png"} for i, c in enumerate(color)]
    for i, more in (meta or {}).items():
        rows[i] |= more
    with Space(folder, learning=False) as space:
        space.create("things", 10)
        space.add("things", X, list(range(n)), meta=rows)
    (folder / "pictures").mkdir()
    for c in range(5):
        (folder / "pictures" / f"{c}.png").write_bytes(digits.png(np.full((16, 16), 40.0 * c + 30)))
    sources.describe(folder, "things", ["color"] * 5 + ["kind"] * 5)
    return folder


@pytest.fixture
def server(tmp_path):
    served = Server(colored_space(tmp_path / "space"))
    yield served
    served.stop()


def shown(page):
    """Ids of the results on the page, in their order."""
    return [int(i) for i in page.get_by_test_id("result").evaluate_all("cards => cards.map(c => c.dataset.id)")]


def search(page, words):
    """Type and enter, and wait for the answer."""
    page.get_by_test_id("result").first.wait_for()
    page.evaluate("delete document.documentElement.dataset.openMs")
    page.get_by_test_id("search").fill(words)
    page.keyboard.press("Enter")
    page.wait_for_function("document.documentElement.dataset.openMs")
    return shown(page)


def say(page, item, like):
    """Click like or dislike of a result, take the pointer away, and wait until the list is ranked anew."""
    page.evaluate("delete document.documentElement.dataset.rankMs")
    card = page.locator(f"[data-testid=result][data-id='{item}']")
    card.get_by_test_id("like" if like else "dislike").click()
    page.mouse.move(3, 3)
    page.wait_for_function("document.documentElement.dataset.rankMs")
    return shown(page)


def count(text):
    """The first number in a text."""
    return int(re.search(r"[\d,]+", text).group().replace(",", ""))
