"""What is committed of the page: little, ours, and without the name of a registry."""

import json
from pathlib import Path

PAGE = Path(__file__).parents[2] / "page"


def test_the_lock_file_names_no_registry():
    lock = json.loads((PAGE / "package-lock.json").read_text(encoding="utf-8"))
    assert len(lock["packages"]) > 1
    assert not any("resolved" in package for package in lock["packages"].values())
    assert "omit-lockfile-registry-resolved=true" in (PAGE / ".npmrc").read_text(encoding="utf-8")


def test_the_page_stays_small():
    ours = [path for path in PAGE.rglob("*") if path.suffix in (".js", ".jsx", ".css", ".html")]
    ours = [path for path in ours if "node_modules" not in path.parts and ".browser" not in path.parts]
    assert sum(len(path.read_text(encoding="utf-8").splitlines()) for path in ours) < 2600
