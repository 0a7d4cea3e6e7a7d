"""Learning that stays near what is known: a learned metric on the straight path to its prior.

With few labels an exact optimum can be worse than no learning: where the labels say nothing it forgets what the
features knew. So every learner works in the leading directions U of the points under the prior M₀ = G₀ᵀG₀ only, at
least five points for each, and its core M_L, in the unit of the prior, is blended with the identity there::

    M(w) = G₀ᵀ (I + U ((1 − w) M_L − (1 − w) I) Uᵀ) G₀,      d²_w = (1 − w) d²_L + w d²_0

Outside of U the metric *is* the prior (Jain 2009, (3.6) and Theorem 5, with α = 1). The weight w is chosen on points
that were held out and on classes that were held out: the largest one within a standard error of the best gain.
Distances are linear in w, so the whole path costs one fit and two matrices of distances for each fold.
"""

import copy
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gramian import _checks, linalg
from gramian._device import to_host
from gramian.constraints import Chunklets, Comparisons, Constraints, Labels
from gramian.coordinates import Plain, Rest, Subspace
from gramian.learners.holdout import Fold, path_scores
from gramian.learners.path import Path
from gramian.learners.priors import prior_matrix
from gramian.solvers.base import Solution

WEIGHTS = np.array([0.0, 0.01, 0.03, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0])
"""Weights w of the prior to choose from."""
UNKNOWN = 0.5
"""The weight of the prior where nothing can be held out."""


def anchored(
    learner: Any, Z: Any, y: Labels | Constraints, rest: Rest, rng: np.random.RandomState, weight: Any = "auto"
) -> Solution:
    """What a learner finds on the points Z, blended with its prior: by a given weight, or by the best one."""
    root, unit_free = prior_root(learner, Z, rest), is_unit_free(y)
    points = linalg.dense(Z) if root is None else linalg.dense(Z) @ root
    size = float(linalg.row_norms(points - points.mean(axis=0)).mean())
    if size == 0:
        return learner.plain(Z, y, rest, rng)
    if learner._has_unit and unit_free:
        points = points / np.sqrt(size)
    learner = learner._seen_from(lambda: np.eye(points.shape[1]) if root is None else np.linalg.pinv(to_host(root)))
    variants = learner._variants()
    if isinstance(weight, str) or len(variants) > 1:
        learner, weight = chosen(variants, points, y, unit_free, rng, weight)
    frame = Frame.fit(root, points, learner._directions(len(points)))
    learner = learner._seen_from(lambda: to_host(frame.U))
    inner = unanchored(learner)
    solution = inner.plain(points @ frame.U, y, frame.rest(points, rest), rng)
    if not solution.converged and solution.residual > learner._far and inner.max_iter < learner.max_iter:
        inner = unanchored(learner, quiet=True)  # one bar, and steps that ascend
        inner.max_iter = learner.max_iter
        solution = inner.plain(points @ frame.U, y, frame.rest(points, rest), rng)
    found = {**solution.found, "anchor": float(weight)}
    factor = frame.lift(blended(core_of(solution), points @ frame.U, weight, unit_free))
    # Stopping early is a part of the method, not a failure, where the limit is ours and not the caller's.
    done = solution.converged or inner.max_iter < learner.max_iter
    return replace(solution, M=None, factor=factor, alpha=1.0, found=found, converged=done)


def is_unit_free(y: Labels | Constraints) -> bool:
    """Whether no bound fixes the unit of the metric."""
    return isinstance(y, Labels | Chunklets | Comparisons) or y.from_data


def unanchored(learner: Any, quiet: bool = False) -> Any:
    """The learner of the problem itself, with the identity as its prior.

    It goes as far as neighbors can tell (``_enough``): what is blended with a prior need not be exact.
    """
    inner = copy.copy(learner)
    inner.anchor = 0
    for name, limit in learner._enough.items():
        setattr(inner, name, limit(getattr(inner, name)))
    inner.prior = "identity"
    if quiet:
        inner.verbose, inner.callback = False, None
    return inner


def prior_root(learner: Any, Z: Any, rest: Rest) -> np.ndarray | None:
    """G₀ = M₀^{1/2}, None for the identity."""
    if _checks.is_word(learner.prior, "identity"):
        return None
    owner = type(learner).__name__
    return linalg.psd_sqrt(prior_matrix(learner.prior, linalg.dense(Z), rest, owner))


def core_of(solution: Solution) -> np.ndarray:
    """M of a solution."""
    return solution.M if solution.factor is None else solution.factor.T @ solution.factor


def blended(M: np.ndarray, Z: np.ndarray, weight: float, unit_free: bool) -> np.ndarray:
    """(1 − w) M + w I, with M in the unit in which the points Z are as far apart as they are."""
    eye = np.eye(len(M), like=M)
    return (1 - weight) * unit(M, Z, unit_free) * M + weight * eye


def unit(M: np.ndarray, Z: np.ndarray, unit_free: bool) -> float:
    """The factor that makes the mean squared distance of points under M the plain one; 1 where bounds fix it."""
    if not unit_free:
        return 1.0
    spread = Z - Z.mean(axis=0)
    S = spread.T @ spread
    size = float(np.sum(S * M))
    return float(np.trace(S)) / size if size > 0 else 0.0


