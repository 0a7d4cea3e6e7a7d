"""Passes over the vectors that people share: those who ask while one is under way get the next one together."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

MOST = 16
"""Questions of one pass."""


class Together:
    """Lets one of those who ask at the same time work for all of them.

    A pass over a million vectors reads all of their memory, for several questions as for one. So whoever finds no pass
    under way begins one at once, and all who come meanwhile are served by the next: nobody waits for more
    than the present pass and their own, unless more than ``MOST`` wait.

    Parameters
    ----------
    work : function of a list of questions → a list of answers
    """

    def __init__(self, work: Callable[[list[Any]], list[Any]]) -> None:
        self.work = work
        self._working = threading.Lock()
        self._list = threading.Lock()
        self._waiting: list[tuple[Any, Future]] = []

    def ask(self, question: Any) -> Any:
        """The answer to a question, by this thread or another."""
        future: Future = Future()
        with self._list:
            self._waiting.append((question, future))
        while not future.done():
            with self._working:
                if not future.done():
                    self._serve()
        return future.result()

    def _serve(self) -> None:
        with self._list:
            served, self._waiting = self._waiting[:MOST], self._waiting[MOST:]
        try:
            answers = self.work([question for question, _ in served])
        except Exception as error:
            for _, future in served:
                future.set_exception(error)
            return
        for (_, future), answer in zip(served, answers, strict=True):
            future.set_result(answer)
