"""Figures 8.3–8.5 with one start for everybody: Algorithm 4 as printed, and its rivals from the same labels."""

import warnings
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

import gramian as gm
from benchmarks import harness
from benchmarks.papers.disparate.methods import error
from gramian import _validate, clustering
from gramian.clustering import match
from gramian.clustering.points import Points
from gramian.clustering.starts import first_labels
from gramian.datasets import two_views

TITLE = "Equal starts (Jain 2009, Algorithm 4 and Figures 8.3–8.5)"
NOTES = """
The order of the thesis is not that of the methods but of their starts: when all begin alike, CVQ is level with
decorrelated k-means and convolutional EM, and MCVQ is ahead of them on concatenated and overlapping views; only on
sums is it behind, as printed. One start each, from the same labels: in the first case those of Algorithm 4 (k-means
for one clustering, random labels for the other), in the second what the rivals of the other section have (k-means of
each clustering in the complement of the other). Decorrelated k-means is Algorithm 4 as printed
(`variant="as_printed"`: one descent, no warm-up, no merges and splits), with λ by our rule, and by the largest drop
of the thesis. 1,000 points, 30 dimensions per view, spread 2, 12 draws; mean NMI of both labelings over k = 2, 4 and
8, in the note each with its standard error. With one start nobody is reliable: compare the ten starts of the other
section.
"""
FAMILIES = ("concatenated", "overlap", "sum")
SIZES = (2, 4, 8)
STARTS = {"random": "second labels random", "orthogonal": "k-means in the complement"}
METHODS = {
    "Algorithm 4": partial(gm.DecorrelatedKMeans, variant="as_printed", center=True),
    "Algorithm 4, λ by the drop": partial(gm.DecorrelatedKMeans, penalty="drop", variant="as_printed", center=True),
    "Conv-EM": gm.ConvolutionalEM,
    "CVQ": gm.CooperativeVQ,
    "MCVQ": gm.MultipleCauseVQ,
}


def one_draw(family: str, k: int, rest: str, seed: int) -> dict[str, float]:
    """Mean NMI of each method from the same labels."""
    data = two_views(1000, 30, n_clusters=k, family=family, separation=2.0, random_state=seed)
    first = first_labels(Points.of(data.X), (k, k), _validate.random(seed, "starts"), rest)
    found = {}
    for name, method in METHODS.items():
        model = method((k, k), init=first, random_state=seed).fit(data.X)
        found[name] = float(match(model.labels_, data.y).scores.mean())
    return found


def run(quick: bool = False) -> list[dict[str, Any]]:
    """Rows for each family and start."""
    files = sorted(Path(clustering.__file__).parent.glob("*.py"))
    rows = []
    for (rest, words), family in product(STARTS.items(), FAMILIES):
        found = {}
        for k in SIZES[:1] if quick else SIZES:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                draws = [
                    harness.remembered(
                        "disparate.starts",
                        (__file__, *files, family, k, rest, seed),
                        partial(one_draw, family, k, rest, seed),
                    )
                    for seed in range(2 if quick else 12)
                ]
            found[k] = {name: np.array([draw[name] for draw in draws]) for name in METHODS}
        rows += [_row(words, family, name, {k: values[name] for k, values in found.items()}) for name in METHODS]
    return rows


def _row(words: str, family: str, name: str, values: dict[int, np.ndarray]) -> dict[str, Any]:
    note = ", ".join(f"k = {k}: {of.mean():.3f} ± {error(of):.3f}" for k, of in values.items())
    mean = round(float(np.mean([of.mean() for of in values.values()])), 3)
    return {"table": f"One start: {words}", "case": family, "method": name, "ours": mean, "paper": None, "note": note}
