"""What a learner would know after an update: by pairs, comparisons, similarities or clicks.

Each function takes a learner and gives the :class:`.Progress` after the update. Nothing is stored, so that a wrong
argument changes nothing.
"""

from dataclasses import replace
from itertools import chain
from math import inf, isnan
from typing import Any

import numpy as np
from scipy import sparse

from gramian import _validate, linalg
from gramian.constraints import Constraints, Pairs
from gramian.coordinates import Coordinates, Plain
from gramian.online.base import KINDS, Forms
from gramian.online.progress import Progress, standing
from gramian.online.step_size import StepSizeRace
from gramian.solvers import rows_of

GENTLE = 0.1
"""η s² of clicks at most, s the farthest of the first list or of their own. The race for η is won by steps that fit the
clicks best, which is not what the person asks next: they take a good metric down. So do steps in the unit of a close
list where points of the next one lie far apart."""
ORDINARY = 1e100
"""Entries up to it pass every check."""


def pair(learner: Any, u: Any, v: Any, target: float, kind: str) -> Progress:
    """After one pair of points."""
    owner = type(learner).__name__
    _validate.one_of(kind, owner, "kind", learner._kinds)
    target = _validate.number(target, owner, "target", low=0)
    now = standing(learner, _width(u))
    U, W = checked_two(now.coordinates, u, v, owner)
    if sparse.issparse(U) and now.coordinates.whole:
        raise TypeError(f"{owner}: u must be dense, got a sparse matrix; pass u.toarray(), or give rank.")
    return _after(learner, now, U, W, np.array([target]), np.array([KINDS[kind]]))


def clicks(learner: Any, query: Any, liked: Any, disliked: Any, shown: Any) -> Progress:
    """After clicks on a list: what is liked goes to the first place of it, what is disliked behind the last."""
    owner = type(learner).__name__
    now = standing(learner, _width(query))
    q = checked_one(now.coordinates, query, owner, "query")
    groups = [
        checked_group(now.coordinates, points, name, owner)
        for points, name in ((liked, "liked"), (disliked, "disliked"))
    ]
    judged = [group for group in groups if group is not None]
    if not judged:
        raise ValueError(f"{owner}: feedback needs something liked or disliked, got neither.")
    screen = stacked(judged) if shown is None else checked_group(now.coordinates, shown, "shown", owner)
    if screen is None:
        raise ValueError(f"{owner}: shown must hold the points of the list, got none; leave it out if it is not known.")
    d = now.metric.sqdist_of(q, screen)[0]  # (length of the list,)
    sizes = [0 if group is None else linalg.count(group) for group in groups]
    targets = np.repeat([d[d > 0].min(initial=d.max()), d.max()], sizes)
    signs = np.repeat([KINDS["at_most"], KINDS["at_least"]], sizes)
    queries = linalg.take(q, np.zeros(sum(sizes), np.intp))
    return _gently(learner, now, float(d.max()), (queries, stacked(judged), targets, signs))


def _gently(learner: Any, now: Progress, farthest: float, clicked: tuple[Any, Any, np.ndarray, np.ndarray]) -> Progress:
    """After clicks, with a step that suits their list where no number was given and no race is on."""
    rule, eta = now.rule, now.eta
    if not isinstance(rule, StepSizeRace) or rule.races(now.state) or farthest == 0:
        return _after(learner, now, *clicked)
    step = min(gentle_step(farthest, type(learner).__name__), inf if isnan(eta) else eta)
    after = _after(learner, replace(now, state=rule.settled(now.state, step)), *clicked)
    return after if isnan(eta) else replace(after, state=rule.settled(after.state, eta))


def gentle_step(farthest: float, owner: str) -> float:
    """η of clicks on a list, from its farthest squared distance."""
    eta = GENTLE / farthest / farthest
    if not 0 < eta < inf:
        raise ValueError(f"{owner}: squared distances of {farthest:.3g} are too small or too large for a step size.")
    return eta


