"""LFDA, MLKR, LSML, SDML, SCML and Covariance against metric-learn 0.7.0."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.covariance import graphical_lasso

import gramian as gm
from benchmarks import harness
from gramian.constraints import Labels
from gramian.learners.combinations import Combination, combine
from gramian.learners.lfda import local_scatters
from gramian.learners.mlkr import mlkr_loss
from gramian.learners.sdml import SparseInverse, pair_balance, sparse_inverse

PEER = Path(__file__).parent / "peers" / "metric_learn.py"


class Reached(Exception):
    """The objective is as good as the peer's."""


def rows(python: Any, quick: bool = False) -> list[dict[str, Any]]:
    """Rows of six learners on a half of two sets, as they are and scaled; the quick form has one."""
    found: list[dict[str, Any]] = []
    for name, unit in (("breast_cancer", True), ("digits", True), ("breast_cancer", False), ("digits", False)):
        case = f"{name}, {'unit variance' if unit else 'raw'}"
        X, y = half(name, unit)
        for learner in (lfda, covariance, mlkr, lsml, *((sdml,) if unit else ()), scml):
            found += learner(python, case, X, y)
        if quick:
            break
    return found


def half(name: str, unit: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """A random half of a set, with unit variances or as it is."""
    data = harness.load(name)
    rows = np.random.RandomState(0).permutation(len(data.X))[: len(data.X) // 2]
    X = data.X[rows]
    spread = X.std(axis=0) if unit else np.ones(1)
    return X / np.where(spread > 0, spread, 1), data.y[rows]


def peer(python: Any, learner: str, X: np.ndarray, repeats: int = 1, **given: Any) -> dict[str, Any]:
    """The answer of metric-learn."""
    return harness.run_peer(python, PEER, {"learner": learner, "X": X, "repeats": repeats, **given})


def until(fit: Callable[[Callable], Any], goal: float) -> float:
    """CPU seconds of a fit with a callback until its objective is at most ``goal``."""

    def look(n_iter: int, value: float, residual: float) -> None:
        if value <= goal:
            raise Reached

    def stopped() -> None:
        with suppress(Reached):
            fit(look)

    return harness.cpu_time(stopped, repeats=11)


def lfda(python: Any, name: str, X: np.ndarray, y: np.ndarray) -> list[dict[str, Any]]:
    """Two directions, by the criterion itself."""
    within, between = local_scatters(X, X, Labels.from_array(y, "LFDA"), 7)

    def criterion(L: np.ndarray) -> float:
        if not np.isfinite(L).all():
            return np.nan
        return float(np.trace(np.linalg.solve(L @ within @ L.T, L @ between @ L.T)))

    seconds, ours = harness.timed(lambda: gm.LFDA(2, anchor=0).fit(X, y), repeats=11)
    theirs = peer(python, "lfda", X, repeats=11, y=y)
    found = [("gramian", seconds, criterion(ours.components_))]
    return _rows(f"LFDA, {name}", [*found, ("metric-learn", theirs["seconds"], criterion(_factor(theirs)))])


def covariance(python: Any, name: str, X: np.ndarray, y: np.ndarray) -> list[dict[str, Any]]:
    """Time, and the difference of the two."""
    seconds, ours = harness.timed(lambda: gm.Covariance().fit(X), repeats=11)
    theirs = peer(python, "covariance", X, repeats=11)
    M, L = ours.metric_.matrix, _factor(theirs)
    difference = float(np.abs(M - L.T @ L).max() / np.abs(M).max())
    return _rows(f"Covariance, {name}", [("gramian", seconds, 0.0), ("metric-learn", theirs["seconds"], difference)])


def mlkr(python: Any, name: str, X: np.ndarray, y: np.ndarray) -> list[dict[str, Any]]:
    """Labels as numbers."""
    theirs = peer(python, "mlkr", X, repeats=3, y=y)
    target = y.astype(float)[:, None]
    goal = mlkr_loss(_factor(theirs), X, target)[0]
    seconds, ours = harness.timed(lambda: gm.MLKR(anchor=0).fit(X, y), repeats=5)
    early = until(lambda look: gm.MLKR(anchor=0, callback=look).fit(X, y), goal)
    single = [array.astype(np.float32) for array in (ours.components_, X, target)]
    once = harness.cpu_time(lambda: mlkr_loss(*single), repeats=21)
    found = [("gramian", seconds, ours.objective_), ("gramian, as good", early, goal)]
    found += [("gramian, one evaluation", once, None)]
    return _rows(f"MLKR, {name}", [*found, ("metric-learn", theirs["seconds"], goal)])


def lsml(python: Any, name: str, X: np.ndarray, y: np.ndarray) -> list[dict[str, Any]]:
    """Quadruplets as metric-learn would draw: 20 C²."""
    side = gm.Quadruplets.from_labels(y, 20 * len(np.unique(y)) ** 2, random_state=0)
    index = np.stack([*side.near_ends, *side.far_ends], axis=1)
    theirs = peer(python, "lsml", X, repeats=3, quadruplets=index)
    seconds, ours = harness.timed(lambda: gm.LSML(1.0, anchor=0).fit(X, side), repeats=21)
    goal = lsml_objective(_factor(theirs), X, side)
    early = until(lambda look: gm.LSML(1.0, anchor=0, callback=look).fit(X, side), goal)
    found = [("gramian", seconds, ours.objective_), ("gramian, as good", early, goal)]
    return _rows(f"LSML, {name}", [*found, ("metric-learn", theirs["seconds"], goal)])


def lsml_objective(L: np.ndarray, X: np.ndarray, side: gm.Quadruplets) -> float:
    """D_ld(M, I) + the mean of squared residuals."""
    M = L.T @ L
    a, b = (np.linalg.norm((X[i] - X[j]) @ L.T, axis=1) for i, j in (side.near_ends, side.far_ends))
    return float(np.trace(M) - np.linalg.slogdet(M)[1] - len(M) + (np.maximum(a - b, 0) ** 2).mean())


def sdml(python: Any, name: str, X: np.ndarray, y: np.ndarray) -> list[dict[str, Any]]:
    """The sparse inverse of a covariance and half of the largest balance of 5 n pairs."""
    pairs = gm.Pairs.from_labels(y, random_state=0)
    C = np.cov(X.T) + 1e-3 * np.eye(X.shape[1])
    P, most = pair_balance(X[pairs.left] - X[pairs.right], pairs.sign, np.linalg.inv(C))
    K = C + most / 2 * P
    lam = 0.1 * np.trace(K) / len(K)
    value = SparseInverse(K, lam).primal
    seconds, ours = harness.timed(lambda: sparse_inverse(K, lam, max_iter=200, tol=1e-4))
    time, theirs = harness.timed(lambda: graphical_lasso(K, lam))
    return _rows(f"SDML, {name}", [("gramian", seconds, ours.objective), ("graphical_lasso", time, value(theirs[1]))])


def scml(python: Any, name: str, X: np.ndarray, y: np.ndarray) -> list[dict[str, Any]]:
    """The linear program of given triplets and bases."""
    theirs = peer(python, "scml", X, y=y)
    triplets = gm.Triplets(*np.array(theirs["triplets"]).T)
    problem = Combination.make(X, triplets, np.array(theirs["bases"]), 1.0)
    # β of a basis of length 1, in the scale of the problem
    problem = replace(problem, cost=1e-5 * (problem.bases**2).sum(axis=1))
    goal = scml_objective(_factor(theirs), X, triplets) + 1e-5 * float(np.sum(theirs["weights"]))
    seconds, ours = harness.timed(lambda: combine(problem, max_iter=1000, tol=5e-2), repeats=1)
    early = until(lambda look: combine(problem, max_iter=1000, tol=0.0, report=look), goal)
    found = [("gramian", seconds, ours.objective), ("gramian, as good", early, goal)]
    return _rows(f"SCML, {name}", [*found, ("metric-learn", theirs["seconds"], goal)])


def scml_objective(L: np.ndarray, X: np.ndarray, side: gm.Triplets) -> float:
    """The mean of the hinges."""
    near, far = (((X[i] - X[j]) @ L.T) ** 2 for i, j in (side.near_ends, side.far_ends))
    return float(np.maximum(1 + near.sum(axis=1) - far.sum(axis=1), 0).mean())


def _factor(answer: dict[str, Any]) -> np.ndarray:
    return np.array(answer["components"], dtype=float)


def _rows(case: str, found: list[tuple[str, float, float | None]]) -> list[dict[str, Any]]:
    ours = found[0][1]
    return [
        {"case": case, "method": method, "cpu_s": time, "ratio": time / ours, "objective": objective}
        for method, time, objective in found
    ]
