"""What it costs to learn from a part of the points: the default beside the same fit on all of them."""

import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np

import gramian as gm
from benchmarks import harness
from benchmarks.speed.mnist import nearest_three
from gramian.manifold import NeighborGraph, SpectralFamily

TITLE = "A part of the points, and all of them"
NOTES = """
Learners whose work grows with n² learn from a part of many points by default, and say so. Here the same learner also
learns from all of them, its default otherwise unchanged: images of MNIST in 40 principal components of the training
images, and errors of 3-NN on 5,000 test images among all n training images, whichever of them the metric was
learned from. *Error* has the standard error over test images, as has *part − whole*, which is of the pairs of
answers: above zero the part is worse. *Plain* is the error without learning: where all three are the same, the default
stayed at the plain distance, and says nothing about a part. CPU seconds are of one fit, beside other work. One draw of
images each. TDL and GeometryAwareKernel have a label for one image in fifty and no test images: their errors are those
of the labels that they give to all others, and *plain* is the nearest labeled image. Clusterings compare their starts
on a part and go on with the best one on all points: their *error* is the objective for each image, in two clusterings
of ten, over four seeds that both forms share.
"""
FIXED_SIZE = {"DNE": 60_000, "LFDA": 60_000}
"""Training images for learners whose part is 20,000; the others have 20,000."""
NAMES = ("Contrastive", "DNE", "LFDA", "LMNN", "MCML", "MLKR", "NCA", "SCML")
STARTED = ("ConvolutionalEM", "DecorrelatedKMeans", "MultipleCauseVQ")
GRAPHS = {"GeometryAwareKernel": {"family": SpectralFamily()}, "TDL": {"graph": NeighborGraph(20)}}
"""Those that learn the geometry of a part, and what makes it that of all points."""
MANY, FEW = 40_000, 50
"""Images for these, and of how many one has a label."""
COMPONENTS = 40
SEEDS = 4


def run(quick: bool = False) -> list[dict[str, Any]]:
    """A row for each learner."""
    if quick:
        return [row("LFDA", compared("LFDA", 2000, most=500))]
    named = [(name, kept(name, FIXED_SIZE.get(name, 20_000), compared)) for name in NAMES]
    graphs = [(name, kept(name, MANY, placed)) for name in GRAPHS]
    clusterings = [(name, kept(name, MANY, started)) for name in STARTED]
    return [row(name, found) for name, found in named + graphs + clusterings]


def kept(name: str, n: int, measure: Callable[[str, int], dict[str, Any]]) -> dict[str, Any]:
    """One learner, measured once."""
    return harness.remembered("part_whole", (name, n, COMPONENTS), partial(measure, name, n))


def placed(name: str, n: int) -> dict[str, Any]:
    """Which images without a label get a wrong one: by the default, by the geometry of all of them, and by 1-NN."""
    A, a, _, _ = images(n)
    known = np.arange(n) % FEW == 0
    part, part_s = predicted(getattr(gm, name)(random_state=0), A, np.where(known, a, -1))
    whole, whole_s = predicted(getattr(gm, name)(random_state=0, **GRAPHS[name]), A, np.where(known, a, -1))
    near = gm.ExactIndex(gm.Mahalanobis.euclidean(COMPONENTS)).add(A[known]).query(A[~known], 1)[0][:, 0]
    found = {"part": part.predict()[~known], "whole": whole.predict()[~known], "plain": a[known][near]}
    wrong = {key: (codes != a[~known]).tolist() for key, codes in found.items()}
    return {"n": n, "learned from": len(part.part_), "wrong": wrong, "part s": part_s, "whole s": whole_s}


def predicted(model: Any, X: np.ndarray, y: np.ndarray | None) -> tuple[Any, float]:
    """A fitted model, and its CPU seconds."""
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y), time.process_time() - start


def started(name: str, n: int) -> dict[str, Any]:
    """Objectives for each image, with starts compared on a part and on all, over seeds."""
    A, cls = images(n)[0], getattr(gm, name)
    values: dict[str, list[float]] = {"part": [], "whole": []}
    seconds = dict.fromkeys(values, 0.0)
    for seed in range(SEEDS):
        for key, most in (("part", cls._most_points), ("whole", None)):
            model = type(name, (cls,), {"_most_points": most})((10, 10), random_state=seed)
            found, spent = predicted(model, A, None)
            values[key].append(found.objective_ / n)
            seconds[key] += spent / SEEDS
    return {
        "n": n,
        "learned from": cls._most_points,
        "wrong": values,
        "part s": seconds["part"],
        "whole s": seconds["whole"],
    }


@cache
def images(n: int) -> tuple[np.ndarray, ...]:
    """n training images and 5,000 test images, with their labels."""
    from sklearn.decomposition import PCA

    data = harness.load("mnist")
    order = np.random.RandomState(0).permutation(60_000)[:n]
    tested = 60_000 + np.random.RandomState(1).permutation(10_000)[:5000]
    place = PCA(COMPONENTS, random_state=0).fit(data.X[order] / 255.0)
    A, B = (place.transform(data.X[rows] / 255.0) for rows in (order, tested))
    codes = data.y.astype(int)
    return A, codes[order], B, codes[tested]


def compared(name: str, n: int, most: int | None = None) -> dict[str, Any]:
    """Which test images are wrong after the default fit, after the fit on all points, and without learning."""
    A, a, B, b = images(n)
    part = one_fit(name, A, a, most) if most else one_fit(name, A, a, default_size(name))
    whole = one_fit(name, A, a, None)
    metrics = {"part": part[0], "whole": whole[0], "plain": gm.Mahalanobis.euclidean(COMPONENTS)}
    wrong = {key: (nearest_three(metric, A, a, B) != b).tolist() for key, metric in metrics.items()}
    learned = most or min(n, default_size(name))
    return {"n": n, "learned from": learned, "wrong": wrong, "part s": part[1], "whole s": whole[1]}


def default_size(name: str) -> int:
    """The most points that a learner uses by itself."""
    return gm.MLKR().max_points if name == "MLKR" else getattr(gm, name).traits.most_points


def one_fit(name: str, X: np.ndarray, y: np.ndarray, most: int | None) -> tuple[Any, float]:
    """The metric that a learner finds from so many points at most, and its CPU seconds."""
    cls = getattr(gm, name)
    if name == "MLKR":
        learner = cls(max_points=most, random_state=0)
    else:
        learner = type(name, (cls,), {"traits": replace(cls.traits, most_points=most)})(random_state=0)
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        metric = learner.fit(X, y).metric_
    return metric, time.process_time() - start


def row(name: str, found: dict[str, Any]) -> dict[str, Any]:
    """A row of the table."""
    wrong = {key: np.array(value, dtype=float) for key, value in found["wrong"].items()}
    return {
        "learner": name,
        "n": found["n"],
        "part": found["learned from"],
        "error of the part": with_error(wrong["part"]),
        "error of the whole": with_error(wrong["whole"]),
        "part − whole": with_error(wrong["part"] - wrong["whole"], "+"),
        "plain": with_error(wrong["plain"]) if "plain" in wrong else None,
        "CPU s, part": found["part s"],
        "CPU s, whole": found["whole s"],
    }


def with_error(values: np.ndarray, sign: str = "") -> str:
    """The mean and its standard error."""
    return f"{values.mean():{sign}.4f} ± {values.std(ddof=1) / np.sqrt(len(values)):.4f}"
