"""The descent of LMNN: searches for impostors, steps on the factor, and updates of the multipliers, in turn."""

from dataclasses import dataclass, replace

import numpy as np

from gramian.learners.factor_descent import Start
from gramian.learners.hinges import Hinges
from gramian.learners.impostors import State, Triplets
from gramian.learners.task import Task
from gramian.solvers.base import Result, Solution, ended
from gramian.solvers.descent import descend

INTERVAL, FIRST, LONGEST = 5, 3, 80
"""Steps between two searches for impostors, before the second one, and at most."""
PATIENCE = 4
"""Searches without progress before the hinge is made sharper."""


@dataclass
class Watch:
    """What was reached so far: ``stalled`` counts searches since the residual or the objective was last at its best."""

    scale: float = 0.0
    residual: float = np.inf
    objective: float = np.inf
    stalled: int = 0

    def see(self, state: State, L: np.ndarray) -> float:
        """Take in a state; its residual relative to the objective, which may fall to 1/1000 of where it began."""
        self.scale = self.scale or 1e-3 * state.objective
        residual = state.residual(L, max(state.objective, self.scale))
        better = residual < self.residual or state.objective < 0.999 * self.objective
        self.stalled = 0 if better else self.stalled + 1
        self.residual, self.objective = min(self.residual, residual), min(self.objective, state.objective)
        return residual

    @property
    def circling(self) -> bool:
        """Whether multipliers go around in circles."""
        return self.stalled % PATIENCE == PATIENCE - 1

    @property
    def hopeless(self) -> bool:
        """Whether nothing has helped for long."""
        return self.stalled > 10 * PATIENCE


def descend_margins(start: Start, task: Task, triplets: Triplets | Hinges, done: int = 0) -> Solution:
    """Minimize pull, hinges and penalty over L from a start; ``done`` steps are behind."""
    tol, max_iter, report = task.effort.tol, int(task.effort.max_iter or 1), task.report
    L = start.L
    watch = Watch()
    interval = INTERVAL
    convex = L.shape[0] >= L.shape[1]
    while True:
        triplets = triplets.renewed(L, task.y)
        state = triplets.state(L, start.ridge)
        residual = watch.see(state, L)
        if report is not None:
            report(done, state.objective, residual)
        steps = min(interval if done else FIRST, max_iter - done)
        if residual <= tol or steps <= 0 or watch.hopeless:
            break
        end = descend(start.penalized(triplets.smoothed), L, max_iter=steps)
        L = end.point
        done += end.n_iter
        triplets = triplets.updated(L)
        if watch.circling:
            # A sharper hinge helps, and, where it is convex, longer descents.
            interval = min(2 * interval, LONGEST) if convex else interval
            triplets = replace(triplets, mu=triplets.mu / 2)
    return Solution(
        factor=start.coordinates.lift(L),
        objective=state.objective,
        gap=state.gap(L, triplets.pull() + np.diag(start.ridge)),
        n_iter=max(done, 1),
        # Below full rank the hinges may have no stationary point in reach: it stalls where the objective does not fall.
        result=Result.stalled if watch.hopeless and residual > tol else ended(residual, tol, done, max_iter),
        residual=residual,
        tol=tol,
    )