def by_points(learner: Any, points: tuple[Any, ...], side: Constraints) -> Progress:
    """After one constraint on a few points."""
    owner = type(learner).__name__
    now = standing(learner, _width(points[0]))
    rows = [checked_one(now.coordinates, point, owner, "a point") for point in points]
    return forms(learner, now, stacked(rows), side)


def batch(learner: Any, now: Progress, X: Any, side: Constraints) -> Progress:
    """After all constraints on some points, in their order."""
    if not isinstance(side, Pairs):
        return forms(learner, now, X, side)
    signs = np.where(side.similar, 1, -1) if learner.hinge else np.zeros(len(side), dtype=int)
    return _after(learner, now, X[side.left], X[side.right], side.limit, signs)


def forms(learner: Any, now: Progress, X: Any, side: Constraints) -> Progress:
    """After constraints on forms of rank two, each an upper bound of ⟨A_i, M⟩."""
    owner = type(learner).__name__
    if not now.coordinates.whole:
        raise ValueError(f"{owner}: takes only pairs with rank or features, got {type(side).__name__}.")
    rows = Forms(*rows_of(side, linalg.dense(X).astype(np.float64)).squares())
    try:
        return now.after_forms(rows, side.bound, np.full(len(rows), KINDS["at_most"]))
    except (NotImplementedError, OverflowError) as error:
        raise ValueError(f"{owner}: {error}") from error


def _after(learner: Any, now: Progress, U: Any, W: Any, targets: np.ndarray, signs: np.ndarray) -> Progress:
    try:
        return now.after(U, W, targets, signs.astype(np.int64), learner.comparator)
    except OverflowError as error:
        raise ValueError(f"{type(learner).__name__}: {error}.") from error


def _width(point: Any) -> int | None:
    """Number of features of one point, None when it is no vector."""
    try:
        shape = np.shape(point)
    except ValueError:  # rows of different lengths, which the door refuses
        return None
    return shape[-1] if shape else None


def checked_one(space: Coordinates, point: Any, owner: str, name: str) -> Any:
    """A checked set of one point."""
    return space.check(space.one(point, owner, name), owner, name)


def checked_two(space: Coordinates, u: Any, v: Any, owner: str) -> tuple[Any, Any]:
    """Two checked points, plain vectors in one go."""
    if type(space) is Plain and _is_vector(u) and _is_vector(v) and len(u) == len(v) == space.d:
        rows = np.array((u, v))  # (2, d)
        if np.abs(rows).max() <= ORDINARY:  # NaN is not
            return rows[:1], rows[1:]
    return checked_one(space, u, owner, "u"), checked_one(space, v, owner, "v")


def _is_vector(x: Any) -> bool:
    return isinstance(x, np.ndarray) and x.ndim == 1 and x.dtype == np.float64


def checked_group(space: Coordinates, points: Any, name: str, owner: str) -> Any:
    """Checked points, None when there are none."""
    if points is None:
        return None
    require_several(points, name, owner)
    if linalg.count(points) == 0:
        return None
    if getattr(points, "ndim", 2) == 1 and space.n_features is not None:
        points = points.reshape(1, -1) if hasattr(points, "reshape") else np.asarray(points).reshape(1, -1)
    return space.check(points, owner, name)


def require_several(points: Any, name: str, owner: str) -> None:
    """Refuse what holds no points."""
    if isinstance(points, str | bytes | dict) or not (hasattr(points, "shape") or hasattr(points, "__len__")):
        raise ValueError(f"{owner}: {name} must be points, got {_validate.shown(points)}.")
    if hasattr(points, "shape") and len(points.shape) == 0:
        raise ValueError(f"{owner}: {name} must be points, got a single number.")


def stacked(groups: list[Any]) -> Any:
    """Points of several sets as one."""
    if len(groups) == 1:
        return groups[0]
    if any(map(sparse.issparse, groups)):
        return sparse.csr_array(sparse.vstack(groups))
    return np.concatenate(groups) if isinstance(groups[0], np.ndarray) else list(chain.from_iterable(groups))
