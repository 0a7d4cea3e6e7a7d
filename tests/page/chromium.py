"""Where a browser is: GRAMIAN_CHROMIUM, the system's chromium, or one from the npm package @sparticuz/chromium.

``python -m tests.page.chromium`` fetches the last one where the others are not there.
"""

import os
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
FETCHED = ROOT / "page" / ".browser" / "chromium"
NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
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
    place.mkdir(parents=True, exist_ok=True)
    run = lambda *command: subprocess.run(command, cwd=place, check=True)  # noqa: E731
    run("npm", "pack", "@sparticuz/chromium", "--silent")
    run("tar", "xzf", str(next(place.glob("sparticuz-chromium-*.tgz"))))
    run("node", "--input-type=module", "-e", UNPACK)
    for archive in ("swiftshader.tar", "al2023.tar", "fonts.tar"):
        run("tar", "xf", archive)
    FETCHED.chmod(0o755)


if __name__ == "__main__":
    if find() is None:
        try:
            fetch()
        except (OSError, subprocess.CalledProcessError, StopIteration) as error:
            print(f"no browser could be had ({error}); its tests are skipped")
    print(find() or "no browser")
