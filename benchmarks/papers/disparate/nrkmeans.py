"""Against Nr-Kmeans on views whose directions are more and more the same."""

import time
from pathlib import Path
from typing import Any

import numpy as np

import gramian as gm
from benchmarks import harness
from benchmarks.report import PICTURES
from gramian.clustering import match
from gramian.datasets import two_views

TITLE = "Correlated views: decorrelated k-means and Nr-Kmeans"
NOTES = """
The modern rival: Nr-Kmeans (Mautz et al. 2018) as in ClustPy 0.0.3, which rotates the data and gives each clustering
a subspace orthogonal to the others. 500 points, 20 dimensions, sum of two views with 3 clusters each, spread 2; the
means of the second view lie in the span of those of the first with weight c (`two_views(correlation=c)`), labelings
stay independent. 20 draws, 10 starts each, mean NMI of both labelings. "wins" counts draws in which ours is higher by
0.01.
"""


def available() -> bool:
    """Whether ClustPy is here: a run of all benchmarks downloads nothing, this one alone makes the environment."""
    return harness.has_peer("clustpy")


def run(quick: bool = False) -> list[dict[str, Any]]:
    """Rows per correlation and method."""
    draws, levels = (2, (0.0, 0.8)) if quick else (20, (0.0, 0.5, 0.8, 1.0))
    python = harness.peer_python("clustpy", ["clustpy==0.0.3"])
    script = Path(__file__).parent / "peers" / "nrkmeans.py"
    rows, curves = [], {"Dec-kmeans": [], "Conv-EM": [], "Nr-Kmeans": []}
    for c in levels:
        sets = [
            two_views(500, 20, n_clusters=3, family="sum", correlation=c, random_state=seed) for seed in range(draws)
        ]
        answer = harness.run_peer(python, script, {"X": [d.X for d in sets], "k": [3, 3], "n_init": 10})
        values = {"Nr-Kmeans": nmi(map(np.array, answer["labels"]), sets)}
        seconds = {"Nr-Kmeans": np.mean(answer["seconds"])}
        for name, cls in (("Dec-kmeans", gm.DecorrelatedKMeans), ("Conv-EM", gm.ConvolutionalEM)):
            start = time.process_time()
            found = [cls((3, 3), random_state=seed).fit(d.X).labels_ for seed, d in enumerate(sets)]
            seconds[name] = (time.process_time() - start) / draws
            values[name] = nmi(found, sets)
        for name, curve in curves.items():
            curve.append(values[name].mean())
            wins = f", wins {(values[name] > values['Nr-Kmeans'] + 0.01).sum()} of {draws}" * (name != "Nr-Kmeans")
            note = f"± {values[name].std() / np.sqrt(draws):.3f}{wins}, {seconds[name]:.2f} CPU s a fit"
            row = {"table": "mean NMI", "case": f"c = {c:g}", "method": name, "ours": round(values[name].mean(), 3)}
            rows.append(row | {"paper": None, "note": note})
    if not quick:
        picture(levels, curves)
    return rows


def nmi(found: Any, sets: list) -> np.ndarray:
    """Mean NMI of both labelings, per draw."""
    return np.array([match(labels, data.y).scores.mean() for labels, data in zip(found, sets)])


def picture(levels: tuple[float, ...], curves: dict[str, list[float]]) -> None:
    """Mean NMI against the correlation."""
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(5, 3.5), layout="constrained")
    for (name, curve), color in zip(curves.items(), ("#d62828", "#1d3557", "#8d99ae")):
        axes.plot(levels, curve, "o-", color=color, label=name)
    axes.set_xlabel("correlation of the views")
    axes.set_ylabel("NMI")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(PICTURES / "disparate_correlated.png", dpi=110)
    pyplot.close(figure)
