"""A space: collections of items that learn from clicks, in one folder, with or without HTTP in front."""

import json
import secrets
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Self

import numpy as np

from gramian import _settings
from gramian.metrics import Metric
from gramian.service import changes, duels, encoders, judgments, models, reports, sources
from gramian.service.answers import Asker, Question, one_id, one_point
from gramian.service.arguments import Choice, Dicts, Id, Ids, VersionName, checked
from gramian.service.changes import Batch, Click
from gramian.service.errors import SpaceError, Unknown, refused
from gramian.service.learning import Teacher, named_learner
from gramian.service.models import TextEncoder
from gramian.service.snapshot import Collection, Snapshot
from gramian.service.store import Store
from gramian.service.upkeep import Upkeep
from gramian.service.writer import Draft, Request, Writer


@checked
class Space:
    """Collections of vectors that answer by similarity and learn it from clicks, durable in a folder.

    Every change is an event with a number, and its method returns once the event is on disk. Readers see one
    immutable snapshot, so all methods may be called from any thread. One process may have a folder open.

    Parameters
    ----------
    folder : path
        Made when it is not there.
    learning : bool
        Whether candidates are learned in the background as clicks come; :meth:`learn` does it on demand.
    learner : {"auto", "gmml", "lego"}
        What learns them: AutoMetric, which takes the best of many learners on held-out clicks, the anchored geometric
        mean of ``gramian.service.learning``, or LEGO along the clicks.

    Attributes
    ----------
    snapshot : Snapshot
        What is durable.

    Examples
    --------
    >>> import gramian as gm, tempfile
    >>> space = gm.service.Space(tempfile.mkdtemp(), learning=False)
    >>> space.create("fruit", n_features=2)["seq"]
    1
    >>> space.add("fruit", [[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], ids=[7, 8, 9])["seq"]
    2
    >>> space.query("fruit", id=7, k=2)["ids"]
    [8, 9]
    >>> seq = space.feedback("fruit", query=7, item=9, like=True)["seq"]
    >>> space.undo("fruit", seq)["seq"]
    4
    >>> space.close()
    """

    def __init__(self, folder: _settings.Path, *, learning: bool = True, learner: str = "auto") -> None:
        named_learner(learner)
        self.store = Store(folder)
        self._closed = False
        try:
            self._writer = Writer(self.store)
            self.store.sweep()
            self.asker = Asker()
            self.encoders: dict[str, TextEncoder] = {}
            self.teacher = Teacher(self._writer, self.asker, learner)
            self._upkeep = Upkeep(self._writer, self.asker, self.teacher if learning else None)
        except BaseException:
            self.store.close()
            raise

    @property
    def snapshot(self) -> Snapshot:
        """What is durable, as one immutable value."""
        return self._writer.snapshot

    @property
    def seq(self) -> int:
        """Number of the last event."""
        return self.snapshot.seq

    @property
    def alive(self) -> bool:
        """Whether changes are taken."""
        return self._writer.alive

    @property
    def troubles(self) -> list[str]:
        """What does not work beside the requests at present, in words; empty when all is well."""
        ended = [] if self._upkeep.alive or self._closed else ["the thread that looks after the space has ended"]
        return [*ended, *self._writer.troubles.reasons]

    @property
    def failures(self) -> dict[str, int]:
        """How often something beside the requests failed so far, by what it was."""
        return dict(self._writer.troubles.counts)

    def collection(self, name: str) -> Collection:
        """A collection as it is now."""
        return self.snapshot.collection(name)

    def listen(self, listener: Callable[[int], None]) -> Callable[[], None]:
        """Call ``listener(seq)`` after each commit, in the thread that writes; returns what stops it."""
        return self._writer.listen(listener)

    def submit(self, change: Callable[..., Any], *values: Any, **named: Any) -> Future:
        """Queue one of the changes of ``gramian.service.changes``; the future has its answer once it is durable."""
        return self._writer.submit(change, *values, **named)

    def transact(self, change: Callable[[Draft], Any]) -> Any:
        """Run a change of one's own in the thread that writes."""
        return self._writer.submit(change).result()

    def attend(self, task: str, of: str, work: Callable[[], object]) -> None:
        """Do a piece of work beside the requests; what goes wrong in it is told and counted as the others' troubles."""
        self._writer.troubles.watch(task, of, work)

    def close(self) -> None:
        """Finish what is queued and let go of the folder; may be called twice."""
        if self._closed:
            return
        self._closed = True
        self._upkeep.close()
        self._writer.close()
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()

    def create(self, name: str, n_features: _settings.Count, user: str | None = None) -> dict[str, Any]:
        """Make a collection of vectors with so many features."""
        return self.submit(changes.make_collection, name, n_features, user).result()

    def add(
        self,
        name: str,
        X: Any,
        ids: Ids | None = None,
        *,
        meta: Dicts | None = None,
        upsert: Choice = False,
        user: str | None = None,
        request: Request | None = None,
    ) -> dict[str, Any]:
        """Add items; ids default to the numbers after the largest one ever used.

        A known id is refused unless ``upsert`` is true or holds it.
        """
        return self.add_later(name, X, ids, meta=meta, upsert=upsert, user=user, request=request).result()

    def add_later(
        self,
        name: str,
        X: Any,
        ids: Ids | None = None,
        *,
        meta: Dicts | None = None,
        upsert: Choice = False,
        user: str | None = None,
        request: Request | None = None,
    ) -> Future:
        """As :meth:`add`, with a future in place of the answer."""
        batch = Batch.of(self.collection(name), X, ids, meta, self.store.vectors)
        future = self.submit(changes.add_items, name, batch, upsert=upsert, user=user, request=request)
        future.add_done_callback(lambda done: _drop_refused(batch.file, done))
        return future

    def remove(self, name: str, id: Id, user: str | None = None) -> dict[str, Any]:
        """Remove an item."""
        return self.submit(changes.remove_item, name, id, user).result()

    def item(self, name: str, id: Id) -> dict[str, Any]:
        """An item with its vector and meta."""
        return reports.item(self.collection(name), one_id(id, "id"))

    def use_encoder(self, name: str, encoder: TextEncoder) -> None:
        """Let texts be asked for in a collection; the name and width of its encoder are kept, and checked later on."""
        with self.store.reading() as db:
            known = models.stored(db, name)
        models.check(self.collection(name), encoder, known)
        if known is None:
            row = (models.KEY + name, json.dumps({"name": encoder.name, "width": encoder.width}))
            text = "INSERT OR REPLACE INTO space VALUES (?, ?, NULL)"
            self.transact(lambda draft: draft.db.execute(text, row))
        self.encoders[name] = encoder

    def encodes(self, name: str) -> list[str]:
        """What can be encoded beside the items of a collection: ``text``, ``image``."""
        own = encoders.kinds(sources.encoder(self.store.folder, name))
        return ["text", *own] if name in self.encoders and "text" not in own else own

    def encode(self, name: str, text: str) -> np.ndarray:
        """The vector of a text, where the collection has an encoder."""
        self.collection(name)
        if name in self.encoders:
            return self.encoders[name].encode([text])[0]
        arrays = sources.encoder(self.store.folder, name)
        if arrays is None or "text" not in encoders.kinds(arrays):
            with self.store.reading() as db:
                known = models.stored(db, name)
            remedy = "give a vector" if known is None else f"start the server with --encoder {known['name']}"
            raise Unknown(f"Space: {name!r} has no encoder for texts; {remedy}.")
        return encoders.text(arrays, text)

    def query(
        self,
        name: str,
        x: Any = None,
        *,
        text: str | None = None,
        id: Id | None = None,
        k: Any = 10,
        likes: Ids = (),
        dislikes: Ids = (),
        version: VersionName = "active",
        where: dict[str, Any] | None = None,
        duel: bool = False,
        unseen: bool = False,
        shown: bool = False,
        user: str | None = None,
    ) -> dict[str, Any]:
        """The k items most like a point or an item, under a version of the metric.

        Parameters
        ----------
        name : str
            The collection.
        x : vector, id : int, or text : str
            What to look for; an item is left out of its own answer. A text needs an encoder (:meth:`use_encoder`).
        k : int
            At most 1,000.
        likes, dislikes : ids
            Clicks on the results so far: the answer is then ranked by a model of this query, with ``score``.
        version : "active", "plain" or int
        where : dict
            Only items whose meta has these values (or one of a list of values).
        duel : bool
            Make one list of the candidate's answer and the active one's; ``team`` says whose item it is, −1 for both.
        unseen : bool
            Leave liked and disliked items out.
        shown : bool
            Keep the list in the log, as it was shown; feedback with its ``query_id`` then has a place in it.
        """
        snapshot = self.snapshot
        view = snapshot.collection(name)
        if text is not None and x is not None:
            raise SpaceError("Space: a query must have x or text, got both.")
        x = x if text is None else self.encode(name, text)
        question = Question.of(view, x, id, k, likes, dislikes, where, unseen)
        if duel and view.candidate is not None and version == "active" and not question.clicked:
            return self._duel(view, question, user)
        answering = view.version(version)
        answer = {**self.asker.reply(view, answering, question), "seq": snapshot.seq}
        answer |= {"team": [answering.number] * len(answer["ids"]), "duel_id": None} if duel else {}
        if shown:
            impression = duels.kept(answering.number, answer["ids"])
            about = question.own if question.x is None or question.own is not None else question.x.tolist()
            seq = self.submit(duels.open_duel, name, impression, about, user).result()["seq"]
            answer |= {"query_id": impression.id, "seq": seq}
        return answer

    def _duel(self, view: Collection, question: Question, user: str | None) -> dict[str, Any]:
        """An interleaved answer; the event that keeps it is durable before it is shown."""
        if question.x is None:
            raise SpaceError("Space: a duel needs x or id.")
        sides = [view.version(view.candidate), view.version(view.active)]
        rankings = [self.asker.answer(view, version, question)[0].tolist() for version in sides]
        candidate, active = sides
        rng = np.random.default_rng(secrets.randbits(64))
        duel = duels.interleave(candidate.number, rankings[0], active.number, rankings[1], question.k, rng)
        query = question.own if question.own is not None else question.x.tolist()
        seq = self.submit(duels.open_duel, view.name, duel, query, user).result()["seq"]
        answer = reports.listed(view, active.metric, question.x, duel.ids)
        answer |= {"team": duel.teams, "duel_id": duel.id, "query_id": duel.id, "version": active.number}
        return {**answer, "candidate": candidate.number, "seq": seq}

    def transform(self, name: str, X: Any, version: VersionName = "active") -> np.ndarray:
        """Coordinates in which the plain Euclidean distance is that of a version."""
        return self.collection(name).version(version).metric.transform(X)

    def map(self, name: str, version: VersionName = "active") -> np.ndarray:
        """All items in the plane, float32 (n, 2), in the order of ascending ids."""
        view = self.collection(name)
        return reports.plane(view, view.version(version).metric)

    def feedback(
        self,
        name: str,
        query: Any,
        item: Id,
        like: bool | None,
        *,
        user: str | None = None,
        duel_id: str | None = None,
        request: Request | None = None,
    ) -> dict[str, Any]:
        """Say that an item is (not) like a query, an id or a vector; returns when it is durable.

        With None for ``like`` it is a click without a judgment: a weak like, less weak where its place is seldom looked
        at.
        ``duel_id`` is that of the answer, or the ``query_id`` of a list that was kept.
        """
        return self.feedback_later(name, query, item, like, user=user, duel_id=duel_id, request=request).result()

    def feedback_later(
        self,
        name: str,
        query: Any,
        item: Id,
        like: bool | None,
        *,
        user: str | None = None,
        duel_id: str | None = None,
        request: Request | None = None,
    ) -> Future:
        """As :meth:`feedback`, with a future in place of the answer."""
        view = self.collection(name)
        point = one_id(query, "query") if isinstance(query, int | np.integer) else one_point(query, view, "query")
        click = Click(point, one_id(item, "item"), None if like is None else bool(like), user, duel_id)
        return self.submit(changes.give_feedback, name, click, request)

    def judge(
        self,
        name: str,
        queries: Any,
        items: Ids,
        grades: Any,
        *,
        above: float = judgments.ABOVE,
        judge: str = "judge",
    ) -> dict[str, Any]:
        """Take graded judgments of queries and items, all or none, as likes and dislikes with a weight.

        They teach as clicks do, so that a space has something to learn from before anybody clicks; what is learned
        still has to win. The same judgments again count nothing twice, and another grade takes the place of the old.

        Parameters
        ----------
        name : str
            The collection.
        queries : list of texts or ids, or array (n, d)
            What was asked: texts need an encoder (:meth:`use_encoder`).
        items : ids (n,)
            What was judged.
        grades : array (n,)
            Above ``above`` a like, below it a dislike. What a grade counts is its distance from there, divided by the
            largest one on its side; a grade at ``above`` says nothing.
        above : float
        judge : str
            Who says so: judgments of several judges stand beside each other.

        Returns
        -------
        dict
            How many are ``new``, ``replaced`` and ``known`` already, and ``seq``.
        """

        def encode(texts: list[str]) -> Any:
            own = self.encoders.get(name)
            return [self.encode(name, text) for text in texts] if own is None else own.encode(texts)

        listed = judgments.stated(self.collection(name), queries, items, grades, above, encode)
        return self.submit(judgments.take, name, listed, judge).result()

    def undo(self, name: str, seq: Id, user: str | None = None, request: Request | None = None) -> dict[str, Any]:
        """Take a click back; what is learned afterwards is as if it had never been."""
        return self.submit(changes.undo, name, seq, user, request).result()

    def clicks(self, name: str, after: _settings.Index = 0, limit: _settings.Index = 1000) -> list[dict[str, Any]]:
        """Clicks in the order of their events, undone ones among them."""
        with self.store.reading() as db:
            return reports.clicks(db, self.collection(name), after, limit)

    def events(self, after: _settings.Index = 0, limit: _settings.Index = 1000) -> list[dict[str, Any]]:
        """Events after a number."""
        with self.store.reading() as db:
            return reports.events(db, after, limit)

    def learn(
        self, name: str, learner: str | None = None, label: str | None = None, user: str | None = None
    ) -> dict[str, Any]:
        """Learn a candidate from all live clicks, now, with the learner of the space unless another is named."""
        return self.teacher.learn(name, learner, label, user)

    def preview(self, name: str) -> tuple[int, Metric]:
        """The metric that the live clicks would give at this moment, with the event that it stands for."""
        return self.teacher.preview(name)

    def activate(self, name: str, version: VersionName, user: str | None = None) -> dict[str, Any]:
        """Let a version answer from here on."""
        return self.teacher.activate(name, version, user)

    def versions(self, name: str) -> dict[str, Any]:
        """All versions with their records in duels, and which one is active."""
        with self.store.reading() as db:
            return reports.versions(db, self.collection(name))

    def diff(self, name: str, version: VersionName, to: VersionName, k: Any = 10) -> dict[str, Any]:
        """Which neighbors changed most between two versions."""
        return reports.diff(self.asker, self.collection(name), version, to, k)


def _drop_refused(file: Path | None, future: Future) -> None:
    """Remove the file of a batch that was not taken; where that is not sure the next opening sees to it."""
    if file is not None and (future.cancelled() or refused(future.exception())):
        file.unlink(missing_ok=True)