@dataclass(frozen=True, eq=False)
class Frame:
    """Where an anchored fit works: leading directions U (r, p) of the points under the prior, of root G₀."""

    root: np.ndarray | None
    U: np.ndarray

    @classmethod
    def fit(cls, root: np.ndarray | None, points: np.ndarray, most: int) -> "Frame":
        """The first directions of the points G₀z, ``most`` of them."""
        return cls(root, leading_directions(points - points.mean(axis=0), most))

    def rest(self, points: np.ndarray, under: Rest) -> Rest:
        """What lies outside of U."""
        return Rest(Subspace(self.U), points, points @ self.U, under)

    def lift(self, core: np.ndarray) -> np.ndarray:
        """The factor of I + U(M − I)Uᵀ under the prior: its symmetric root times G₀."""
        inside = linalg.psd_sqrt(core) - np.eye(len(core), like=core)
        whole = np.eye(len(self.U), like=core) + self.U @ inside @ self.U.T
        return whole if self.root is None else whole @ self.root


def leading_directions(V: np.ndarray, most: int) -> np.ndarray:
    """Orthonormal columns (r, p): the principal directions of centered points, as far as they vary."""
    n, r = V.shape
    values, vectors = linalg.eigh(V.T @ V if r <= n else V @ V.T)
    keep = np.flatnonzero(values > 1e-10 * max(values[-1], 0.0))[::-1][:most]
    if r <= n:
        return vectors[:, keep]
    return V.T @ (vectors[:, keep] / np.sqrt(values[keep]))


def chosen(
    variants: list[Any],
    points: np.ndarray,
    y: Labels | Constraints,
    unit_free: bool,
    rng: np.random.RandomState,
    weight: Any = "auto",
    path_of: Any = None,
    errors: float | None = None,
) -> tuple[Any, float]:
    """The variant of a learner with the largest gain, and the weight of the prior for it.

    "auto" is the largest weight whose gain is within a standard error of the best one, the prior where nothing is sure,
    or within as many ``errors``, which the learner says in ``_care`` when None.
    ``path_of`` is what finds a path on a fold, :func:`fold_path` when None.
    """
    auto = isinstance(weight, str)
    weights = WEIGHTS if auto else np.array([weight, 1.0])
    folds = list(variants[0]._folds(y, rng))
    best = (-np.inf, variants[0], UNKNOWN if auto else weight)
    for variant in variants:
        quiet = unanchored(variant, quiet=True)
        found = [part for fold in folds for part in fold_gains(quiet, points, fold, unit_free, rng, weights, path_of)]
        if found:
            mean, error = gain_and_error(found)
            top = int(np.argmax(mean)) if auto else 0
            care = variant._care if errors is None else errors
            within = care * error[top] if care else 0.0  # an error may be infinite
            careful = weights[mean >= mean[top] - within].max() if auto else weight
            best = max(best, (float(mean[top]), variant, float(careful)), key=lambda one: one[0])
    return best[1:]


def fold_gains(
    learner: Any,
    points: np.ndarray,
    fold: Fold,
    unit_free: bool,
    rng: np.random.RandomState,
    weights: np.ndarray = WEIGHTS,
    path_of: Any = None,
) -> Iterator[tuple[str, np.ndarray]]:
    """Gains (clusters, weights) on what one fold held out, by kind; a fold that cannot be learned from says nothing."""
    try:
        path = (path_of or fold_path)(learner, points, fold, unit_free, rng)
    except ValueError:
        return
    for kind, scores in path_scores(fold, points, path, weights):
        yield kind, scores - scores[:, -1:]


def fold_path(learner: Any, points: np.ndarray, fold: Fold, unit_free: bool, rng: np.random.RandomState) -> Path:
    """What the learner finds on the rows of one fold, on the way to the prior."""
    seen = points[fold.rows]
    frame = Frame.fit(None, seen, learner._directions(len(seen)))
    if frame.U.shape[1] == 0:
        raise ValueError("all points are the same")
    Z = seen @ frame.U
    learner = learner._seen_from(lambda: to_host(frame.U))
    core = core_of(learner.plain(Z, fold.side, frame.rest(seen, Rest(Plain(seen.shape[1]), seen, seen)), rng))
    return Path(frame.U, linalg.psd_sqrt(unit(core, Z, unit_free) * core))


def gain_and_error(
    found: list[tuple[str, np.ndarray]], counts: dict[str, float] | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """The gain over all kinds and its standard error over clusters, for each weight.

    ``counts`` says how much a kind counts beside the others; all the same when None.
    """
    kinds = {kind: np.concatenate([gain for name, gain in found if name == kind]) for kind, _ in found}
    count = np.array([(counts or {}).get(kind, 1.0) for kind in kinds])
    share = (count / count.sum())[:, None]
    means = np.stack([values.mean(axis=0) for values in kinds.values()])
    variances = [values.var(axis=0, ddof=min(1, len(values) - 1)) / len(values) for values in kinds.values()]
    return np.sum(share * means, axis=0), np.sqrt(np.sum(share**2 * np.stack(variances), axis=0))
