"""LMNN and NCA of other packages on given points; run in their own environment."""

import time
import warnings


def main(arrays):
    """Fit what ``arrays["learner"]`` names; returns CPU seconds, the factor L and the iterations."""
    warnings.simplefilter("ignore")
    X, y, options = arrays["X"], arrays["y"], {}
    if "max_iter" in arrays:
        options["max_iter"] = int(arrays["max_iter"])
    learner = {"metric-learn LMNN": lmnn, "metric-learn NCA": nca}[str(arrays["learner"])](options)
    start = time.process_time()
    learner.fit(X, y)
    seconds = time.process_time() - start
    return {"seconds": seconds, "components": learner.components_, "n_iter": int(getattr(learner, "n_iter_", 0))}


def lmnn(options):
    """Its defaults: k = 3, pull and push weighed one half each."""
    from metric_learn import LMNN

    return LMNN(n_neighbors=3, **options)


def nca(options):
    """Its defaults."""
    from metric_learn import NCA

    return NCA(**options)
