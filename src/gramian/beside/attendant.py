"""The thread beside the searches."""

import contextlib
import threading
from collections.abc import Callable

from gramian.service.upkeep import step_back

PAUSE = 0.2
"""Seconds between two rounds, at least; judgments in between are seen together."""
SLEEP = 60.0
"""Seconds after which it looks without news, at most."""


class Attendant:
    """Does rounds of work when it is woken, and when the last round said so; nicer than the other threads.

    Parameters
    ----------
    look : callable
        A round, which does not raise; returns the seconds until the next one, or None.
    """

    def __init__(self, look: Callable[[], float | None]) -> None:
        self._look = look
        self._news, self._stop = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="gramian-beside", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """There is something to look at."""
        self._news.set()

    def close(self) -> None:
        """Stop; what is under way is finished before."""
        self._stop.set()
        self._news.set()
        self._thread.join()

    def _run(self) -> None:
        with contextlib.suppress(Exception):  # then it is as nice as the others
            step_back()
        while not self._stop.is_set():
            rest = SLEEP
            with contextlib.suppress(Exception):  # in the noting of another one, as where there is no memory
                rest = min(self._look() or SLEEP, SLEEP)
            self._news.wait(max(rest, PAUSE))
            self._news.clear()
            self._stop.wait(PAUSE)
