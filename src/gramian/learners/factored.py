"""Learners of labels, and those among them that descend over a factor L of the metric."""

import copy
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gramian import _checks, linalg
from gramian.constraints import Constraints, Labels
from gramian.learners import targets
from gramian.learners.base import MetricLearner
from gramian.learners.initial import Coordinates, given_start, initial
from gramian.learners.progress import progress
from gramian.solvers.base import Solution
from gramian.solvers.descent import Descent, descend

SINGLE, SINGLE_TOL = 200, 1e-4
"""From so many points on a descent starts in single precision, and goes on in double below this residual."""
ROUGH = 1e-3
"""A tolerance from which on single precision is enough, where the value alone is then found in double."""


class LabelLearner(MetricLearner):
    """Base of learners that use the labels themselves, and take no other constraints."""

    _accepts: tuple[type[Constraints], ...] = ()

    def _from_labels(self, Z: Any, labels: Labels, rest: Any, rng: Any) -> Labels:
        return labels


class FactorLearner(LabelLearner):
    """Base of learners that descend over L, with M = LᵀL; the hook is ``_descend(X, labels, rng, report)``.

    ``report(iteration, objective, residual)`` is None when nobody listens.
    """

    _enough = {"tol": lambda tol: max(tol, 1e-2), "max_iter": lambda most: min(most, 50)}

    def __init__(
        self,
        n_components=None,
        *,
        init="auto",
        reg=0.0,
        prior="identity",
        anchor="auto",
        max_iter=1000,
        tol=1e-5,
        verbose=False,
        callback=None,
        random_state=None,
    ):
        self.n_components = n_components
        self.init = init
        self.reg = reg
        self.prior = prior
        self.anchor = anchor
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose
        self.callback = callback
        self.random_state = random_state

    def _seen_from(self, turn: Callable[[], np.ndarray]) -> Any:
        if isinstance(self.init, str):
            return self
        T = turn()
        L = given_start(self.init, len(T), len(T), type(self).__name__) @ T
        seen = copy.copy(self)
        seen.init = linalg.psd_sqrt(L.T @ L)
        return seen

    def _require(self, side: Any) -> None:
        """Raise unless there is something to learn from."""
        targets.require_classes(side, type(self).__name__)

    @abstractmethod
    def _descend(self, X: np.ndarray, labels: Labels, rng: Any, report: Callable | None) -> Solution: ...

    def _learn(self, Z: np.ndarray, side: Labels, rest: Any, rng: np.random.RandomState) -> Solution:
        owner = type(self).__name__
        self._require(side)
        with progress(owner, self.verbose, self.max_iter, self.callback) as report:
            return self._descend(Z, side, rng, report)


@dataclass(frozen=True, eq=False)
class Start:
    """What a descent over a factor needs: the coordinates, the points Z on them, the first L, the penalty on L."""

    coordinates: Coordinates
    Z: np.ndarray
    L: np.ndarray
    ridge: np.ndarray

    @classmethod
    def make(cls, learner: FactorLearner, X: np.ndarray, labels: Labels, rng: Any, **options: Any) -> "Start":
        """Start of a learner, in coordinates from three neighbors per point."""
        reg = _checks.number(learner.reg, type(learner).__name__, "reg", low=0)
        return cls.around(learner, X, labels, rng, targets.same_class(X, labels, 3), reg, **options)

    @classmethod
    def around(cls, learner: Any, X: Any, labels: Any, rng: Any, near: Any, reg: float, **options: Any) -> "Start":
        """Start with the given neighbors and weight of ‖L‖²."""
        L = initial(learner.init, X, labels, learner.n_components, rng, type(learner).__name__)
        coordinates = Coordinates.fit(X, near, reg, **options)
        L = coordinates.lower(L, given=not isinstance(learner.init, str))
        return cls(coordinates, coordinates.of(X), L, reg * coordinates.norms)

    def by_class(self, codes: np.ndarray) -> tuple["Start", np.ndarray]:
        """The same problem with the points in the order of their classes."""
        order = np.argsort(codes, kind="stable")
        return replace(self, Z=self.Z[order]), codes[order]

    def penalized(self, loss: Callable, share: float = 1.0) -> Callable:
        """The loss plus ``share`` of reg · ‖L‖² (Chatpatanasiri et al. 2010, Theorem 3)."""
        ridge = share * self.ridge

        def fun(L: np.ndarray) -> tuple[float, np.ndarray]:
            value, gradient = loss(L)
            return value + float((ridge * L**2).sum()), gradient + 2 * ridge * L

        return fun if ridge.any() else loss

    def descend(
        self,
        loss: Callable,
        *,
        max_iter: int,
        tol: float,
        report: Callable | None,
        height: float | None = None,
        value: Callable | None = None,
    ) -> Descent:
        """Minimize ``loss(L, Z)`` plus the penalty until ‖∇f‖ ‖L‖ ≤ tol · n, or f ≤ tol · height.

        With many points most of the way goes in single precision; the end is judged in double, or only its
        ``value(L, Z)`` is where ``tol`` is not small.
        """
        point = self.L
        done = 0
        single = len(self.Z) >= SINGLE
        rough = single and value is not None and tol >= ROUGH
        dtypes = [dtype for dtype, used in ((np.float32, single), (np.float64, not rough)) if used]
        for dtype in dtypes:
            end = descend(
                self.penalized(in_precision(loss, self.Z, dtype)),
                point,
                max_iter=max_iter - done,
                tol=tol if dtype is np.float64 else max(tol, SINGLE_TOL),
                scale=len(self.Z),
                height=height,
                callback=shifted(report, done),
            )
            point = end.point
            done += end.n_iter
        if rough and value is not None:
            end = replace(end, value=value(point, self.Z) + float((self.ridge * point**2).sum()))
        return replace(end, n_iter=done)

    def solution(self, end: Descent, tol: float, unit: float = 1.0) -> Solution:
        """The end of a descent as the solution on X, with the objective times ``unit``."""
        return Solution(
            factor=self.coordinates.lift(end.point),
            objective=unit * end.value,
            n_iter=max(end.n_iter, 1),  # scikit-learn counts the look at the start
            converged=end.residual <= tol,
            residual=end.residual,
            tol=tol,
        )


def in_precision(loss: Callable, Z: Any, dtype: Any) -> Callable:
    """``loss(L, Z)`` and its gradient of a factor in double precision, computed in another one."""
    Z = Z.astype(dtype, copy=False)

    def computed(L: Any) -> tuple[float, Any]:
        value, grad = loss(L.astype(dtype), Z)
        return value, grad.astype(np.float64, copy=False)

    return computed


def shifted(report: Callable | None, done: int) -> Callable | None:
    """A report that counts from ``done`` steps on."""
    return report and (lambda n_iter, *rest: report(done + n_iter, *rest))
