"""Accuracy of 3 neighbors under every learner of metric-learn with its defaults; run in its own environment."""

import time
import warnings

import numpy as np


def main(arrays):
    """Fit on the training half; accuracy on the other, or not a number where the fit fails, and CPU seconds."""
    import metric_learn as ml

    warnings.simplefilter("ignore")
    learners = {
        "Covariance": ml.Covariance(),
        "ITML": ml.ITML_Supervised(random_state=0),
        "LFDA": ml.LFDA(),
        "LMNN": ml.LMNN(random_state=0),
        "LSML": ml.LSML_Supervised(random_state=0),
        "MMC": ml.MMC_Supervised(random_state=0),
        "NCA": ml.NCA(random_state=0),
        "RCA": ml.RCA_Supervised(random_state=0),
        "SCML": ml.SCML_Supervised(random_state=0),
        "SDML": ml.SDML_Supervised(random_state=0),
    }
    without = arrays["without"].tolist()
    return {name: measured(learner, arrays) for name, learner in learners.items() if name not in without}


def measured(learner, arrays):
    """Accuracy and CPU seconds of one learner."""
    from sklearn.neighbors import KNeighborsClassifier

    X, y, Q, truth = (arrays[name] for name in ("X", "y", "Q", "truth"))
    start = time.process_time()
    try:
        L = np.real_if_close(learner.fit(X, y).components_)
        seconds = time.process_time() - start
        accuracy = KNeighborsClassifier(3).fit(X @ L.T, y).score(Q @ L.T, truth)
    except Exception:
        return {"accuracy": float("nan"), "seconds": time.process_time() - start}
    return {"accuracy": float(accuracy), "seconds": seconds}
