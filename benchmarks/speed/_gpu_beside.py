"""The work of the benchmark for GPUs on CPU cores, each case on one core in a process of its own."""

import time
import warnings
from collections.abc import Callable
from functools import partial
from multiprocessing import TimeoutError as TookTooLong
from multiprocessing import get_context
from typing import Any

import numpy as np

import gramian as gm
from benchmarks import harness

MOST_S = 360.0
"""Wall seconds after which a case that is not done on the CPU is left out."""


def mnist(n: int, components: int | None = None) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Training and test images with their labels, on principal components when asked for."""
    from sklearn.decomposition import PCA

    data = harness.load("mnist")
    X, y = np.asarray(data.X, dtype=np.float32) / 255, np.asarray(data.y)
    A, B = X[:n], X[60000:]
    if components is not None:
        pca = PCA(components, svd_solver="covariance_eigh").fit(A)
        A, B = pca.transform(A), pca.transform(B)
    return A, y[:n], B, y[60000:]


def blobs(n: int, d: int, n_classes: int, spread: float) -> tuple[np.ndarray, np.ndarray]:
    """Points around centers, and which."""
    rng = np.random.default_rng(0)
    labels = rng.integers(n_classes, size=n)
    return rng.normal(size=(n_classes, d))[labels] + spread * rng.normal(size=(n, d)), labels


def accuracy(metric: Any, A: Any, y: np.ndarray, B: Any, truth: np.ndarray) -> float:
    """Share of test points that the majority of three neighbors gets right; the nearest one when all differ."""
    ids = gm.ExactIndex(metric).add(A).query(B, 3)[0]
    votes = y[ids.cpu().numpy() if hasattr(ids, "cpu") else ids]
    return float((np.where(votes[:, 1] == votes[:, 2], votes[:, 1], votes[:, 0]) == truth).mean())


def fitted(learner: Any, make: Callable[[], tuple], tested: bool = False) -> dict[str, Any]:
    """CPU seconds, objective and, where ``make`` also gives test points, accuracy of a fit."""
    A, y, *test = make()
    start = time.process_time()
    learner.fit(A, y)
    found = {"cpu_s": time.process_time() - start, "cpu_objective": learner.objective_}
    if tested:
        found["cpu_accuracy"] = accuracy(learner.metric_, A, y, *test)
    return found


def evaluation(n: int, components: int) -> dict[str, Any]:
    """CPU seconds of one value and gradient of NCA's loss: a fit takes one or two for each of its steps."""
    from gramian.learners.nca import nca_loss

    A, y, _, _ = mnist(n)
    L = np.eye(components, A.shape[1], dtype=np.float32)
    start = time.process_time()
    nca_loss(L, A, y.astype(int))
    return {"cpu_s": time.process_time() - start}


def searched(n: int, m: int) -> dict[str, Any]:
    """CPU seconds of m exact queries."""
    rng = np.random.default_rng(0)
    X, Q = (rng.normal(size=(size, 128)).astype(np.float32) for size in (n, m))
    index = gm.ExactIndex(gm.Mahalanobis.euclidean(128)).add(X)
    index.query(Q[:5], 10)
    start = time.process_time()
    index.query(Q, 10)
    return {"cpu_s": time.process_time() - start}


def features(n: int, rank: int) -> dict[str, Any]:
    """CPU seconds of pivoted Cholesky features."""
    X = np.random.default_rng(0).normal(size=(n, 50))
    start = time.process_time()
    gm.KernelFeatures(gm.Gaussian(8.0), rank=rank).fit(X)
    return {"cpu_s": time.process_time() - start}


class Beside:
    """Cases on CPU cores, all at once, and what came of them, to be merged into the rows of the GPU."""

    def __init__(self, cases: dict[str, partial], quick: bool) -> None:
        self.began = time.perf_counter()
        if quick:
            self.pool = None
            self.found = {name: _measured(case) for name, case in cases.items()}
            return
        self.pool = get_context("spawn").Pool(min(len(cases), 13))
        self.found = {name: self.pool.apply_async(_measured, (case,)) for name, case in cases.items()}

    def merge(self, rows: list[dict[str, Any]]) -> None:
        """Put CPU seconds, objectives and accuracies beside those of the GPU; blank where a case took too long."""
        for row in rows:
            found = self.of(row["case"]) if row["method"] == "fit" else None
            if found:
                row.update(found)
                row["ratio"] = row["cpu_s"] / row["seconds"]

    def close(self) -> None:
        """End what still runs."""
        if self.pool is not None:
            self.pool.terminate()

    def of(self, name: str) -> dict[str, Any] | None:
        """What was measured of a case; None where it took too long."""
        if name not in self.found or self.pool is None:
            return self.found.get(name)
        try:
            return self.found[name].get(max(1.0, MOST_S - (time.perf_counter() - self.began)))
        except TookTooLong:
            print(name, "takes too long on the CPU", flush=True)
            return None


def _measured(case: partial) -> dict[str, Any]:
    from threadpoolctl import threadpool_limits

    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        return case()
