"""Numbers about a running space in the text format of Prometheus."""

import bisect
import resource
import threading
import time
from typing import Any

from gramian.service import duels
from gramian.service.space import Space

EDGES = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
"""Upper ends of the classes of seconds."""


class Clock:
    """An ASGI application that times another one, by the kind of request."""

    def __init__(self, app: Any) -> None:
        self.app = app
        self._lock = threading.Lock()
        self.counts: dict[str, list[int]] = {}
        self.seconds: dict[str, float] = {}
        self.statuses: dict[int, int] = {}

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass on, and take the time until the answer begins."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start = time.perf_counter()

        async def noted(message: Any) -> None:
            if message["type"] == "http.response.start":
                self._note(_kind(scope), time.perf_counter() - start, message["status"])
            await send(message)

        await self.app(scope, receive, noted)

    def _note(self, kind: str, seconds: float, status: int) -> None:
        with self._lock:
            counts = self.counts.setdefault(kind, [0] * (len(EDGES) + 1))
            counts[bisect.bisect_left(EDGES, seconds)] += 1
            self.seconds[kind] = self.seconds.get(kind, 0.0) + seconds
            self.statuses[status] = self.statuses.get(status, 0) + 1


def _kind(scope: Any) -> str:
    """``query`` and ``feedback`` have their own times, all else is one kind."""
    last = scope["path"].rpartition("/")[2]
    return last if scope["method"] == "POST" and last in ("query", "feedback") else "other"


def figures(space: Space, clock: Clock) -> str:
    """All numbers."""
    lines = ["# TYPE gramian_seq counter", f"gramian_seq {space.seq}"]
    lines += ["# TYPE gramian_resident_bytes gauge", f"gramian_resident_bytes {_resident()}"]
    lines += ["# TYPE gramian_log_bytes gauge", f"gramian_log_bytes {space.store.log_bytes}"]
    lines += ["# TYPE gramian_troubles gauge", f"gramian_troubles {len(space.troubles)}"]
    lines.append("# TYPE gramian_failures_total counter")
    lines += [f'gramian_failures_total{{task="{task}"}} {n}' for task, n in sorted(space.failures.items())]
    lines += _collections(space)
    lines.append("# TYPE gramian_request_seconds histogram")
    for kind, counts in sorted(clock.counts.items()):
        total = 0
        for edge, count in zip([*map(str, EDGES), "+Inf"], counts):
            total += count
            lines.append(f'gramian_request_seconds_bucket{{kind="{kind}",le="{edge}"}} {total}')
        lines.append(f'gramian_request_seconds_sum{{kind="{kind}"}} {clock.seconds[kind]:.6f}')
        lines.append(f'gramian_request_seconds_count{{kind="{kind}"}} {total}')
    lines.append("# TYPE gramian_responses_total counter")
    lines += [f'gramian_responses_total{{status="{s}"}} {n}' for s, n in sorted(clock.statuses.items())]
    return "\n".join(lines) + "\n"


def _collections(space: Space) -> list[str]:
    names = ("items", "feedback_total", "feedback_undone_total", "metric_version", "duels_total", "duel_likes_total")
    values: dict[str, list[str]] = {name: [] for name in names}
    with space.store.reading() as db:
        for view in space.snapshot.collections.values():
            label = f'{{collection="{view.name}"}}'
            clicks = "SELECT count(*), count(undone) FROM feedback WHERE collection = ?"
            total, undone = db.execute(clicks, (view.number,)).fetchone()
            shown = db.execute("SELECT count(*) FROM duels WHERE collection = ?", (view.number,)).fetchone()[0]
            numbers = (len(view.ids), total, undone, view.active, shown)
            for name, number in zip(names, numbers):
                values[name].append(f"gramian_{name}{label} {number}")
            if view.candidate is not None:
                record = duels.record(db, view.number, view.candidate, view.active)
                for side, likes in (("candidate", record.likes), ("active", record.likes_against)):
                    text = f'gramian_duel_likes_total{{collection="{view.name}",side="{side}"}} {likes}'
                    values["duel_likes_total"].append(text)
    kinds = {name: "counter" if name.endswith("_total") else "gauge" for name in names}
    return [line for name in names for line in (f"# TYPE gramian_{name} {kinds[name]}", *values[name])]


def _resident() -> int:
    """Memory of this process now; where the system does not say, its peak."""
    try:
        with open("/proc/self/statm", encoding="ascii") as stream:
            return int(stream.read().split()[1]) * resource.getpagesize()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
