"""One estimator with its defaults on many points, in a process of its own: ``python -m tests.attack.many LMNN [N D]``.

Prints a line of JSON: CPU seconds, the largest resident size, what was said or refused, and for a metric the precision
at ten of 2,000 new points among 20,000 others, beside that of the plain distance. A process may take no more than
``MOST_SECONDS`` and ``MOST_BYTES``: what wants more ends, or is refused.
"""

import inspect
import json
import os
import resource
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.base import BaseEstimator

import gramian as gm

ROOT = Path(__file__).parents[2]
MOST_SECONDS, MOST_BYTES = 120, 8 << 30
SETTINGS = {
    "Kernelized": {"learner": gm.ITML()},
    "SubsetDistance": {"distance": gm.Gaussian(5.0), "m": 20},
}
"""What an estimator cannot do without."""
FEW_LABELS = ("TDL", "GeometryAwareKernel")
"""Those made for few labels are also asked with two in a hundred: ``TDL:few``."""
NUMBERS = ("MLKR",)
"""Those made for numbers in place of classes are also asked with them: ``MLKR:numbers``."""
SKIPPED = {"TupleClassifier": "takes tuples, and learns as its learner does"}


def estimators() -> list[str]:
    """The public estimators, and the other ways in which some of them are asked."""
    classes = {name: getattr(gm, name) for name in gm._registry.HOME if inspect.isclass(getattr(gm, name))}
    found = [name for name, cls in classes.items() if issubclass(cls, BaseEstimator) and name not in SKIPPED]
    more = [f"{name}:few" for name in FEW_LABELS] + [f"{name}:numbers" for name in NUMBERS]
    return [*found, *more]


class TooLong(BaseException):
    """More CPU seconds than a process may take."""


def stop(*given):
    """End a fit that takes too long."""
    raise TooLong


def class_of(name):
    """The class that a name stands for."""
    return getattr(gm, name.partition(":")[0])


def draw(n, d, seed):
    """Ten classes of two clusters each: they differ in a quarter of the features, and noise grows over the others."""
    rng, fixed = np.random.default_rng(seed), np.random.default_rng(0)
    centers = fixed.standard_normal((20, d)) * (np.arange(d) < d // 4)
    cluster = rng.integers(20, size=n)
    return centers[cluster] * 0.8 + rng.standard_normal((n, d)) * np.linspace(0.5, 2, d), cluster % 10


def precision(metric, d):
    """Share of the ten nearest that have the class of a new point."""
    X, y = draw(22_000, d, 2)
    index = gm.ExactIndex(metric).add(X[2000:])
    return float((y[2000:][index.query(X[:2000], 10)[0]] == y[:2000, None]).mean())


def targets(X, y, how):
    """Labels, two in a hundred of them, or numbers."""
    if how == "few":
        return np.where(np.random.default_rng(3).random(len(y)) < 0.02, y, -1)
    return X[:, :3].sum(axis=1) if how == "numbers" else y


def run(name, n, d):
    """The line of one estimator."""
    plain, _, how = name.partition(":")
    X, labels = draw(n, d, 1)
    y = targets(X, labels, how)
    start, outcome, model = time.process_time(), "done", None
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            model = class_of(name)(**SETTINGS.get(plain, {})).fit(X, y)
        except (ValueError, TypeError) as error:
            outcome = str(error)
        except TooLong:
            outcome = f"no answer in {MOST_SECONDS} CPU s"
    cpu = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    line = {"name": name, "outcome": outcome, "cpu_s": round(cpu, 1), "peak_gb": round(peak, 2)}
    line["said"] = [str(warning.message) for warning in said]
    metric = getattr(model, "metric_", None)
    if metric is not None and metric.coordinates.n_features == d and how != "numbers":
        line["precision"] = {"default": precision(metric, d), "plain": precision(gm.Mahalanobis.euclidean(d), d)}
    return line


def measured(name, *sizes):
    """The line of one estimator, run in a process of its own."""
    one = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "NUMBA")}
    env = {**os.environ, **one, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    command = [sys.executable, "-m", "tests.attack.many", name, *map(str, sizes)]
    done = subprocess.run(command, capture_output=True, text=True, env=env, cwd=ROOT)
    if done.returncode:
        end = done.stderr.strip().splitlines()[-1:] or [f"ended by signal {-done.returncode}"]
        return {"name": name, "outcome": end[0], "cpu_s": None, "peak_gb": None, "said": []}
    return json.loads(done.stdout.splitlines()[-1])


if __name__ == "__main__":
    signal.signal(signal.SIGXCPU, stop)
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, 3 * MOST_SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    given = [int(text) for text in sys.argv[2:4]] or [100_000, 100]
    print(json.dumps(run(sys.argv[1], *given)))
