"""Clicks on the items of a space, and the versions that are learned from them."""

from concurrent.futures import Future
from typing import Any

import numpy as np

from gramian.service import reports, teaching
from gramian.service.asking import Asker
from gramian.service.changes import Request
from gramian.service.open_folder import OpenFolder
from gramian.service.querying import one_id, one_point


class Teachable(OpenFolder):
    """An open folder that takes clicks; a ``teacher`` makes versions of the metric of them."""

    learner: str
    asker: Asker
    teacher: Any

    def feedback(
        self,
        name: str,
        query: Any,
        item: int,
        like: bool,
        *,
        user: str | None = None,
        duel_id: str | None = None,
        request: Request | None = None,
    ) -> dict[str, Any]:
        """Say that an item is (not) like a query, an id or a vector; returns when it is durable."""
        return self.feedback_later(name, query, item, like, user=user, duel_id=duel_id, request=request).result()

    def feedback_later(
        self,
        name: str,
        query: Any,
        item: int,
        like: bool,
        *,
        user: Any = None,
        duel_id: Any = None,
        request: Any = None,
    ) -> Future:
        """As :meth:`feedback`, with a future in place of the answer."""
        view = self.collection(name)
        query = one_id(query, "query") if isinstance(query, int | np.integer) else one_point(query, view, "query")
        click = teaching.Click(query, one_id(item, "item"), bool(like), user, duel_id)
        return self.submit(teaching.give_feedback, name, click, request)

    def undo(self, name: str, seq: int, user: str | None = None, request: Request | None = None) -> dict[str, Any]:
        """Take a click back; what is learned afterwards is as if it had never been."""
        return self.submit(teaching.undo, name, seq, user, request).result()

    def clicks(self, name: str, after: int = 0, limit: int = 1000) -> list[dict[str, Any]]:
        """Clicks in the order of their events, undone ones among them."""
        return reports.clicks(self, name, after, limit)

    def events(self, after: int = 0, limit: int = 1000) -> list[dict[str, Any]]:
        """Events after a number."""
        return reports.events(self, after, limit)

    def learn(
        self, name: str, learner: str | None = None, label: str | None = None, user: str | None = None
    ) -> dict[str, Any]:
        """Learn a candidate from all live clicks, now, with the learner of the space unless another is named."""
        return self.teacher.learn(name, learner or self.learner, label, user)

    def activate(self, name: str, version: int, user: str | None = None) -> dict[str, Any]:
        """Let a version answer from here on."""
        return self.teacher.activate(name, version, user)

    def versions(self, name: str) -> dict[str, Any]:
        """All versions with their records in duels, and which one is active."""
        return reports.versions(self, name)

    def diff(self, name: str, version: int, to: int, k: int = 10) -> dict[str, Any]:
        """Which neighbors changed most between two versions."""
        return reports.diff(self.asker, self.collection(name), version, to, k)
