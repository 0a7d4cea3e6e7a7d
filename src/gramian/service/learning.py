r"""From clicks to a metric for every new query, and to the candidates of a collection.

A like says that a query q and an item x belong together, a dislike that they do not although the item was near enough
to be shown. With B the scatter of random pairs of items, and a little of the identity where they span little, the
learner ``gmml`` is the geometric mean metric (Zadeh et al. 2016) of the two scatters, both anchored to B::

    S = (n₊ S₊ + n₀ s B) / (n₊ + n₀)        D = ¾ (n₋ D₋ + n₀ s B) / (n₋ + n₀) + ¼ s B        M = S⁻¹ ♯ D

where S₊ and D₋ are the mean scatters of liked and disliked pairs, scaled to the trace s tr B of S₊. Without clicks
S = D, and M is a multiple of the identity: the plain features. The evidence of n₀ clicks counts as much as
the anchor. The learner ``auto`` asks :class:`~gramian.AutoMetric` twice, from the plain features and from such a
metric. Everything is a function of the live clicks and the items alone; draws, where there are any, are always the
same.
"""

import secrets
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from gramian import linalg, persist
from gramian.metrics import Mahalanobis, Metric
from gramian.service import changes, duels, wealth
from gramian.service.answers import Asker
from gramian.service.errors import Conflict, SpaceError, StorageFull, refused, refused_by_disk
from gramian.service.evidence import Evidence, Scatter, gather, n_live
from gramian.service.snapshot import Background, Collection, Version
from gramian.service.vectors import sync_folder
from gramian.service.writer import Writer

ANCHOR = 50
"""n₀, clicks that weigh as much as the plain features; chosen on tasks of their own (benchmarks/serve)."""
FEW = 20
"""n₀ of the geometric mean from which AutoMetric begins."""
MOST_PAIRS = 2000
"""Clicks that AutoMetric learns from, evenly spaced among all."""
MOST_COMPARED = 1024
"""Widest vectors for which learners are compared."""
BACKGROUND = 0.25
"""Share of random pairs among those that shall be far."""
RIDGE = 1e-5
"""Part of the mean variance that B gets in every direction: S½ D S½ has the square of it, far above rounding."""
MOST_LEARNED = 2048
"""Widest vectors for which a d × d matrix is learned."""
FIRST = 30
"""Live clicks before the background learns a candidate."""
GROWTH = 1.3
"""Factor by which the clicks must have grown for the next one."""
REST = 10
"""How many times as long as learning takes nothing is learned afterwards by itself."""
MOST_LIVE = 64
"""Widest vectors of which a preview is learned with the learner of the space, which takes longer than ``gmml``."""
TINY = 1e-300


def gmml(evidence: Evidence) -> Metric:
    """The anchored geometric mean metric, scaled so that random pairs keep their mean squared distance."""
    return _metric(_geometric_mean(evidence, ANCHOR, BACKGROUND))


def _geometric_mean(evidence: Evidence, anchor: float, share: float) -> np.ndarray:
    """M (d, d) with a weight of the plain features, and a share of random pairs among those that shall be far."""
    from gramian.learners.gmml import geodesic

    background = evidence.background
    d = len(background.center)
    B = background.scatter + RIDGE * background.size / d * np.eye(d)  # (d, d)
    S = _anchored(evidence.likes, B, anchor)
    D = (1 - share) * _anchored(evidence.dislikes, B, anchor) + share * B
    return _sized(geodesic(S, D, 0.5), background)


def _sized(M: np.ndarray, background: Background) -> np.ndarray:
    """M scaled so that random pairs keep their mean squared distance."""
    return M * (background.size / max(float((M * background.scatter).sum()), TINY))


def _metric(M: np.ndarray) -> Metric:
    """The metric of M projected on the cone: rounding leaves eigenvalues just below zero where items span little."""
    return Mahalanobis(linalg.psd_sqrt(M))


def _anchored(scatter: Scatter, B: np.ndarray, anchor: float) -> np.ndarray:
    """(n S + n₀ B) / (n + n₀) with S scaled to the trace of B."""
    S = scatter.mean
    size = np.trace(S)
    S = S * (np.trace(B) / size) if size > 0 else B
    return (scatter.n * S + anchor * B) / (scatter.n + anchor)


