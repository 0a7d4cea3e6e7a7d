"""LMNN over blocks: targets and impostors come from the sharded index, and hinges are summed where their points are.

Anchors are cut into batches. The triplets of a batch, on the points that they need, are the ordinary
:class:`~gramian.learners.impostors.Triplets`: pull, hinges, multipliers and scatters are sums over anchors, so those of
all points are the sums over the batches.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gramian import linalg
from gramian.constraints import Labels
from gramian.dask import passes, views
from gramian.dask.rows import Rows
from gramian.dask.sharded import ShardedIndex
from gramian.dask.views import View
from gramian.learners import initial
from gramian.learners.impostors import BUFFER, State, Triplets
from gramian.learners.lmnn import LMNN
from gramian.metrics import Mahalanobis
from gramian.search import ExactIndex

IMPOSTORS = 50
"""Impostors of a point that are looked at, the nearest ones."""
ANCHORS = 20_000
"""Anchors of a batch, and points of a question to the index."""


@dataclass(frozen=True, eq=False)
class Batch:
    """Triplets on the rows ``names``, the anchors among them ``own``."""

    names: np.ndarray
    own: np.ndarray
    triplets: Triplets


@dataclass(frozen=True, eq=False)
class BlockedTriplets:
    """The words of :class:`Triplets` for points Z in blocks: ``renewed``, ``updated``, ``smoothed`` and ``state``."""

    Z: Rows
    near: np.ndarray
    push: float
    index: ShardedIndex
    mu: float = 0.25
    batches: tuple[Any, ...] = ()

    @property
    def _anchors(self) -> list[np.ndarray]:
        n = len(self.Z)
        return [np.arange(start, min(start + ANCHORS, n)) for start in range(0, n, ANCHORS)]

    def renewed(self, L: np.ndarray, labels: Labels) -> "BlockedTriplets":
        """The impostors at L, by the index; multipliers of pairs that stay are kept."""
        with_targets = self if self.batches else replace(self, batches=self._built(None))
        reach = np.concatenate(self.Z.engine.each(reach_of, [(batch, L) for batch in with_targets.batches]))
        anchor, other = impostors(self.index.with_metric(metric_of(self.Z.view, L)), self.Z, labels, reach)
        return replace(self, batches=with_targets._built((anchor, other)))

    def _built(self, pairs: tuple[np.ndarray, np.ndarray] | None) -> tuple[Any, ...]:
        """Batches with their points: each block sends the rows that a batch needs."""
        wanted, args = [], []
        for number, own in enumerate(self._anchors):
            anchor, other = (np.zeros(0, np.intp),) * 2
            if pairs is not None:
                part = slice(*np.searchsorted(pairs[0], (own[0], own[-1] + 1)))
                anchor, other = pairs[0][part], pairs[1][part]
            names = np.unique(np.concatenate([own, self.near[own].ravel(), other]))
            old = self.batches[number] if self.batches else None
            wanted.append(names)
            args.append((self.Z.view, names, own, self.near[own], anchor, other, self.push, old))
        some = replace(self.Z, view=View(self.Z.view.width))
        return tuple(some.engine.exchange(views.pieces_of, passes.sending(some, wanted), batch_of, args))

    def updated(self, L: np.ndarray) -> "BlockedTriplets":
        """λ⁰ ← λ(L)."""
        return replace(self, batches=tuple(self.Z.engine.kept(updated_of, [(b, L, self.mu) for b in self.batches])))

    def pull(self) -> np.ndarray:
        """Scatter of target pairs."""
        return initial.pull(self.Z, self.near)

    def smoothed(self, L: np.ndarray) -> tuple[float, np.ndarray]:
        """Pull plus smoothed hinges, and the gradient."""
        tasks = [(batch, L, self.mu) for batch in self.batches]
        return self.Z.engine.total(smoothed_of, tasks, merge=views.summed)

    def state(self, L: np.ndarray, ridge: np.ndarray) -> State:
        """Objective and optimality at L."""
        tasks = [(batch, L, self.mu) for batch in self.batches]
        objective, slackness, dual, scatter = self.Z.engine.total(state_of, tasks, merge=views.summed)
        return State(objective + float((ridge * L**2).sum()), slackness, dual, scatter + np.diag(ridge))


def batch_of(
    pieces: list[np.ndarray],
    view: View,
    names: np.ndarray,
    own: np.ndarray,
    near: np.ndarray,
    anchor: np.ndarray,
    other: np.ndarray,
    push: float,
    old: Batch | None,
) -> Batch:
    """The triplets of a batch on the rows that were sent; rows that are no anchors have no targets."""
    Z = view.of(np.concatenate(pieces))
    places = np.repeat(np.arange(len(names))[:, None], near.shape[1], axis=1)
    places[np.searchsorted(names, own)] = np.searchsorted(names, near)
    here = np.searchsorted(names, anchor), np.searchsorted(names, other)
    lam = np.zeros((len(anchor), near.shape[1]))
    if old is not None and len(old.triplets.anchor):
        n = int(max(names[-1], old.names[-1])) + 1
        before = old.names[old.triplets.anchor] * n + old.names[old.triplets.other]
        at = np.minimum(np.searchsorted(before, anchor * n + other), len(before) - 1)
        kept = before[at] == anchor * n + other
        lam[kept] = old.triplets.lam[at[kept]]
    return Batch(names, own, Triplets(Z, places, push, *here, lam))


def reach_of(batch: Batch, L: np.ndarray) -> np.ndarray:
    """How near an impostor of each anchor is: its farthest target, the margin and the buffer; −∞ without a target."""
    near, _ = batch.triplets.slacks(batch.triplets.Z @ L.T)
    reach = np.where(batch.triplets.real.any(axis=1), 1 + BUFFER + near.max(axis=1), -np.inf)
    return reach[np.searchsorted(batch.names, batch.own)]


def updated_of(batch: Batch, L: np.ndarray, mu: float) -> Batch:
    """The batch with λ⁰ ← λ(L)."""
    return replace(batch, triplets=replace(batch.triplets, mu=mu).updated(L))


def smoothed_of(batch: Batch, L: np.ndarray, mu: float) -> tuple[float, np.ndarray]:
    """Pull plus smoothed hinges of a batch."""
    return replace(batch.triplets, mu=mu).smoothed(L)


def state_of(batch: Batch, L: np.ndarray, mu: float) -> tuple[float, float, float, np.ndarray]:
    """The four sums of a :class:`State`."""
    state = replace(batch.triplets, mu=mu).state(L, np.zeros(L.shape[1]))
    return state.objective, state.slackness, state.dual, state.scatter


def metric_of(view: View, L: np.ndarray) -> Mahalanobis:
    """The metric on the points of a factor on what is seen of them."""
    return Mahalanobis(L if view.A is None else L @ view.A.T)


def questions(Z: Rows, labels: Labels) -> Any:
    """Points of one class, some at a time, with their class: rows here, and as they lie in the blocks."""
    raw = replace(Z, view=View(Z.view.width))
    for number, members in enumerate(labels.groups()):
        for start in range(0, len(members), ANCHORS):
            rows = members[start : start + ANCHORS]
            yield number, members, rows, linalg.gathered(raw[rows])


def impostors(index: ShardedIndex, Z: Rows, labels: Labels, reach: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pairs (i, l) of different classes with ‖z_i − z_l‖² < reach_i, at most a number for each i; sorted."""
    found = []
    everyone = np.arange(len(Z))
    for number, _, rows, points in questions(Z, labels):
        others = everyone[labels.codes != number]
        if len(others) == 0 or not np.isfinite(reach[rows]).any():
            continue
        ids, D = index.query(points, min(IMPOSTORS, len(others)), within=others)
        i, l = np.nonzero(reach[rows, None] > D)
        found.append(np.stack([rows[i], ids[i, l]]))
    pairs = np.concatenate(found, axis=1) if found else np.zeros((2, 0), np.intp)
    return tuple(pairs[:, np.lexsort((pairs[1], pairs[0]))])  # type: ignore[return-value]  # two rows


