"""Accuracy of neighbors set by set: the learners that should lose to nobody."""

from typing import Any

import numpy as np

from benchmarks.speed.learners_quality import SEEDS, SETS, fits, paired, with_error

TITLE = "SCML, LFDA, MMC and ITML with their defaults, set by set"
LEARNERS = ("SCML", "LFDA", "MMC", "ITML")
NOTES = """
The fits of the table above: accuracy of 3 neighbors, and the difference from metric-learn and from the features on the
same halves, with the standard error over them. The last row of a learner is the mean over sets, with the standard error
over sets; that of metric-learn is over the sets where it ends in reasonable time.
"""


def run(quick: bool = False) -> list[dict[str, Any]]:
    """A row for each learner and set; the quick form has one half of one set."""
    parts = fits(SETS[:1], 1) if quick else fits(SETS, SEEDS)
    return [row for learner in LEARNERS for row in rows(learner, parts)]


def rows(learner: str, parts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The sets of a learner, and all of them."""
    sets = paired(learner, parts)
    found = [row(learner, name, one) for name, one in sets.items()]
    means = {
        key: np.array([one[key].mean() for one in sets.values()]) for key in ("features", "metric-learn", "gramian")
    }
    return [*found, row(learner, "all", means)]


def row(learner: str, name: str, one: dict[str, np.ndarray]) -> dict[str, Any]:
    """Means, and differences with their errors."""
    return {
        "learner": learner,
        "set": name,
        "features": one["features"].mean(),
        "metric-learn": None if np.isnan(one["metric-learn"]).all() else np.nanmean(one["metric-learn"]),
        "gramian": one["gramian"].mean(),
        "against metric-learn": with_error(one["gramian"] - one["metric-learn"]),
        "against features": with_error(one["gramian"] - one["features"]),
    }
