"""LMNN and NCA of other packages on given points; run in their own environments."""

import sys
import time
import types
import warnings


def main(arrays):
    """Fit what ``arrays["learner"]`` names; returns CPU seconds, the factor L and the iterations."""
    warnings.simplefilter("ignore")
    fit = {
        "metric-learn LMNN": metric_learn_lmnn,
        "metric-learn NCA": metric_learn_nca,
        "PyLMNN": pylmnn,
        "mlpack LMNN": mlpack_lmnn,
        "mlpack NCA": mlpack_nca,
    }[str(arrays["learner"])]()
    start = time.process_time()
    components, n_iter = fit(arrays["X"], arrays["y"])
    return {"seconds": time.process_time() - start, "components": components, "n_iter": n_iter}


def fitted(learner):
    """Fit of a scikit-learn estimator."""

    def fit(X, y):
        learner.fit(X, y)
        return learner.components_, int(getattr(learner, "n_iter_", 0))

    return fit


def metric_learn_lmnn():
    """Its defaults: k = 3, pull and push weighed one half each."""
    from metric_learn import LMNN

    return fitted(LMNN(n_neighbors=3))


def metric_learn_nca():
    """Its defaults."""
    from metric_learn import NCA

    return fitted(NCA())


def pylmnn():
    """Its defaults with k = 3. The package imports GPyOpt for a search of parameters that is not used here."""
    methods = types.ModuleType("GPyOpt.methods")
    methods.BayesianOptimization = None
    sys.modules.update({"GPyOpt": types.ModuleType("GPyOpt"), "GPyOpt.methods": methods})
    from pylmnn import LargeMarginNearestNeighbor

    return fitted(LargeMarginNearestNeighbor(n_neighbors=3, random_state=0))


def mlpack_lmnn():
    """L-BFGS with k = 3; matrices come back by columns."""
    import mlpack

    return lambda X, y: (mlpack.lmnn(input_=X, labels=y, k=3, optimizer="lbfgs", seed=1)["output"].T, 0)


def mlpack_nca():
    """L-BFGS."""
    import mlpack

    return lambda X, y: (mlpack.nca(input_=X, labels=y, optimizer="lbfgs", seed=1)["output"].T, 0)