def lego(evidence: Evidence) -> Metric:
    """LEGO along the clicks: liked pairs within 0.3, disliked ones beyond 1.0 of the mean squared distance."""
    from gramian.online import LEGO

    left, right, liked, _ = evidence.pairs()
    unit = np.sqrt(evidence.background.size)
    learner = LEGO(eta="auto").start(left.shape[1])
    for u, v, like in zip(left / unit, right / unit, liked):
        learner.learn_one(u, v, 0.3 if like else 1.0, "at_most" if like else "at_least")
    return _metric(learner.metric_.matrix)


def automatic(evidence: Evidence) -> Metric:
    """The mean of what AutoMetric learns from the clicks, from the plain features and from a geometric mean metric.

    AutoMetric compares learners on held-out clicks, and is cautious; from the geometric mean it has less far to go.
    Both are scaled to the mean squared distance of random pairs. Where there are likes alone, or dislikes alone,
    random pairs stand for the others in the geometric mean of ``gmml``.
    """
    if not evidence.likes.n or not evidence.dislikes.n:
        return gmml(evidence)
    background = evidence.background
    near = _geometric_mean(evidence, FEW, 0.0)
    if len(background.center) > MOST_COMPARED:
        return _metric(near)
    judged = evidence.pairs()
    some = linalg.spread(len(judged[2]), MOST_PAIRS)
    left, right, liked, weights = (part[some] for part in judged)
    L = linalg.psd_sqrt(near)
    there = L.T @ _by_automatic(left @ L.T, right @ L.T, liked, weights) @ L
    here = _by_automatic(left, right, liked, weights)
    return _metric((_sized(here, background) + _sized(there, background)) / 2)


