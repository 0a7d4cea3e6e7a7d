"""NCA against scikit-learn, metric-learn and mlpack: time, objective and memory."""

import time
import warnings
from functools import partial
from typing import Any

import numpy as np

import gramian as gm
from benchmarks import harness
from benchmarks.speed.neighbors import halves, peer, three_nearest
from gramian.learners.nca import nca_loss

TITLE = "NCA"
NOTES = """
*Objective* is −Σ p_i, measured by our own loss for everybody; *accuracy* that of 3-NN on the other half of the digits.

- Digits half: 898 points. scikit-learn stops by itself after two steps on raw digits, where all its probabilities are 0
  or 1, at a worse objective; on data divided by 16 it reaches ours. mlpack 4.8 has L-BFGS, all others their defaults.
- 8,000 × 64: the first MNIST training images on 64 principal components, ours to its default tolerance, scikit-learn's
  for ten steps. *Same objective*: CPU seconds until the objective that both reach, the worse of the two ends. *Memory*
  is the largest resident size of a process that does nothing else.
"""


def digits_half(unit: float, quick: bool) -> list[dict[str, Any]]:
    """NCA on a digits half, divided by a unit; other packages once, and on divided data only."""
    from sklearn.neighbors import NeighborhoodComponentsAnalysis

    X, test, y, truth = halves(0, unit)
    runs = {}
    for method, learner in (("gramian", gm.NCA(anchor=0)), ("scikit-learn", NeighborhoodComponentsAnalysis())):
        seconds, fitted = harness.timed(lambda: learner.fit(X, y), repeats=3)  # noqa: B023
        runs[method] = (seconds, fitted.components_, fitted.n_iter_)
    for method in ("mlpack", "metric-learn") if unit > 1 and not quick else ():
        runs[method] = peer(f"{method} NCA", X, y)
    return [
        {
            "case": f"NCA, digits half / {unit:.0f}",
            "method": method,
            "cpu_s": seconds,
            "ratio": seconds / runs["gramian"][0],
            "objective": nca_loss(L, X, y)[0],
            "accuracy": three_nearest(L, X, y, test, truth),
            "n_iter": n_iter or None,
        }
        for method, (seconds, L, n_iter) in runs.items()
    ]


def reached(path: list[tuple[float, float]], level: float) -> tuple[int, float, float]:
    """Step, CPU seconds and objective where a path is first at the level, or at its end."""
    step = next((k for k, (_, value) in enumerate(path) if value <= level), len(path) - 1)
    return step + 1, *path[step]


def nca_paths(X: np.ndarray, y: np.ndarray, steps: int) -> dict[str, list[tuple[float, float]]]:
    """CPU seconds and objective after each step, of ours and of scikit-learn's."""
    from sklearn.neighbors import NeighborhoodComponentsAnalysis
    from threadpoolctl import threadpool_limits

    path, seen, clock = [], [], time.process_time
    with threadpool_limits(1):
        start = clock()
        gm.NCA(callback=lambda k, value, residual: path.append((clock() - start, value)), anchor=0).fit(X, y)
        path[-1] = (clock() - start, path[-1][1])
        start = clock()
        note = lambda L, k: seen.append((clock() - start, L.reshape(-1, X.shape[1]).copy()))  # noqa: E731
        theirs = NeighborhoodComponentsAnalysis(max_iter=steps, callback=note).fit(X, y)
        seen[-1] = (clock() - start, theirs.components_)
    return {"gramian": path, "scikit-learn": [(seconds, nca_loss(L, X, y)[0]) for seconds, L in seen]}


def nca_large(n: int, steps: int = 10) -> list[dict[str, Any]]:
    """Time, objective and memory at n × 64."""
    from sklearn.decomposition import PCA
    from sklearn.neighbors import NeighborhoodComponentsAnalysis

    data = harness.load("mnist")
    X = PCA(64, random_state=0).fit_transform(np.asarray(data.X[:n], dtype=float) / 255)
    y = np.array(data.y[:n])
    del data  # not part of anybody's memory
    paths = nca_paths(X, y, steps)
    level = max(path[-1][1] for path in paths.values())
    one = {"gramian": gm.NCA(max_iter=1, anchor=0), "scikit-learn": NeighborhoodComponentsAnalysis(max_iter=1)}
    peaks = {method: harness.peak_memory(partial(learner.fit, X, y)) / 1e6 for method, learner in one.items()}
    rows = []
    for part, end in (("", -np.inf), (", same objective", level)):
        ends = {method: reached(path, end) for method, path in paths.items()}
        for method, (n_iter, seconds, value) in ends.items():
            row = {"case": f"NCA, MNIST {n} × 64{part}", "method": method, "cpu_s": seconds}
            row |= {"ratio": seconds / ends["gramian"][1], "objective": value, "n_iter": n_iter}
            rows.append(row | {"memory_MB": peaks[method]})
    return rows


def run(quick: bool = False) -> list[dict[str, Any]]:
    """All rows; the quick form has a small set, and no packages but scikit-learn."""
    warnings.simplefilter("ignore")
    return digits_half(1.0, quick) + digits_half(16.0, quick) + nca_large(1000 if quick else 8000)
