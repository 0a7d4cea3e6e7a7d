"""Learners, features and search on a GPU, with one CPU core beside them; to be run on a CUDA machine."""

import statistics
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import gramian as gm
from benchmarks import harness
from gramian import _device

TITLE = "On a GPU"
NOTES = """
The same calls as on the CPU, with torch tensors on the device; what is fitted is plain NumPy. *Seconds* are wall
seconds of the whole call, median of three after a call that warms up, with the device synchronized; products in
float32 have TF32 off. *Memory* is the largest that torch had allocated on the device meanwhile, inputs included. *CPU
seconds* are those of one core of the same machine with NumPy, for the same work: MCML for three steps; of ITML one
value and gradient of the dual and one product with its Hessian, which is what its steps consist of. Learners of pairs
have 200,000 of them on a million points.
"""
LIMIT = 8.0
"""Gigabytes that a million points of 128 features may take."""


def available() -> bool:
    """Whether this machine has a CUDA device that torch can use."""
    try:
        import torch
    except ImportError:
        return False
    return torch.cuda.is_available()


def device() -> str:
    """Where the benchmark runs: the GPU, or in quick runs without one torch on the CPU."""
    return "cuda" if available() else "cpu"


def device_name() -> str:
    """Name of the device."""
    import torch

    return torch.cuda.get_device_name(0) if available() else "CPU (torch)"


def measured(fn: Callable[[], Any], repeats: int = 3, warmup: int = 1) -> tuple[float, float, Any]:
    """Median wall seconds, largest memory in GB, and the last result of ``fn()``."""
    import torch

    seconds, result = [], None
    for turn in range(warmup + repeats):
        if available():
            torch.cuda.synchronize()
            torch.cuda.reset_peak_memory_stats()
        start = time.perf_counter()
        result = fn()
        if available():
            torch.cuda.synchronize()
        if turn >= warmup:
            seconds.append(time.perf_counter() - start)
    peak = torch.cuda.max_memory_allocated() / 1e9 if available() else float("nan")
    return statistics.median(seconds), peak, result


def row(case: str, method: str, seconds: float, peak: float, **more: Any) -> dict[str, Any]:
    """One line of the table."""
    return {"case": case, "method": method, "device": device_name(), "seconds": seconds, "memory_GB": peak, **more}


def on_device(X: np.ndarray) -> Any:
    """A tensor on the device."""
    import torch

    return torch.as_tensor(np.ascontiguousarray(X), device=device())


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


def accuracy(metric: Any, A: Any, y: np.ndarray, B: Any, truth: np.ndarray) -> float:
    """Share of test points that the majority of three neighbors gets right; the nearest one when all differ."""
    votes = y[np.asarray(gm.ExactIndex(metric).add(A).query(B, 3)[0].cpu())]
    return float((np.where(votes[:, 1] == votes[:, 2], votes[:, 1], votes[:, 0]) == truth).mean())


def images(quick: bool) -> list[dict[str, Any]]:
    """NCA and LMNN on MNIST to their tolerances."""
    n, rows = (2000 if quick else 60000), []
    for case, components, learner in (
        ("NCA, MNIST {} × 784, default", None, gm.NCA(random_state=0)),
        ("NCA, MNIST {} × 784 to 32 dimensions, anchor=0", None, gm.NCA(32, anchor=0)),
        ("LMNN, MNIST {} × 164, k = 5, anchor=0", 164, gm.LMNN(5, reg="pull", anchor=0)),
    ):
        A, y, B, truth = mnist(n, components)
        A, B = on_device(A), on_device(B)
        learner.fit(A[:1000], y[:1000])
        seconds, peak, fitted = measured(lambda: learner.fit(A, y), 3, 0)  # noqa: B023
        found = {"n_iter": fitted.n_iter_, "converged": fitted.converged_, "objective": fitted.objective_}
        found["accuracy"] = accuracy(fitted.metric_, A, y, B, truth)
        rows.append(row(case.format(n), "fit", seconds, peak, **found))
        print(rows[-1], flush=True)
    return rows


def beside_one_core(case: str, learner: Any, X: np.ndarray, y: np.ndarray) -> list[dict[str, Any]]:
    """The same fit on the device and on one core, with how far the two results are apart."""
    from threadpoolctl import threadpool_limits

    there = on_device(X)
    seconds, peak, fitted = measured(lambda: learner.fit(there, y))
    objective = fitted.objective_
    with threadpool_limits(1):
        start = time.process_time()
        fitted = learner.fit(X, y)
        cpu = time.process_time() - start
    found = {"cpu_s": cpu, "ratio": cpu / seconds, "n_iter": fitted.n_iter_}
    rows = [row(case, "fit", seconds, peak, objective=objective, cpu_objective=fitted.objective_, **found)]
    print(rows[-1], flush=True)
    return rows


def batch_learners(quick: bool) -> list[dict[str, Any]]:
    """MCML and ITML for a few steps."""
    n, d, m = (800, 64, 2000) if quick else (20000, 512, 100_000)
    A, y, _, _ = mnist(n, 100 if not quick else 20)
    rows = beside_one_core(f"MCML, {n} × {A.shape[1]}, 3 steps", gm.MCML(anchor=0, max_iter=3), A.astype(float), y)
    rng = np.random.default_rng(0)
    labels = rng.integers(20, size=n)
    X = rng.normal(size=(20, d))[labels] + 2 * rng.normal(size=(n, d))
    rows += dual_beside_one_core(X, labels, m)
    there = on_device(X)
    whole = gm.ITML(anchor=0, n_pairs=m, random_state=0)
    seconds, peak, fitted = measured(lambda: whole.fit(there, labels), 1, 0)
    found = {"n_iter": fitted.n_iter_, "converged": fitted.converged_, "objective": fitted.objective_}
    rows.append(row(f"ITML, {m} pairs, d = {d}, to its tolerance", "fit", seconds, peak, **found))
    print(rows[-1], flush=True)
    return rows


