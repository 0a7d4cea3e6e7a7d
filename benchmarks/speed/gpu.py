"""Learners, features and search on a GPU, with one CPU core beside them; to be run on a CUDA machine."""

import statistics
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import gramian as gm
from benchmarks.speed import _gpu_beside as beside
from benchmarks.speed._gpu_beside import accuracy, blobs, mnist

TITLE = "On a GPU"
NOTES = """
The same calls as on the CPU, with torch tensors on the device; what is fitted is plain NumPy. *Seconds* are wall
seconds of the whole call, median of three after a call that warms up, with the device synchronized; products in
float32 have TF32 off. *Memory* is the largest that torch had allocated on the device meanwhile, inputs included. *CPU*
columns are of the same call with NumPy arrays on one core of the same machine, and *ratio* is CPU seconds by seconds;
blank where the CPU had not finished after six minutes. *Accuracy* is that of three neighbors on the 10,000 test
images; NCA is not convex, and ends in different minima. Learners of pairs have 200,000 of them on a million points;
ITML keeps the plain distance there on both sides, and its objective is that of the learned part it left behind, which
on the CPU had ended after 15 steps.
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
    line = {"case": case, "method": method, "device": device_name(), "seconds": seconds, "memory_GB": peak, **more}
    print(line, flush=True)
    return line


def on_device(X: np.ndarray) -> Any:
    """A tensor on the GPU, or in quick runs without one on the CPU."""
    import torch

    return torch.as_tensor(np.ascontiguousarray(X), device="cuda" if available() else "cpu")


def image_learners(quick: bool) -> dict[str, tuple[Any, Callable[[], tuple]]]:
    """NCA and LMNN on MNIST to their tolerances: learner and data by case."""
    n, some, short = (2000, 500, 5) if quick else (60000, 10000, 200)
    return {
        f"NCA, MNIST {n} × 784, default": (gm.NCA(random_state=0), partial(mnist, n)),
        f"NCA, MNIST {n} × 784 to 32 dimensions, anchor=0": (gm.NCA(32, anchor=0, max_iter=short), partial(mnist, n)),
        f"NCA, MNIST {some} × 784, default": (gm.NCA(random_state=0), partial(mnist, some)),
        f"NCA, MNIST {some} × 784 to 32 dimensions, anchor=0": (
            gm.NCA(32, anchor=0, max_iter=short),
            partial(mnist, some),
        ),
        f"LMNN, MNIST {n} × 164, k = 5, anchor=0": (gm.LMNN(5, reg="pull", anchor=0), partial(mnist, n, 164)),
    }


def images(quick: bool) -> list[dict[str, Any]]:
    """Fits of the learners of images, and how well their neighbors classify."""
    rows = []
    for case, (learner, make) in image_learners(quick).items():
        A, y, B, truth = make()
        A, B = on_device(A), on_device(B)
        learner.fit(A[:1000], y[:1000])
        seconds, peak, fitted = measured(lambda: learner.fit(A, y), 3, 0)  # noqa: B023
        found = {"n_iter": fitted.n_iter_, "converged": fitted.converged_, "objective": fitted.objective_}
        found["accuracy"] = accuracy(fitted.metric_, A, y, B, truth)
        rows.append(row(case, "fit", seconds, peak, **found))
    return rows


def dual_learners(quick: bool) -> dict[str, tuple[Any, Callable[[], tuple]]]:
    """MCML for a few steps and ITML to its tolerance."""
    n, d, m = (800, 64, 2000) if quick else (20000, 512, 100_000)
    p = 20 if quick else 100
    itml = gm.ITML(anchor=0, n_pairs=m, random_state=0)
    return {
        f"MCML, {n} × {p}, 3 steps": (gm.MCML(anchor=0, max_iter=3), partial(mnist, n, p)),
        f"ITML, {m} pairs, d = {d}": (itml, partial(blobs, n, d, 20, 2.0)),
    }


def fits(cases: dict[str, tuple[Any, Callable[[], tuple]]], **more: Any) -> list[dict[str, Any]]:
    """Fits of learners, with the memory they need."""
    rows = []
    for case, (learner, make) in cases.items():
        X, y = make()[:2]
        X = on_device(X)
        seconds, peak, fitted = measured(lambda: learner.fit(X, y))  # noqa: B023
        found = {"n_iter": fitted.n_iter_, "converged": fitted.converged_, "objective": fitted.objective_}
        rows.append(row(case, "fit", seconds, peak, **found, **{name: test(peak) for name, test in more.items()}))
    return rows


def million(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Points of 128 features in ten classes, in single precision."""
    X, labels = blobs(n, 128, 10, 1.0)
    return X.astype(np.float32), labels