class BlockedLMNN(LMNN):
    """LMNN of points in blocks."""

    def _index(self, X: Rows) -> ShardedIndex:
        """All points on the workers, by their place in X, under the metric of what is seen of them."""
        raw = replace(X, view=View(X.view.width))
        d = X.view.width
        index = ShardedIndex(getattr(X.engine, "client", None), Mahalanobis.euclidean(d), ExactIndex)
        places, parts, chosen = zip(*passes.tasks(raw))
        everyone = np.arange(len(X))
        return index.add_parts(parts, chosen, [everyone[at] for at in places])

    def _targets(self, X: Any, labels: Labels, k: int) -> np.ndarray:
        if not isinstance(X, Rows):
            return super()._targets(X, labels, k)
        self._shards = getattr(self, "_shards", None) or self._index(X)
        index = self._shards.with_metric(metric_of(X.view, np.eye(X.view.size)))
        near = np.repeat(np.arange(len(X))[:, None], k, axis=1)
        for _, members, rows, points in questions(X, labels):
            m = min(k, len(members) - 1)
            if m > 0:
                ids, _ = index.query(points, m + 1, within=members)
                near[rows, :m] = without_self(ids, rows)
        return near

    def _hinges(self, Z: Any, near: np.ndarray, weight: Any = None) -> Any:
        if not isinstance(Z, Rows):
            return super()._hinges(Z, near, weight)
        return BlockedTriplets(Z, near, float(self.push), self._shards)

    def _descend(self, X: Any, labels: Labels, rng: Any, report: Any) -> Any:
        self._shards = None
        try:
            return super()._descend(X, labels, rng, report)
        finally:
            del self._shards


def without_self(ids: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Each row of ids without the point itself, which may have copies before it."""
    own = ids == rows[:, None]
    own[~own.any(axis=1), -1] = True
    return ids[~own].reshape(len(ids), -1)
