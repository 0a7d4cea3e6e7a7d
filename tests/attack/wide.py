"""One estimator or function on a few sparse points of ten million columns, in a process of its own.

``python -m tests.attack.wide ITML [empty|one|few]`` prints a line of JSON: how it ended, CPU seconds and the largest
resident size. A process may take no more than ``MOST_SECONDS`` and ``MOST_BYTES``: what wants more is refused.
"""

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
from scipy import sparse

import gramian as gm
from tests.attack.many import SETTINGS, TooLong, class_of, estimators

ROOT = Path(__file__).parents[2]
N, D = 24, 10**7
MOST_SECONDS, MOST_BYTES = 20, 4 << 30
Y = np.arange(N) % 3


def stop(*given):
    """End a call that takes too long, once."""
    signal.signal(signal.SIGXCPU, signal.SIG_IGN)
    raise TooLong


def points(kind):
    """Points without an entry, with one, or with a few."""
    rng = np.random.default_rng(0)
    n = {"empty": 0, "one": 1, "few": 60}[kind]
    rows, columns = rng.integers(N, size=n), rng.integers(D, size=n)
    return sparse.csr_array((rng.normal(size=n) + 1, (rows, columns)), shape=(N, D))


def index(kind):
    """An index of the points under a kernel, and an answer of it."""

    def ask(X):
        features = gm.KernelFeatures(gm.Gaussian(2.0), rank=3).fit(X)
        metric = gm.KernelMetric(features, np.eye(features.transform(X[:1]).shape[1]))
        return kind(metric).add(X).query(X, 3)

    return ask


FUNCTIONS = {
    "select_clusterings": lambda X: gm.clustering.select_clusterings(X, (2, 2)),
    **{name: getattr(gm, name)() for name in ("Linear", "Cosine", "Polynomial", "Laplacian", "Intersection")},
    "Gaussian": gm.Gaussian(2.0),
    "ChiSquared": gm.ChiSquared(),
    "align": lambda X: gm.align([gm.Gaussian(1.0), gm.Linear()], X, Y),
    "pivoted_cholesky": lambda X: gm.pivoted_cholesky(gm.Gaussian(2.0), X),
    "select_subset": lambda X: gm.select_subset(gm.Gaussian(2.0)(X), 3),
    "NeighborGraph": lambda X: gm.manifold.NeighborGraph(5)(X),
    **{
        f"{name}:rank": lambda X, name=name: asked_of(getattr(gm, name)(rank=3).fit(X, Y), X)
        for name in ("ITML", "Framework", "LEGO", "OnlineITML", "OnlineVonNeumann")
    },
    "ExactIndex": index(gm.ExactIndex),
    "HashIndex": index(gm.HashIndex),
    "KernelHashIndex": index(gm.KernelHashIndex),
    "OnlineHashIndex": lambda X: gm.OnlineHashIndex(gm.LEGO()).add(X),
}


def names():
    """All that is asked."""
    return [name for name in estimators() if ":" not in name] + list(FUNCTIONS)


def asked_of(model, X):
    """What a fitted model says of the same points."""
    return [getattr(model, method)(X) for method in ("predict", "transform") if hasattr(model, method)]


def ask(name, X):
    """Fit and ask, or call."""
    return FUNCTIONS[name](X) if name in FUNCTIONS else asked_of(class_of(name)(**SETTINGS.get(name, {})).fit(X, Y), X)


def run(name, kind):
    """The line of one name."""
    X, outcome, start = points(kind), "done", time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ask(name, X)
        except (ValueError, TypeError) as error:
            outcome = str(error)
        except TooLong:
            outcome = f"no answer in {MOST_SECONDS} CPU s"
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    cpu = round(time.process_time() - start, 1)
    return {"name": name, "kind": kind, "outcome": outcome, "cpu_s": cpu, "peak_gb": round(peak, 2)}


def asked(name, kind):
    """The line of one name, run in a process of its own."""
    one = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "NUMBA")}
    env = {**os.environ, **one, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    command = [sys.executable, "-m", "tests.attack.wide", name, kind]
    done = subprocess.run(command, capture_output=True, text=True, env=env, cwd=ROOT)
    if done.returncode:
        end = done.stderr.strip().splitlines()[-1:] or [f"ended by signal {-done.returncode}"]
        return {"name": name, "kind": kind, "outcome": end[0], "cpu_s": None, "peak_gb": None}
    return json.loads(done.stdout.splitlines()[-1])


if __name__ == "__main__":
    signal.signal(signal.SIGXCPU, stop)
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, 2 * MOST_SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    print(json.dumps(run(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "few")))
