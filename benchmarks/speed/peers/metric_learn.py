"""Learners of metric-learn on given pairs, chunks and bounds; run in its own environment."""

import time
import warnings


def main(arrays):
    """Fit the learner that ``arrays["learner"]`` names; returns CPU seconds, the factor L and the iterations."""
    warnings.simplefilter("ignore")
    fit = LEARNERS[str(arrays["learner"])](arrays)
    seconds = []
    for _ in range(int(arrays["repeats"])):
        start = time.process_time()
        learner = fit()
        seconds.append(time.process_time() - start)
    L, n_iter = real(learner.components_), getattr(learner, "n_iter_", 0)
    found = {"seconds": sorted(seconds)[len(seconds) // 2], "components": L, "n_iter": int(n_iter)}
    return found | getattr(learner, "found_", {})


def real(L):
    """A factor whose complex numbers are real up to rounding, or not a number."""
    import numpy as np

    L = np.real_if_close(L)
    return L if np.isrealobj(L) else np.full(L.shape, np.nan)


def pairs(arrays):
    """Pairs (m, 2, d) and their signs."""
    X, left, right, similar = (arrays[k] for k in ("X", "left", "right", "similar"))
    import numpy as np

    return np.stack([X[left], X[right]], axis=1), np.where(similar, 1, -1)


def itml(arrays):
    """Its bounds are compared with squared distances: given as such, it solves the same problem."""
    from metric_learn import ITML

    P, y = pairs(arrays)
    learner = ITML(gamma=float(arrays["gamma"]), max_iter=int(arrays["max_iter"]), prior="identity")
    return lambda: learner.fit(P, y, bounds=arrays["bounds"])


def mmc(arrays):
    """Full matrix from the identity, its default limits."""
    from metric_learn import MMC

    P, y = pairs(arrays)
    return lambda: MMC(init="identity").fit(P, y)


def rca(arrays):
    """Whole chunks, no reduction."""
    from metric_learn import RCA

    return lambda: RCA().fit(arrays["X"], arrays["chunks"])


def covariance(arrays):
    """Without labels."""
    from metric_learn import Covariance

    return lambda: Covariance().fit(arrays["X"])


def lfda(arrays):
    """Two directions."""
    from metric_learn import LFDA

    return lambda: LFDA(n_components=2).fit(arrays["X"], arrays["y"])


def mlkr(arrays):
    """Labels as numbers, its default start and limits."""
    from metric_learn import MLKR

    return lambda: MLKR().fit(arrays["X"], arrays["y"].astype(float))


def lsml(arrays):
    """Given quadruplets, identity prior, its default limits."""
    from metric_learn import LSML

    return lambda: LSML().fit(arrays["X"][arrays["quadruplets"]])


def scml(arrays):
    """Triplets and bases of its own making, and the weights that it found."""
    from metric_learn import SCML_Supervised
    from metric_learn.constraints import Constraints

    class Open(SCML_Supervised):
        def _components_from_basis_weights(self, basis, w):
            triplets = Constraints(arrays["y"]).generate_knntriplets(arrays["X"], self.k_genuine, self.k_impostor)
            self.found_ = {"bases": basis, "weights": w, "triplets": triplets}
            return super()._components_from_basis_weights(basis, w)

    return lambda: Open(random_state=0).fit(arrays["X"], arrays["y"])


LEARNERS = {
    "itml": itml,
    "mmc": mmc,
    "rca": rca,
    "covariance": covariance,
    "lfda": lfda,
    "mlkr": mlkr,
    "lsml": lsml,
    "scml": scml,
}
