"""Learners of metric-learn on points with labels; run in its own environment."""

import time
import warnings


def main(arrays):
    """CPU seconds and the factor L of the learner that ``arrays["learner"]`` names, its defaults."""
    import metric_learn

    warnings.simplefilter("ignore")
    cls = getattr(metric_learn, str(arrays["learner"]))
    learner = cls(random_state=int(arrays["seed"]))
    start = time.process_time()
    learner.fit(arrays["X"], arrays["y"])
    return {"seconds": time.process_time() - start, "components": learner.components_}
