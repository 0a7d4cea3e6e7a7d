"""What stands between a program and its database: asks, shows, takes judgments, and lets what was learned win first."""

import secrets
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np

from gramian import _settings, _validate, export
from gramian.beside.attendant import Attendant
from gramian.beside.engine import METRICS, Engine, Hit
from gramian.beside.log import Log, Recent, Shown, number, readable
from gramian.beside.turning import LEARNER, Turn, plain
from gramian.metrics import Metric
from gramian.service import duels, reports
from gramian.service.errors import Unknown
from gramian.service.snapshot import Collection
from gramian.service.troubles import Troubles

OWNER = "gramian.beside"
LOOKED_AT = 100
"""Documents whose lengths are compared where a database compares by the Euclidean distance."""
SAME = 1e-3
"""Relative difference of lengths that are one up to rounding."""


class Answer(NamedTuple):
    """What a search gave: documents in their order, and what to judge them by.

    ``scores`` and ``records`` (payloads, metadata, columns) are those of the database. While something is on trial the
    list is made of two answers, so that scores need not descend. ``query_id`` is None where judgments cannot be taken.
    """

    ids: list[Any]
    scores: list[float]
    query_id: str | None
    records: list[dict[str, Any]]


class Plan(NamedTuple):
    """What the database is asked for one query: vectors, each for a version; ``x`` where it can be logged."""

    vectors: list[Any]
    versions: list[int]
    x: np.ndarray | None = None


