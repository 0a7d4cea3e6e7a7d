"""Where a browser is: GRAMIAN_CHROMIUM, the system's chromium, or one from the npm package @sparticuz/chromium.

``python -m tests.page.chromium`` fetches the last one where the others are not there, and asks apt for the system's
where that does not start and whoever asks may install; with ``quick`` it leaves apt alone.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
STATIC = ROOT / "src" / "gramian" / "service" / "static" / "index.html"
FETCHED = ROOT / "page" / ".browser" / "chromium"
NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
FLAGS = ["--no-sandbox", "--disable-dev-shm-usage"]
UNPACK = """
import { createReadStream, createWriteStream } from "node:fs";
import { createBrotliDecompress } from "node:zlib";
import { pipeline } from "node:stream/promises";
for (const name of ["chromium", "swiftshader.tar", "al2023.tar", "fonts.tar"])
  await pipeline(createReadStream(`package/bin/${name}.br`), createBrotliDecompress(), createWriteStream(name));
"""


def find() -> str | None:
    """The path of a browser, None when there is none."""
    named = os.environ.get("GRAMIAN_CHROMIUM")
    found = named or next(filter(None, map(shutil.which, NAMES)), None)
    return found or (str(FETCHED) if FETCHED.is_file() else None)


def missing() -> str | None:
    """Why the page cannot be shown in a browser here, None when it can."""
    if find_spec("playwright") is None:
        return "playwright is not installed: make browser"
    if not STATIC.is_file():
        return "the page is not built: make page"
    path = find()
    if path is None:
        return "no browser here: install chromium or run make browser"
    return None if runs(path) else f"{Path(path).name} is here and does not start: make browser"


def runs(path: str) -> bool:
    """Whether a browser starts: it says its version."""
    try:
        command = [path, "--version", *FLAGS]
        done = subprocess.run(command, env=environment(), capture_output=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


@contextmanager
def launched() -> Iterator[Any]:
    """A browser of playwright; software draws for it."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        opened = play.chromium.launch(executable_path=find(), args=FLAGS, env=environment())
        yield opened
        opened.close()


def environment() -> dict[str, str]:
    """What the fetched browser needs beside its own file: libraries and fonts."""
    place = FETCHED.parent
    if find() != str(FETCHED):
        return dict(os.environ)
    libraries = f"{place}/lib:{place}:{os.environ.get('LD_LIBRARY_PATH', '')}"
    return {**os.environ, "LD_LIBRARY_PATH": libraries, "FONTCONFIG_PATH": f"{place}/fonts"}


def fetch() -> None:
    """Unpack the browser of the npm package into page/.browser."""
    place = FETCHED.parent
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    run = lambda *command: subprocess.run(command, cwd=place, check=True)  # noqa: E731
    run("npm", "pack", "@sparticuz/chromium", "--silent")
    run("tar", "xzf", str(next(place.glob("sparticuz-chromium-*.tgz"))))
    run("node", "--input-type=module", "-e", UNPACK)
    for archive in ("swiftshader.tar", "al2023.tar", "fonts.tar"):
        run("tar", "xf", archive)
    FETCHED.chmod(0o755)


def install() -> None:
    """The system's chromium by apt, for those who may."""
    command = ["apt-get", "install", "--yes", "--quiet=2", "--no-install-recommends", "chromium"]
    if shutil.which("apt-get") and os.geteuid() == 0:
        subprocess.run(command, env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"}, check=True)


def provide(*attempts: Callable[[], None]) -> str:
    """See that there is a browser that starts, and say which, or why not."""
    for attempt in attempts:
        path = find()
        if path is not None and runs(path):
            return path
        try:
            attempt()
        except (OSError, subprocess.CalledProcessError, StopIteration) as error:
            print(f"{attempt.__name__}: {error}")
    path = find()
    return path if path is not None and runs(path) else "no browser can be had here; its tests are skipped"


if __name__ == "__main__":
    print(provide(fetch) if "quick" in sys.argv else provide(fetch, install))
