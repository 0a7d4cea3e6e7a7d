"""One estimator with its defaults on many points, in a process of its own: ``python -m tests.attack.many LMNN [N D]``.

Prints a line of JSON: CPU seconds, the largest resident size, what was said or refused, and for a metric the precision
at ten of 2,000 new points among 20,000 others, beside that of the plain distance. ``half`` is the same for a fit on
half as many points as it took by itself: what more points could still bring.
"""

import json
import resource
import sys
import time
import warnings

import numpy as np

import gramian as gm

SETTINGS = {
    "Kernelized": {"learner": gm.ITML()},
    "SubsetDistance": {"distance": gm.Gaussian(5.0), "m": 20},
}
"""What an estimator cannot do without."""
SKIPPED = {"TupleClassifier": "takes tuples, and learns as its learner does"}


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


def run(name, n, d):
    X, y = draw(n, d, 1)
    cls, settings = getattr(gm, name), SETTINGS.get(name, {})
    start, outcome, model = time.process_time(), "done", None
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            model = cls(**settings).fit(X, y)
        except (ValueError, TypeError) as error:
            outcome = str(error)
    cpu = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    line = {"name": name, "outcome": outcome, "cpu_s": round(cpu, 1), "peak_gb": round(peak, 2)}
    line["said"] = [str(warning.message) for warning in said]
    most = getattr(cls, "_most_points", None) or getattr(model, "max_points", None)
    if model is not None and most is not None and hasattr(model, "metric_"):
        warnings.simplefilter("ignore")
        half = cls(**settings).fit(*draw(most // 2, d, 1))
        line["precision"] = {"default": precision(model.metric_, d), "half": precision(half.metric_, d)}
        line["precision"]["plain"] = precision(gm.Mahalanobis.euclidean(d), d)
    return line


if __name__ == "__main__":
    sizes = [int(text) for text in sys.argv[2:4]] or [100_000, 100]
    print(json.dumps(run(sys.argv[1], *sizes)))
