"""Every learner of metric-learn 0.7.0 and ours of the same name, with defaults: neighbors and time."""

import time
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.neighbors import KNeighborsClassifier

import gramian as gm
from benchmarks import harness
from benchmarks.speed.learners import REQUIREMENTS

TITLE = "Learners with their defaults, metric-learn 0.7.0 and ours"
SETS = ("iris", "wine", "breast_cancer", "digits")
NOTES = """
Accuracy of 3 neighbors on one half of a set after learning on the other, both in units of the standard deviations of
the learning half; mean over iris, wine, breast_cancer and digits, two halves each, and over the fits that ended in a
metric; *failed* counts those that raised or gave numbers that are not finite. *Features* is the accuracy of the
features themselves on the same halves, *worst set* the least difference from it on any set. ITML, LMNN and MMC of
metric-learn hit our time limit on digits and are left out there, in both libraries. Our defaults are anchored to the
features; `gramian.compat.metric_learn` solves each problem without that.
"""
SLOW = ("ITML", "LMNN", "MMC")
PEER = Path(__file__).parent / "peers" / "metric_learn_quality.py"
OURS = {
    "Covariance": gm.Covariance(),
    "ITML": gm.ITML(random_state=0),
    "LFDA": gm.LFDA(random_state=0),
    "LMNN": gm.LMNN(random_state=0),
    "LSML": gm.LSML(random_state=0),
    "MMC": gm.MMC(random_state=0),
    "NCA": gm.NCA(random_state=0),
    "RCA": gm.RCA(random_state=0),
    "SCML": gm.SCML(random_state=0),
    "SDML": gm.SDML(random_state=0),
}


def run(quick: bool = False) -> list[dict[str, Any]]:
    """A row for each learner and library; the quick form has one half of one set."""
    warnings.simplefilter("ignore")
    python = harness.peer_python("metric-learn", REQUIREMENTS)
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for name in SETS[: 1 if quick else None]:
        for seed in range(1 if quick else 2):
            key = ("learners_quality", name, seed, PEER)
            fits = harness.remembered("learners_quality", key, partial(both, python, name, seed))
            for learner, library, fit in fits:
                found.setdefault((learner, library), []).append(fit)
    return [summary(learner, library, fits) for (learner, library), fits in sorted(found.items())]


def both(python: Path, name: str, seed: int) -> list[tuple[str, str, dict[str, Any]]]:
    """What both libraries find on one half of a set: learner, library, and accuracy and CPU seconds."""
    arrays = halves(name, seed) | {"without": SLOW if name == "digits" else ()}
    part = {"set": name, "plain": accuracy(np.eye(arrays["X"].shape[1]), arrays)}
    found = []
    for learner, theirs in harness.run_peer(python, PEER, arrays).items():
        found.append((learner, "metric-learn", part | theirs))
        found.append((learner, "gramian", part | ours(learner, arrays)))
    return found


def halves(name: str, seed: int) -> dict[str, np.ndarray]:
    """A learning half and the other, scaled by the first."""
    data = harness.load(name)
    order = np.random.RandomState(seed).permutation(len(data.X))
    a, b = order[: len(order) // 2], order[len(order) // 2 :]
    mean, spread = data.X[a].mean(axis=0), data.X[a].std(axis=0)
    X = (data.X - mean) / np.where(spread > 0, spread, 1)
    codes = np.unique(data.y, return_inverse=True)[1]
    return {"X": X[a], "y": codes[a], "Q": X[b], "truth": codes[b]}


def ours(learner: str, arrays: dict[str, np.ndarray]) -> dict[str, float]:
    """Accuracy and CPU seconds of our learner."""
    start = time.process_time()
    L = OURS[learner].fit(arrays["X"], arrays["y"]).components_
    return {"seconds": time.process_time() - start, "accuracy": accuracy(L, arrays)}


def accuracy(L: np.ndarray, arrays: dict[str, np.ndarray]) -> float:
    """Share of the other half whose class 3 neighbors tell."""
    known = KNeighborsClassifier(3).fit(arrays["X"] @ L.T, arrays["y"])
    return float(known.score(arrays["Q"] @ L.T, arrays["truth"]))


def summary(learner: str, library: str, fits: list[dict[str, Any]]) -> dict[str, Any]:
    """The row of a learner."""
    good = [fit for fit in fits if np.isfinite(fit["accuracy"])]
    gains = [
        np.mean([fit["accuracy"] - fit["plain"] for fit in good if fit["set"] == name])
        for name in dict.fromkeys(fit["set"] for fit in good)
    ]
    return {
        "learner": learner,
        "library": library,
        "accuracy": np.mean([fit["accuracy"] for fit in good]) if good else None,
        "features": np.mean([fit["plain"] for fit in good]) if good else None,
        "worst set": min(gains) if gains else None,
        "failed": f"{len(fits) - len(good)} of {len(fits)}",
        "cpu_s": sum(fit["seconds"] for fit in fits),
    }
