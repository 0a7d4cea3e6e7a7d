"""metric-learn in its own environment, where that can be made."""

import subprocess
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

import numpy as np

from benchmarks import harness

REQUIREMENTS = ("metric-learn==0.7.0", "scikit-learn<1.8")
VERSION = "0.7.0"
LEARNERS = {"LMNN": "LMNN", "ITML": "ITML_Supervised"}
"""Names on the page, and of its classes; its RCA and LFDA refuse few labels with their defaults."""


@cache
def available() -> dict[str, Callable]:
    """Its learners by name; none, when the environment cannot be made here."""
    try:
        python = harness.peer_python("metric-learn", REQUIREMENTS)
    except (OSError, subprocess.CalledProcessError):
        return {}
    return {name: partial(fit, python, cls) for name, cls in LEARNERS.items()}


def fit(python: Path, learner: str, X: np.ndarray, y: np.ndarray, seed: int) -> Callable[[np.ndarray], np.ndarray]:
    """The coordinates of a learner with its defaults."""
    script = Path(__file__).parent / "metric_learners.py"
    given = {"learner": learner, "X": X, "y": y, "seed": seed}
    L = np.array(harness.run_peer(python, script, given, timeout=240)["components"])
    return lambda T: T @ L.T