def dual_beside_one_core(X: np.ndarray, labels: np.ndarray, m: int) -> list[dict[str, Any]]:
    """What steps of ITML consist of, on the device and on one core."""
    from threadpoolctl import threadpool_limits

    from gramian.constraints import Labels
    from gramian.coordinates import Plain, Rest
    from gramian.solvers.dual import _Dual

    itml = gm.ITML(anchor=0, n_pairs=m, random_state=0)

    def work(points: Any) -> Callable[[], Any]:
        Z, rng = _device.inside(points), np.random.RandomState(0)
        rest = Rest(Plain(Z.shape[1]), Z, Z)
        side = itml._side(Labels.from_array(labels, "gpu"), Z, rest, rng)
        dual = _Dual(itml._problem(Z, side, rest))
        x = dual.problem.bound * 0 + 1e-3
        free = x * 0 + 1

        def once() -> float:
            value, grad, info = dual.value(x)
            return value + float(dual.hessian(x, info, free)[0](grad)[0])

        return once

    seconds, peak, there = measured(work(on_device(X)))
    with threadpool_limits(1):
        once = work(X)
        start = time.process_time()
        here = once()
        cpu = time.process_time() - start
    case = f"ITML, {m} pairs, d = {X.shape[1]}, a step's parts"
    rows = [row(case, "dual", seconds, peak, objective=there, cpu_objective=here, cpu_s=cpu, ratio=cpu / seconds)]
    print(rows[-1], flush=True)
    return rows


def search(quick: bool) -> list[dict[str, Any]]:
    """Exact neighbors beside a product and topk in torch."""
    import torch

    n, batch = (20000, 200) if quick else (1_000_000, 1000)
    rng = np.random.default_rng(0)
    X, Q = (on_device(rng.normal(size=(size, 128)).astype(np.float32)) for size in (n, 10 * batch))
    index = gm.ExactIndex(gm.Mahalanobis.euclidean(128)).add(X)
    norms = (X * X).sum(dim=1)

    def ours() -> Any:
        return [index.query(Q[start : start + batch], 10) for start in range(0, len(Q), batch)]

    def plain() -> Any:
        batches = (Q[start : start + batch] for start in range(0, len(Q), batch))
        return [torch.topk(norms - 2 * (q @ X.T), 10, largest=False) for q in batches]

    seconds, peak, found = measured(ours)
    other, other_peak, _ = measured(plain)
    exact = torch.cdist(Q[:20].double(), X.double()).topk(10, largest=False).indices
    right = float((exact == found[0][0][:20]).double().mean())
    case = f"ExactIndex, {n} × 128, k = 10, batches of {batch}"
    rows = [
        row(case, "ExactIndex", seconds, peak, queries_per_s=len(Q) / seconds, recall=right, ratio=1.0),
        row(case, "torch matmul + topk", other, other_peak, queries_per_s=len(Q) / other, ratio=other / seconds),
    ]
    hashed = gm.HashIndex(gm.Mahalanobis.euclidean(128), random_state=0).add(X)
    some = Q[:batch]
    seconds, peak, found = measured(lambda: hashed.query(some, 10))
    right = float((exact == found[0][:20]).double().mean())
    case = f"HashIndex, {n} × 128, 256 bits, k = 10, one batch of {batch}"
    rows.append(row(case, "HashIndex", seconds, peak, queries_per_s=batch / seconds, recall=right))
    print(*rows, sep="\n", flush=True)
    return rows


def features(quick: bool) -> list[dict[str, Any]]:
    """Pivoted Cholesky of a Gaussian kernel."""
    n, rank = (5000, 50) if quick else (1_000_000, 200)
    X = np.random.default_rng(0).normal(size=(n, 50))
    there = on_device(X)
    seconds, peak, fitted = measured(lambda: gm.KernelFeatures(gm.Gaussian(8.0), rank=rank).fit(there))
    case = f"KernelFeatures, {n} × 50, rank {rank}"
    rows = [row(case, "fit", seconds, peak, explained=fitted.explained_)]
    print(rows[-1], flush=True)
    return rows


def a_million(quick: bool) -> list[dict[str, Any]]:
    """Learners that take a million points of 128 features, with the memory they need."""
    n = 5000 if quick else 1_000_000
    rng = np.random.default_rng(0)
    labels = rng.integers(10, size=n)
    X = on_device((rng.normal(size=(10, 128))[labels] + rng.normal(size=(n, 128))).astype(np.float32))
    rows = []
    some = {"n_pairs": min(n, 200_000), "random_state": 0}
    for learner in (gm.RCA(), gm.GMML(**some), gm.MMC(**some), gm.ITML(**some)):
        seconds, peak, _ = measured(lambda: learner.fit(X, labels), 3, 0)  # noqa: B023
        case = f"{type(learner).__name__}, {n} × 128, default"
        rows.append(row(case, "fit", seconds, peak, fits=peak <= LIMIT))
        print(rows[-1], flush=True)
    return rows


def run(quick: bool = False) -> list[dict[str, Any]]:
    """All parts; the quick form is small and runs without a GPU too."""
    if not quick and not available():
        raise RuntimeError("gpu: needs a CUDA device and torch; run it where there is one, or with --quick.")
    warnings.simplefilter("ignore")
    parts = (search, features, batch_learners, images, a_million)
    return [line for part in parts for line in part(quick)]