def million_learners(quick: bool) -> dict[str, tuple[Any, Callable[[], tuple]]]:
    """Learners that take a million points of 128 features."""
    n = 5000 if quick else 1_000_000
    some = {"n_pairs": min(n, 200_000), "random_state": 0}
    learners = {
        "RCA": gm.RCA(),
        "PLDA": gm.PLDA(),
        "GMML": gm.GMML(**some),
        "MMC": gm.MMC(**some),
        "ITML, gamma=1": gm.ITML(1.0, **some),
    }
    return {f"{name}, {n} × 128": (learner, partial(million, n)) for name, learner in learners.items()}


def sizes(quick: bool) -> tuple[int, int]:
    """Items and queries of a batch."""
    return (20000, 200) if quick else (1_000_000, 1000)


def search(quick: bool) -> list[dict[str, Any]]:
    """Exact neighbors beside a product and topk in torch, and hash codes."""
    import torch

    n, batch = sizes(quick)
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
    exact = torch.cdist(Q[:20].double(), X.double()).topk(10, largest=False).indices
    right = float((exact == found[0][0][:20]).double().mean())
    case = f"ExactIndex, {n} × 128, k = 10, {10 * batch} queries in batches of {batch}"
    rows = [row(case, "ExactIndex", seconds, peak, queries_per_s=len(Q) / seconds, recall=right)]
    seconds, peak, _ = measured(plain)
    rows.append(row(case, "torch matmul + topk", seconds, peak, queries_per_s=len(Q) / seconds))
    hashed = gm.HashIndex(gm.Mahalanobis.euclidean(128), random_state=0).add(X)
    some = Q[:batch]
    seconds, peak, found = measured(lambda: hashed.query(some, 10))
    right = float((exact == found[0][:20]).double().mean())
    case = f"HashIndex, {n} × 128, 256 bits, k = 10, one batch of {batch}"
    rows.append(row(case, "HashIndex", seconds, peak, queries_per_s=batch / seconds, recall=right))
    return rows


def ranks(quick: bool) -> tuple[int, int]:
    """Points and rank of kernel features."""
    return (5000, 50) if quick else (1_000_000, 200)


def features(quick: bool) -> list[dict[str, Any]]:
    """Pivoted Cholesky of a Gaussian kernel."""
    n, rank = ranks(quick)
    there = on_device(np.random.default_rng(0).normal(size=(n, 50)))
    seconds, peak, fitted = measured(lambda: gm.KernelFeatures(gm.Gaussian(8.0), rank=rank).fit(there))
    case = f"KernelFeatures, {n} × 50, rank {rank}"
    return [row(case, "fit", seconds, peak, explained=fitted.explained_variance_ratio_)]


def on_one_core(quick: bool) -> dict[str, partial]:
    """What the CPU does: the same fits, as far as it ends in minutes."""
    tested = image_learners(quick)
    cases = {case: partial(beside.fitted, *tested[case], tested=True) for case in list(tested)[2:]}
    others = {**dual_learners(quick), **million_learners(quick)}
    cases |= {case: partial(beside.fitted, *both) for case, both in others.items()}
    n, rank = ranks(quick)
    cases[f"KernelFeatures, {n} × 50, rank {rank}"] = partial(beside.features, n, rank)
    return cases


def one_core_alone(quick: bool) -> dict[str, tuple[partial, int]]:
    """Parts of work that one core cannot finish in minutes: the case, and how many there are of them."""
    n, batch = sizes(quick)
    images = 2000 if quick else 60000
    return {
        f"ExactIndex, {n} × 128, k = 10, {batch // 10} queries": (
            partial(beside.searched, n, batch // 10),
            batch // 10,
        ),
        f"NCA, MNIST {images} × 784 to 32 dimensions, one value and gradient": (
            partial(beside.evaluation, images, 32),
            1,
        ),
    }


def run(quick: bool = False) -> list[dict[str, Any]]:
    """All parts; the quick form is small and runs without a GPU too."""
    if not quick and not available():
        raise RuntimeError("gpu: needs a CUDA device and torch; run it where there is one, or with --quick.")
    warnings.simplefilter("ignore")
    rows = [*search(quick), *features(quick), *fits(dual_learners(quick)), *images(quick)]
    rows += fits(million_learners(quick), fits=lambda peak: peak <= LIMIT)
    print("now on the CPU", flush=True)
    alone = one_core_alone(quick)
    cpu = beside.Beside(on_one_core(quick) | {case: work for case, (work, _) in alone.items()}, quick)
    cpu.merge(rows)
    for case, (_, count) in alone.items():
        found = cpu.of(case) or {}
        speed = {"queries_per_s": count / found["cpu_s"]} if found and count > 1 else {}
        rows.append({"case": case, "method": "one CPU core", **found, **speed})
    cpu.close()
    return rows
