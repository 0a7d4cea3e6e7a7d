"""What goes wrong beside the requests: told once, counted, and tried again after a pause that grows."""

import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from gramian import _validate

SHORTEST, LONGEST = 1.0, 300.0
"""Seconds until a task that failed is tried again: after the first failure, and at most."""


@dataclass(frozen=True)
class Trouble:
    """A task that failed when it was tried last: why, for how long it rests, and until when."""

    reason: str
    pause: float
    until: float


class Troubles:
    """Runs tasks of which none can end the thread that runs them.

    Parameters
    ----------
    owner : str
        Who tells of them.

    Attributes
    ----------
    counts : Counter
        Failures so far, by kind of task.
    """

    def __init__(self, owner: str = "Space") -> None:
        self.owner = owner
        self.counts: Counter[str] = Counter()
        self._now: dict[tuple[str, str], Trouble] = {}

    def attempt(self, task: str, of: str, work: Callable[[], object]) -> None:
        """Do a piece of work, unless it rests after a failure."""
        if not self.rests(task, of):
            self.watch(task, of, work)

    def rests(self, task: str, of: str) -> bool:
        """Whether a task failed so recently that it is not tried."""
        last = self._now.get((task, of))
        return last is not None and time.monotonic() < last.until

    def watch(self, task: str, of: str, work: Callable[[], object]) -> None:
        """Do a piece of work now; whatever goes wrong in it, the caller goes on."""
        try:
            work()
        except Exception as error:
            self.note(task, of, error)
        else:
            self.clear(task, of)

    def clear(self, task: str, of: str) -> None:
        """A task works, or works again."""
        self._now.pop((task, of), None)

    def note(self, task: str, of: str, error: Exception) -> None:
        """A task failed."""
        reason = f"{task} of {of!r} failed ({type(error).__name__}: {error})"
        last = self._now.get((task, of))
        pause = SHORTEST if last is None else min(2 * last.pause, LONGEST)
        self.counts[task] += 1
        self._now[task, of] = Trouble(reason, pause, time.monotonic() + pause)
        if last is None or last.reason != reason:
            with suppress(Exception):  # where warnings are errors
                _validate.warn(f"{self.owner}: {reason}; it is tried again.")

    @property
    def reasons(self) -> list[str]:
        """What does not work at present."""
        return [trouble.reason for trouble in list(self._now.values())]

    @property
    def pause(self) -> float | None:
        """Seconds until something is to be tried again, None when all is well."""
        ends = [trouble.until for trouble in self._now.values()]
        return max(0.0, min(ends) - time.monotonic()) if ends else None
