"""Learners of pairs."""

import gramian.compat.metric_learn as metric_learn

ON_PAIRS = [metric_learn.ITML(), metric_learn.MMC(), metric_learn.SDML(balance_param=1e-5)]


def name(estimator):
    return type(estimator).__name__
