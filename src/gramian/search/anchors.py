"""Metrics that codes were made for: their hash functions, and how far the live metric has gone since."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gramian import linalg
from gramian.metrics import Metric
from gramian.search.candidates import Candidates
from gramian.search.encoding import Asked, Encoder
from gramian.search.hash_forms import Form, form
from gramian.search.hash_search import SPARE
from gramian.search.items import Items
from gramian.search.orders import Lookup

WIDER = 40, 32
"""When a share f of the bits is stale, k(1 + 40 f) + 32 neighbors under the anchor are ranked by the live metric."""
PROBES, PROBED = 32, 128
"""Bits and items that the stale share is read from."""


class Recent:
    """The last few values that were computed from some objects, which are known by who they are."""

    def __init__(self, most: int = 4) -> None:
        self.most = most
        self.kept: dict[tuple[int, ...], tuple[tuple[Any, ...], Any]] = {}

    def get(self, objects: tuple[Any, ...], compute: Callable[[], Any]) -> Any:
        """The value of these objects; two threads may compute it at once."""
        key = tuple(map(id, objects))
        held = self.kept.get(key)
        if held is None or any(one is not other for one, other in zip(held[0], objects)):
            held = objects, compute()
            self.kept = {**dict(list(self.kept.items())[1 - self.most :]), key: held}
        return held[1]


class Anchors:
    """Hash functions of a metric that is being learned, at any time of it: the seed is the same, so bits may stay."""

    def __init__(self, seed: int, n_bits: int, limits: np.ndarray, lookup: Lookup) -> None:
        self.seed = seed
        self.n_bits = n_bits
        self.limits = limits
        self.lookup = lookup
        self.encoders = Recent()
        self.measured = Recent()

    def form(self, metric: Metric, points: Any, n_bits: int | None = None) -> Form:
        """The metric as hashing sees it; its own factor, which moves with it, where that is square."""
        L = metric.components
        return form(metric, points, self.seed, n_bits or self.n_bits, L if L.shape[0] == L.shape[1] else None)

    def encoder(self, metric: Metric, points: Any, settled: dict[str, Any]) -> Encoder:
        """The hash functions of an anchor; the last few are kept."""
        make = lambda: centered(self.form(metric, points), settled)  # noqa: E731
        return self.encoders.get((metric, settled["center"]), make)

    def stale(self, anchor: Metric, live: Metric, items: Items) -> float:
        """Share of bits that differ between two metrics, of some bits of some items; −1 between equal metrics."""
        if anchor is live or np.array_equal(anchor.components, live.components):
            return -1.0

        def measure() -> float:
            some = linalg.take(items["points"], linalg.spread(items.n, PROBED))
            forms = [self.form(metric, some, PROBES) for metric in (anchor, live)]
            one, two = (centered(seen, items.settled).hash(some) for seen in forms)
            return float(np.bitwise_count(one ^ two).mean() / 8)

        return self.measured.get((anchor, live), measure)

    def part(
        self, items: Items, live: Metric, k: int, Q: Any, part: Items, anchor: Metric, first: int, mask: Any
    ) -> "Part":
        """Candidates among items that stand at one anchor, more of them the further the live metric has gone."""
        stale = self.stale(anchor, live, items)
        wide = min(k if stale < 0 else int(k * (1 + WIDER[0] * stale)) + WIDER[1], part.n)
        encoder = self.encoder(anchor, part["points"], items.settled)
        candidates = Candidates(part, encoder, False, mask)
        asked = encoder.ask(Q, candidates.dtype, False)
        near, D, seen = candidates.search(asked, wide, min(wide + SPARE, part.n), self.limits, self.lookup)
        near = np.where(np.isfinite(D), near + first, -1)
        return Part(candidates, asked, encoder.form.view.whole, first, near, seen, stale, self.limits)


def centered(seen: Form, settled: dict[str, Any]) -> Encoder:
    """A form around the settled center; in coordinates that have grown since, where the center has more."""
    center, mean = settled["center"], settled["mean"]
    grown = mean is not None and len(center) < seen.metric.coordinates.size
    return Encoder(seen, seen.rows(mean)[0] if grown else center, mean)


@dataclass(frozen=True, eq=False)
class Part:
    """Candidates of all queries among the items from position ``first`` on."""

    candidates: Candidates
    asked: Asked
    whole: bool
    first: int
    near: np.ndarray
    seen: np.ndarray
    stale: float
    limits: np.ndarray

    def within(self, q: int, bound: float) -> np.ndarray:
        """Items that are plausible within a squared distance of query q, with room for what is stale."""
        wider = bound * (1 + 10 * max(self.stale, 0.0))
        return self.first + self.candidates.within(self.asked, q, wider, self.limits)