def _by_automatic(left: np.ndarray, right: np.ndarray, liked: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """M (d, d) of AutoMetric, or the identity where it can learn nothing from so few, or so similar, pairs."""
    from gramian.constraints import Pairs
    from gramian.learners import AutoMetric

    X, place = np.unique(np.concatenate([left, right]), axis=0, return_inverse=True)
    first, second = place.reshape(2, -1)
    pairs = Pairs(first, second, liked, weight=None if (weights == 1).all() else weights)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # nobody reads them here
        try:
            return AutoMetric(normalize=False, random_state=0).fit(X, pairs).metric_.matrix
        except (ValueError, np.linalg.LinAlgError):
            return np.eye(X.shape[1])


LEARNERS: dict[str, Callable[[Evidence], Metric]] = {"gmml": gmml, "lego": lego, "auto": automatic}
"""Learners by name: a function from the evidence to a metric on the features."""


def named_learner(name: str) -> str:
    """The name of a learner, which must be one of those there are."""
    if name not in LEARNERS:
        raise SpaceError(f"Space: learner must be one of {', '.join(LEARNERS)}, got {name!r:.80}.")
    return name


def learn(name: str, evidence: Evidence) -> Metric:
    """Learn a metric with the learner of a name."""
    named_learner(name)
    if evidence.n == 0:
        raise Conflict("Space: there is no live feedback to learn from; like or dislike some items first.")
    if len(evidence.background.center) > MOST_LEARNED:
        raise Conflict(f"Space: a metric is learned for at most {MOST_LEARNED} features; reduce the vectors first.")
    if evidence.background.size == 0:
        raise Conflict("Space: all items are at one place, there is nothing to learn.")
    return LEARNERS[name](evidence)


class Teacher:
    """Learns candidates, one at a time, beside the writer: indexed beforehand, and handed to it when all is ready.

    Attributes
    ----------
    rested : float
        When something is learned by itself again, on the clock of ``time.monotonic``.
    """

    def __init__(self, writer: Writer, asker: Asker, learner: str) -> None:
        self.learner = named_learner(learner)
        self.rested = 0.0
        self._writer = writer
        self._asker = asker
        self._lock = threading.Lock()
        self._previews: dict[int, tuple[int, Metric]] = {}

    def learn(
        self,
        name: str,
        learner: str | None = None,
        label: str | None = None,
        user: str | None = None,
        *,
        by_itself: bool = False,
    ) -> dict[str, Any]:
        """Learn a candidate from all live clicks and make it the one that duels.

        What the background learns ``by_itself`` and ranks as the metric in use is kept without duels.
        """
        learner = learner or self.learner
        with self._lock:
            snapshot, store = self._writer.snapshot, self._writer.store
            view = snapshot.collection(name)
            with store.reading() as db:
                evidence = gather(db, view, snapshot.seq)
                metric = learn(learner, evidence)
            same = by_itself and ranks_alike(metric, view.version("active").metric)
            label = label or f"{learner} of {evidence.n} clicks"
            status = "same" if same else "candidate"
            version = Version(0, label, learner, 0, evidence.n, snapshot.seq, status)
            index = view.build_index(metric)
            file = save_metric(store.metrics, metric, version)
            change = self._writer.submit(changes.add_version, name, version, file, index, view.revision, user)
            if refused(change.exception()):
                file.unlink(missing_ok=True)
            return change.result()

    def look(self, name: str) -> None:
        """Learn by itself where that is due, and then leave the cores to people for several times as long."""
        begun = time.monotonic()
        if begun >= self.rested and self.due(self._writer.snapshot.collection(name)):
            self.learn(name, by_itself=True)
            self.rested = time.monotonic() + REST * (time.monotonic() - begun)

    def due(self, view: Collection) -> bool:
        """Whether the clicks have grown enough for another candidate, and none leads that would have to give way.

        What a candidate won is carried over to the next one (:mod:`gramian.service.wealth`).
        """
        last = view.versions[max(view.versions)]
        with self._writer.store.reading() as db:
            enough = max(FIRST, GROWTH * last.events)
            text = "SELECT count(*) FROM feedback WHERE collection = ? AND undone IS NULL"  # no fewer, and quick
            if db.execute(text, (view.number,)).fetchone()[0] < enough or view.n_features > MOST_LEARNED:
                return False
            if n_live(db, view) < enough:
                return False
            if view.candidate is None:
                return True
            votes = duels.record(db, view.number, view.candidate, view.active).votes
            return not wealth.leads(votes, duels.Reign.of(db, view.name).choices)

    def activate(self, name: str, number: int, user: str | None = None) -> dict[str, Any]:
        """Let a version answer; its index is built before the change."""
        view = self._writer.snapshot.collection(name)
        index = self._asker.index(view, view.version(number))
        return self._writer.submit(changes.activate, name, number, index, view.revision, user).result()

    def preview(self, name: str) -> tuple[int, Metric]:
        """What the live clicks would give, and the event it stands for; plain features where nothing was said.

        It is learned while somebody waits, so that of wide vectors it is the metric of ``gmml``.
        """
        snapshot = self._writer.snapshot
        view = snapshot.collection(name)
        last = self._previews.get(view.number)
        if last is None or last[0] != snapshot.seq:
            with self._writer.store.reading() as db:
                evidence = gather(db, view, snapshot.seq)
            unknown = evidence.n == 0 or evidence.background.size == 0 or view.n_features > MOST_LEARNED
            learner = self.learner if view.n_features <= MOST_LIVE else "gmml"
            last = (snapshot.seq, view.versions[0].metric if unknown else learn(learner, evidence))
            self._previews[view.number] = last
        return last


def ranks_alike(metric: Metric, other: Metric) -> bool:
    """Whether one metric is a multiple of another, up to rounding, so that both give every list in the same order."""
    M, N = formed(metric), formed(other)
    size = np.trace(N) / max(np.trace(M), TINY)
    return M.shape == N.shape and bool(np.allclose(M * size, N, rtol=0, atol=1e-9 * np.abs(N).max()))


def formed(metric: Metric) -> np.ndarray:
    """What decides the order of a list: M on the features, or [A a] of a metric by the angle of A x + a."""
    d = metric.n_features or 0
    affine = metric.view(np.ones((1, d))).affine
    if affine is None or not affine.by_angle:
        return metric.matrix
    A = np.eye(d) if affine.L is None else affine.L
    return A if affine.b is None else np.column_stack([A, affine.b])


def save_metric(folder: Path, metric: Any, version: Version) -> Path:
    """Write the metric of a version under a name of its own and wait for the disk."""
    file = folder / f"{secrets.token_hex(8)}.gram"
    about = {"learner": version.learner, "clicks": version.events, "through event": version.through}
    try:
        persist.save(metric, file, about={"name": version.name, **about})
        sync_folder(folder)
    except OSError as error:
        if refused_by_disk(error):
            raise StorageFull(f"Space: the disk did not take the metric ({error}); make room first.") from error
        raise
    return file
