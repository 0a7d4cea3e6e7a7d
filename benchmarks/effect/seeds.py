"""Seeds against the weight of the prior: how often other folds change what is chosen."""

from typing import Any

import numpy as np

import gramian as gm
from benchmarks.effect.draws import draws
from benchmarks.effect.tasks import load
from gramian.learners.anchored import WEIGHTS

TITLE = "Other folds, other weights"
NOTES = """
With `anchor="auto"` the weight of the features is chosen on folds, and `random_state` draws them. Each row is twenty
seeds on one draw of a development task with 5, 20 or 100 labels a class: how often the weight is more than one step of
the grid (0, 0.01, 0.03, 0.1, 0.2, … 0.9, 0.95, 1) away from the median of the twenty, and the weights themselves.
"""
TASKS = (("satellite", 20), ("satellite", 100), ("yeast", 20), ("isolet", 5), ("mnist, 50 components", 20))
LEARNERS = ("RCA", "PLDA", "GMML", "MMC", "ITML", "LMNN", "NCA")
SEEDS = 20


def run(quick: bool = False) -> list[dict[str, Any]]:
    """Rows by learner and task."""
    tasks, seeds = (TASKS[:1], 3) if quick else (TASKS, SEEDS)
    return [row(name, task, labels, seeds) for name in LEARNERS for task, labels in tasks]


def row(name: str, task: str, labels: int, seeds: int) -> dict[str, Any]:
    """Weights that one learner chooses on one draw."""
    data = load(task)
    rows = draws(data, labels, 0)["seen"].train
    fits = (getattr(gm, name)(random_state=seed).fit(data.X[rows], data.y[rows]) for seed in range(seeds))
    places = np.array([int(np.argmin(np.abs(WEIGHTS - one.anchor_))) for one in fits])
    middle = int(np.median(places))
    away = int((np.abs(places - middle) > 1).sum())
    low, high = (float(WEIGHTS[place]) for place in (places.min(), places.max()))
    return {
        "learner": name,
        "task": task,
        "labels": labels,
        "seeds": seeds,
        "more than one step away": away,
        "smallest": low,
        "median": float(WEIGHTS[middle]),
        "largest": high,
    }