class Sidecar:
    """Lets a database of vectors that is there learn from what people found useful, and leaves it as it is.

    ``search`` asks the database and ``useful`` says which of its documents helped. From such pairs a
    :class:`~gramian.QueryAdapter` learns in the background how to turn queries, where queries that were held out gain.
    What it proposes goes on trial: the database is then asked for the query as it is used and for the turned one, in
    one request, and both answers are shown in one list. Only what wins by the judgments of such lists is used from
    there on. Where nothing that is proposed is better, anything is ever adopted with a probability of at most 5%
    (``gramian.service.wealth``).

    *No failure of ours is one of a search.* Where something goes wrong here (a full disk, a folder that another process
    holds or that is damaged, a query of another width) the plain answer of the database goes out, with None for
    ``query_id``; :attr:`troubles` says why, :attr:`failures` counts, and what failed is tried again. Errors of the
    database are raised as they are.

    Searches come from any number of threads. One process has a folder open; another one that tries, or one that was
    forked off, answers plainly. On the disk are, of searches that were judged, the vector, the ids shown and ``user``;
    of documents that were judged their ids and vectors. Texts and payloads are not.

    Parameters
    ----------
    engine : Engine
        The collection: :class:`Qdrant`, :class:`Postgres` and :class:`Chroma` make theirs.
    space : path
        Folder of what is logged and learned; made when it is not there.

    Examples
    --------
    A database of one's own needs three methods:

    >>> import gramian as gm, numpy as np, tempfile
    >>> class InMemory(gm.beside.Engine):
    ...     name, width, metric = "docs", 8, "cosine"
    ...     X = np.random.default_rng(0).normal(size=(100, 8))
    ...     def search(self, vectors, k):
    ...         scores = np.asarray(vectors) @ (self.X / np.linalg.norm(self.X, axis=1, keepdims=True)).T
    ...         best = np.argsort(-scores, axis=1)[:, :k]
    ...         return [[gm.beside.Hit(int(i), s[i], {}) for i in row] for row, s in zip(best, scores)]
    ...     def vectors(self, ids):
    ...         return {i: self.X[i] for i in ids}
    ...     def count(self):
    ...         return len(self.X)
    >>> with gm.beside.Sidecar(InMemory(), tempfile.mkdtemp()) as docs:
    ...     ids, scores, query_id, records = docs.search(np.ones(8), 3)
    ...     click = docs.useful(query_id, ids[0])
    ...     docs.report()["version"]
    0
    """

    @_settings.checked
    def __init__(self, engine: Engine, space: _settings.Path) -> None:
        if engine.metric not in METRICS:
            raise ValueError(f"{OWNER}: metric must be one of {', '.join(METRICS)}, got {engine.metric!r:.80}.")
        self.engine, self._folder = engine, space
        self._asking, self._aside = Troubles(OWNER), Troubles(OWNER)
        self._recent = Recent()
        self._turns: dict[int, Turn] = {}
        self._log: Log | None = None
        self._searches, self._closed = 0, False
        self._lengths: tuple[float, ...] = ()
        if engine.metric == "l2":
            self._documents([hit.id for hit in engine.search([np.ones(engine.width)], LOOKED_AT)[0]])
        self._aside.watch("opening", engine.name, self._open)
        self._attendant = Attendant(self._look)

    def _documents(self, ids: list[Any]) -> dict[Any, Any]:
        """Vectors of documents; by the Euclidean distance they must have one length."""
        documents = readable(self.engine.vectors, ids)
        if self.engine.metric == "l2" and documents:
            sizes = np.linalg.norm(np.array(list(documents.values()), dtype=float), axis=1)
            low, high = self._lengths = min([*self._lengths, sizes.min()]), max([*self._lengths, sizes.max()])
            if high > (1 + SAME) * low:
                raise ValueError(
                    f"{OWNER}: {self.engine.name!r} compares by the Euclidean distance documents of different lengths "
                    f"({low:.3g} to {high:.3g}), where a turned query does not do what turned "
                    "documents would; divide them by their lengths, or compare by the cosine or the inner product."
                )
        return documents

    def search(self, query_vector: Any, k: int = 10, *, user: str | None = None, **options: Any) -> Answer:
        """The k best documents of a query.

        Parameters
        ----------
        query_vector : array (d,)
            As the database takes it.
        k : int
            Documents to show.
        user : str, optional
            Kept with judgments.
        **options
            For the search of the database: filters and the like.

        Returns
        -------
        answer : Answer
            ``ids``, ``scores``, ``query_id`` and ``records``.
        """
        k = _validate.number(k, OWNER, "k", low=1, integer=True)
        self._searches += 1
        plan = self._try("planning", partial(self._planned, query_vector)) or Plan([query_vector], [0])
        versions, lists = self._asked(plan, query_vector, k, options)
        shown = plan._replace(versions=versions)
        answer = self._try("showing", partial(self._shown, shown, lists, k, user))
        return answer or answered(lists[0], None)

    def _planned(self, query_vector: Any) -> Plan:
        """What to ask: the query as it is used, and beside it the one on trial."""
        log = self._log
        if log is None:
            return Plan([query_vector], [0])
        x = checked_query(query_vector, self.engine.width)
        view = log.view
        versions = [view.active]
        if view.candidate is not None and log.alive:
            versions.append(view.candidate)
        if self._asking.rests("turned queries", self.engine.name):
            versions = [0]
        turns = [self._turn(view, version) for version in versions]
        return Plan([query_vector if turn is None else turn(x) for turn in turns], versions, x)

    def _turn(self, view: Collection, number: int) -> Turn | None:
        """The map of a version, read once; None where queries stay."""
        version = view.versions[number]
        if version.learner != LEARNER:
            return None
        if number not in self._turns:
            near = {other: turn for other, turn in self._turns.items() if other in view.in_use}
            self._turns = {**near, number: Turn(version.metric)}
        return self._turns[number]

    def _asked(self, plan: Plan, query_vector: Any, k: int, options: dict[str, Any]) -> tuple[list[int], list]:
        """Versions and what the database says to them; to the plain query alone where it takes only that one."""
        task = "turned queries", self.engine.name
        if all(vector is query_vector for vector in plan.vectors):
            return plan.versions[:1], self.engine.search([query_vector], k, **options)
        try:
            lists = self.engine.search(plan.vectors, k, **options)
        except Exception as error:
            lists = self.engine.search([query_vector], k, **options)  # what fails here is the database's
            self._asking.note(*task, error)
            return [0], lists
        self._asking.clear(*task)
        return plan.versions, lists

    def _shown(self, plan: Plan, lists: list[list[Hit]], k: int, user: str | None) -> Answer:
        """One list of what the database said, remembered as long as it may be judged."""
        log = self._log
        if log is None or not log.alive or plan.x is None:
            return answered(lists[0], None)
        if len(lists) == 1:
            shown = Shown(plan.x, names(lists[0]), plan.versions[0], None, user)
            return answered(lists[0], self._recent.add(shown))
        hits = {number(hit.id): hit for hit in (*lists[1], *lists[0])}
        orders = [[number(hit.id) for hit in one] for one in lists]
        rng = np.random.default_rng(secrets.randbits(64))
        duel = duels.interleave(plan.versions[1], orders[1], plan.versions[0], orders[0], k, rng)
        together = [hits[i] for i in duel.ids]
        shown = Shown(plan.x, names(together), plan.versions[0], duel, user, duel.id)
        return answered(together, self._recent.add(shown))

    @_settings.checked
    def useful(self, query: Any, item_id: Any, *, user: str | None = None) -> int | None:
        """Say that a document was what a query looked for; returns when it is on the disk.

        Parameters
        ----------
        query : str or array (d,)
            The ``query_id`` of a search: one of the last 10,000 since the start, or one that was judged before. Or the
            vector of a query, where the judgment comes from elsewhere.
        item_id : int or str
            One of the ``ids`` of the answer.
        user : str, optional
            Who says so.

        Returns
        -------
        click : int or None
            Its number, for :meth:`undo`; None where it could not be kept, which :attr:`troubles` explains.
        """
        return self._judge(query, item_id, True, user)

    @_settings.checked
    def not_useful(self, query: Any, item_id: Any, *, user: str | None = None) -> int | None:
        """Say that a document was shown and is not what the query looked for; see :meth:`useful`."""
        return self._judge(query, item_id, False, user)

    @_settings.checked
    def clicked(self, query: Any, item_id: Any, *, user: str | None = None) -> int | None:
        """Say that a document was opened: a weak form of :meth:`useful`, that counts less the higher it stood."""
        return self._judge(query, item_id, None, user)

    def _judge(self, query: Any, item_id: Any, like: bool | None, user: str | None) -> int | None:
        log = self._log
        if log is None or not log.alive or query is None:
            self._asking.counts["judgments"] += 1
            return None
        shown, item = self._meant(log, query, item_id), number(item_id)
        if item not in map(number, shown.ids):
            raise ValueError(f"{OWNER}: item_id must be one that the search gave, got {_validate.shown(item_id)}.")
        click = self._try("judgments", partial(log.judge, shown, item, like, user or shown.user))
        if click is not None:
            self._attendant.wake()
        return click

    def _meant(self, log: Log, query: Any, item_id: Any) -> Shown:
        """The list that a judgment speaks of."""
        if not isinstance(query, str):
            return Shown.pair(checked_query(query, self.engine.width), *names([Hit(item_id, 0.0, {})]))
        shown = self._recent.get(query) or self._try("judgments", partial(log.stored, query))
        if shown is None:
            raise Unknown(
                f"{OWNER}: query_id must be one of the last searches of this process, or judged before, "
                f"got {query!r:.80}."
            )
        return shown

    def _try(self, task: str, work: Callable[[], Any]) -> Any:
        """What some work of ours gives, None where it fails."""
        box: list[Any] = []
        self._asking.watch(task, self.engine.name, lambda: box.append(work()))
        return box[0] if box else None

    def _open(self) -> None:
        """Open the space, again where its writer has ended."""
        if self._log is not None:
            log, self._log = self._log, None
            log.space.close()
        self._turns = {}
        self._log = Log(self._folder, self.engine.name, self.engine.width)

    def _look(self) -> float | None:
        """See to everything that is due, in a thread of its own; returns seconds until something may be due again."""
        name, attempt = self.engine.name, self._aside.attempt
        if self._log is None or not self._log.alive:
            attempt("opening", name, self._open)
        if self._log is not None:
            attempt("reading documents", name, partial(self._log.collect, self._documents))
            attempt("learning", name, partial(self._log.space.teacher.look, self._log.name))
        return self._aside.pause

    def learn(self) -> dict[str, Any]:
        """Learn from all judgments now, and put the outcome on trial; the background does so by itself as they come."""
        log = self._opened()
        log.collect(self._documents)
        return log.space.learn(log.name)

    def undo(self, click: int | None = None) -> int:
        """Take a judgment back by its number; without one, what was adopted last: what it won against is used again.

        Returns
        -------
        version : int
            What is in use; 0 is queries as they are.
        """
        log = self._opened()
        if click is not None:
            log.space.undo(log.name, click)
            return log.view.active
        view = log.view
        if view.active == 0:
            raise ValueError(f"{OWNER}: there is nothing to undo, queries are asked as they are.")
        with log.space.store.reading() as db:
            rival = reports.versions(db, view)["versions"][view.active]["duels"]["against"]
        return log.space.activate(log.name, rival if rival != view.active else 0)["active"]

    @property
    def map(self) -> Metric:
        """The map of queries in use, for :func:`gramian.save` and exports."""
        log = self._opened()
        version, d = log.view.version("active"), self.engine.width
        return version.metric if version.learner == LEARNER else plain(d)

    @_settings.checked
    def export(self, target: str = "json", *args: Any, **options: Any) -> Any:
        """The map in use as one of the targets of ``gramian.export``: ``"json"``, ``"onnx"``, ``"npz"``, …

        The rest is passed on: ``docs.export("json", "map.json")`` writes a file, without a path it returns the numbers.
        """
        kind = export.TARGETS.get(target)
        if kind is None or kind.takes_data:
            known = ", ".join(name for name, kind in export.TARGETS.items() if not kind.takes_data)
            raise ValueError(f"{OWNER}: target must be one of {known}, got {target!r:.80}.")
        return getattr(export, f"to_{kind.module}")(self.map, *args, **options)

    @property
    def troubles(self) -> list[str]:
        """What does not work at present, in words; empty when all is well."""
        log = self._log
        forked = ["this process was forked from the one that logs"] if log and not log.here else []
        return [*forked, *self._aside.reasons, *self._asking.reasons, *([] if log is None else log.space.troubles)]

    @property
    def failures(self) -> dict[str, int]:
        """How often something of ours failed so far, by what it was."""
        theirs = {} if self._log is None else self._log.space.failures
        return {**theirs, **self._aside.counts, **self._asking.counts}

    def report(self) -> dict[str, Any]:
        """How it stands: searches since the start, clicks, the version in use, the one on trial with its duels."""
        facts: dict[str, Any] = {"collection": self.engine.name, "metric": self.engine.metric}
        facts |= {"width": self.engine.width, "searches": self._searches}
        log = self._log
        if log is not None:
            view = log.view
            with log.space.store.reading() as db:
                told = reports.versions(db, view)
                text = "SELECT count(*) FROM feedback WHERE collection = ? AND undone IS NULL"
                clicks = db.execute(text, (view.number,)).fetchone()[0]
            on_trial = None if view.candidate is None else told["versions"][view.candidate]
            facts |= {"clicks": clicks, "version": view.active, "on_trial": on_trial, "versions": told["versions"]}
        return facts | {"troubles": self.troubles, "failures": self.failures}

    def _opened(self) -> Log:
        if self._log is None or not self._log.alive:
            raise RuntimeError(f"{OWNER}: the space is not open: {'; '.join(self.troubles) or 'it was closed'}.")
        return self._log

    def close(self) -> None:
        """Let go of the folder, once what is queued is written; searches after that are plain. May be called twice."""
        if not self._closed:
            self._closed = True
            self._attendant.close()
            log, self._log = self._log, None
            if log is not None and log.here:
                log.space.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()


def checked_query(vector: Any, width: int) -> np.ndarray:
    """A query as the log has it, float32 (d,), or one sentence that says why it can be neither turned nor logged."""
    try:
        x = np.asarray(vector, dtype=np.float32).reshape(-1)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{OWNER}: query_vector must be {width} numbers, got {_validate.shown(vector)}.") from error
    if len(x) != width or not 0 < float(x @ x) < np.inf:
        what = f"{len(x)} numbers" if len(x) != width else "zeros, or a number that is not finite"
        raise ValueError(f"{OWNER}: query_vector must be {width} finite numbers, not all zero, got {what}.")
    return x


def names(hits: Sequence[Hit]) -> list[Any]:
    """Ids as JSON holds them."""
    return [hit.id if isinstance(hit.id, int | str) else str(hit.id) for hit in hits]


def answered(hits: Sequence[Hit], query_id: str | None) -> Answer:
    """Hits as columns."""
    return Answer([hit.id for hit in hits], [hit.score for hit in hits], query_id, [hit.record for hit in hits])
