"""AutoMetric over blocks: the choice is made on a sample in memory, the chosen learner sees all points."""

from dataclasses import replace
from typing import Any

import numpy as np

from gramian import _checks, linalg
from gramian.constraints import Chunklets, Constraints, Labels
from gramian.dask.rows import Rows
from gramian.learners.automatic import AutoMetric
from gramian.learners.blend import Blend
from gramian.learners.trials import Search

SAMPLE = 20_000
"""Points on which candidates are compared; classes in proportion."""
ENDS = ("left", "right", "anchor", "near", "far", "near_left", "near_right", "far_left", "far_right")


class BlockedAutoMetric(AutoMetric):
    """AutoMetric of points in blocks; ``report_`` and ``estimate_`` are those of the sample; it tries no blends."""

    def _fit_checked(self, X: Rows, y: Any, rng: np.random.RandomState) -> None:
        from gramian.dask.learners import inner_of

        candidates = self._in_blocks(self._candidates(y))
        rows, side = sampled(y, len(X), rng)
        cv = _checks.number(self.cv, "AutoMetric", "cv", low=2, integer=True)
        search = Search(linalg.gathered(X[rows]), side, self._neighbors(), cv, rng)
        starts = self._starts(search.X)
        for start in starts:
            search.score_start(start)
        tried = list(self._tried(search, starts, candidates))
        for trial in tried:
            trial.learner = inner_of(trial.learner)
        search.X, search.y = X, y
        self._conclude(search, tried)

    def _in_blocks(self, candidates: dict[str, Any]) -> dict[str, Any]:
        """The candidates without those that need all points in memory, unless they were named: then it is an error."""
        from gramian.dask.learners import IN_MEMORY, inner_of

        if self.candidates is None:
            return {
                name: learner for name, learner in candidates.items() if not isinstance(learner, (*IN_MEMORY, Blend))
            }
        for learner in candidates.values():
            inner_of(learner)
        return candidates


def sampled(y: Any, n: int, rng: np.random.RandomState) -> tuple[np.ndarray, Any]:
    """Rows of a sample, and what is known of them."""
    if n <= SAMPLE:
        return np.arange(n), y
    if isinstance(y, Labels):
        share = SAMPLE / n
        groups = [rng.permutation(members)[: max(2, round(share * len(members)))] for members in y.groups()]
        rows = np.sort(np.concatenate(groups))
        return rows, y.of(rows)
    if isinstance(y, Chunklets):
        rows = np.sort(rng.choice(n, SAMPLE, replace=False))
        return rows, Chunklets(y.ids[rows])
    some = y[np.sort(rng.permutation(len(y))[: SAMPLE // 4])]
    return renumbered(some)


def renumbered(side: Constraints) -> tuple[np.ndarray, Constraints]:
    """The rows that constraints speak of, and the same constraints on these rows alone."""
    names = [name for name in ENDS if name in side.__dataclass_fields__]  # type: ignore[attr-defined]  # dataclasses
    rows = np.unique(np.concatenate([getattr(side, name) for name in names]))
    found = {name: np.searchsorted(rows, getattr(side, name)) for name in names}
    return rows, replace(side, **found)  # type: ignore[type-var]  # as above
