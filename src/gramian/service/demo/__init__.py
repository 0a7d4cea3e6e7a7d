"""Demonstrations: collections made at set-up from packages that registries carry; none of their content is ours."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from gramian.service import sources
from gramian.service.demo import digits, emoji
from gramian.service.sources import Source, Unavailable
from gramian.service.space import Space

KINDS: dict[str, Callable[[Callable[[int, int], None]], Source]] = {"emoji": emoji.make, "digits": digits.make}
"""What can be made, and by which function of ``step(done, of)``."""

__all__ = ["KINDS", "Unavailable", "fill"]


def fill(space: Space, kind: str, step: Callable[[str, int, int], None] = lambda doing, done, of: None) -> str:
    """Put a demonstration into a space as a collection of its name; one that is there is left alone.

    ``step`` hears what is being done (``making``, ``adding``), how far it is, and of how many. Returns a sentence about
    where the demonstration came from. Raises :class:`Unavailable` where its source cannot be had.
    """
    view = space.snapshot.collections.get(kind)
    if view is not None and len(view.ids) and kind not in sources.unfinished(space):
        return f"{kind} are there already."
    source = KINDS[kind](partial(step, "making"))
    place = space.store.folder / "pictures"
    place.mkdir(parents=True, exist_ok=True)
    for name, content in source.pictures.items():
        (place / name).write_bytes(content.read_bytes() if isinstance(content, Path) else content)
    added = 0

    def adding(count: int) -> None:
        nonlocal added
        added += count
        step("adding", added, len(source.X))

    sources.fill(space, kind, source, adding)
    (space.store.folder / f"NOTICE-{kind}.txt").write_text(source.notice, encoding="utf-8")
    return source.origin
