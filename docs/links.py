"""Run ``python docs/links.py docs/_build/html``: every link inside of the built site leads to a page and an anchor."""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """Anchors and links of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        """Note what can be linked to, and what is."""
        found = dict(attrs)
        self.anchors |= {found[key] for key in ("id", "name") if found.get(key)}
        self.links += [found[key] for key in ("href", "src") if found.get(key)]


def dead(site: Path) -> list[str]:
    """Links that lead nowhere, each with its page."""
    site = site.resolve()
    pages = {path: Page(path) for path in site.rglob("*.html") if "_static" not in path.parts}
    if not pages:
        raise SystemExit(f"no pages in {site}")
    found = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc or link == "#":
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            known = pages[target].anchors if target in pages else {unquote(parts.fragment)}
            if not target.exists() or (parts.fragment and unquote(parts.fragment) not in known):
                found.append(f"{path.relative_to(site)}: {link}")
    return found


if __name__ == "__main__":
    gone = dead(Path(sys.argv[1]))
    print("\n".join(gone) or "all links lead somewhere")
    sys.exit(bool(gone))
