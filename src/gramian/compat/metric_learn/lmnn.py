"""LMNN."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import TransformerMixin

import gramian as gm
from gramian.compat.metric_learn.base_metric import MahalanobisMixin
from gramian.compat.metric_learn.exceptions import note
from gramian.compat.metric_learn.fitting import fit_with
from gramian.compat.metric_learn.matrices import check_n_components, start
from gramian.compat.metric_learn.parameters import store


class LMNN(TransformerMixin, MahalanobisMixin):
    """Large margin nearest neighbors; see :class:`gramian.LMNN`.

    ``regularization`` is the weight of the pull, one minus it that of the push. The problem is solved to its own
    tolerance; ``learn_rate``, ``min_iter`` and ``convergence_tol`` have no meaning here.
    """

    def __init__(
        self,
        init="auto",
        n_neighbors=3,
        min_iter=50,
        max_iter=1000,
        learn_rate=1e-7,
        regularization=0.5,
        convergence_tol=0.001,
        verbose=False,
        preprocessor=None,
        n_components=None,
        random_state=None,
        k="deprecated",
    ):
        store(self, locals(), k="n_neighbors")

    def fit(self, X: Any, y: Any) -> "LMNN":
        """Learn from points with labels."""
        if (self.learn_rate, self.min_iter) != (1e-7, 50):
            note("LMNN: learn_rate and min_iter are not used; the problem is solved to a gap.")
        X, y = self._prepare_inputs(X, y, dtype=float, ensure_min_samples=2)
        r = check_n_components(X.shape[1], self.n_components)
        learner = gm.LMNN(
            self.n_neighbors,
            (1 - self.regularization) / max(self.regularization, 1e-9) or 1e-9,
            n_components=r,
            init=start(X, y, self.init, r),
            anchor=0,
            max_iter=self.max_iter,
            callback=_steps() if self.verbose else None,
            random_state=self.random_state,
        )
        fit_with(self, learner, X, y)
        self.labels_ = np.unique(y, return_inverse=True)[1]
        if self.verbose and learner.converged_:
            print("LMNN converged with objective", learner.objective_)
        return self


def _steps() -> Callable:
    """A callback that prints step, objective, its change and the residual."""
    before = None
    print("iter | objective | objective difference | residual")

    def report(n_iter: int, value: float, residual: float) -> None:
        nonlocal before
        print(n_iter, value, 0.0 if before is None else value - before, residual)
        before = value

    return report
