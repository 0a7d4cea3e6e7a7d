"""Figures 8.3–8.5: two independent mixtures of Gaussians, concatenated, overlapping and added."""

from typing import Any

import numpy as np

from benchmarks.papers.disparate.methods import labels, scores
from benchmarks.report import PICTURES
from gramian.datasets import two_views

TITLE = "Disparate clusterings of synthetic data (Jain 2009, Figures 8.3–8.5)"
NOTES = """
1,000 points (the thesis: 3,000), 30 dimensions per view, k clusters in each of two views, mean NMI with the two true
labelings; 2 draws (the thesis: 100). The figures of the thesis carry no numbers, and neither the spread of the
cluster means nor the number of starts is given: means here are N(0, s² I) with s = 2 and, harder, s = 1, noise is
N(0, I) in each view. "10 starts" is our default for all methods; "1 start" shows how much of the order in the thesis
is a matter of starts.
"""
FAMILIES = {"concatenated": "Figure 8.3, concatenated", "overlap": "Figure 8.4, overlap", "sum": "Figure 8.5, sum"}
METHODS = ("Dec-kmeans", "Conv-EM", "CVQ", "MCVQ", "k-means", "NNMA")
COLORS = dict(zip(METHODS, ("#d62828", "#1d3557", "#2a9d8f", "#f4a261", "#8d99ae", "#000000")))


def run(quick: bool = False) -> list[dict[str, Any]]:
    """Rows per family, spread, starts and method, over the numbers of clusters; the picture shows them apart."""
    draws, sizes = (1, (2, 4)) if quick else (2, (2, 4, 8))
    n = 500 if quick else 1000
    cells: dict[tuple, list[float]] = {}
    for family in FAMILIES:
        for spread in (2.0, 1.0):
            for k in sizes:
                for draw in range(draws):
                    data = two_views(n, 30, k, family, separation=spread, random_state=draw)
                    for method in METHODS:
                        for starts in (10, 1) if method in METHODS[:4] else (10,):
                            found = labels(method, data.X, (k, k), draw, starts)
                            value = float(np.mean(scores(found, data.y, (k, k), "nmi", method)))
                            cells.setdefault((family, spread, k, starts, method), []).append(value)
    if not quick:
        picture(cells, sizes)
    return [
        {
            "table": FAMILIES[family],
            "case": f"spread {spread:g}, {starts} start{'s' * (starts > 1)}",
            "method": method,
            "ours": round(float(np.mean([cells[family, spread, k, starts, method] for k in sizes])), 3),
            "paper": None,
            "note": ", ".join(f"k = {k}: {np.mean(cells[family, spread, k, starts, method]):.3f}" for k in sizes),
        }
        for family, spread, first, starts, method in cells
        if first == sizes[0]
    ]


def picture(cells: dict[tuple, list[float]], sizes: tuple[int, ...]) -> None:
    """NMI against the number of clusters: families across, spread and starts down."""
    from matplotlib import pyplot

    rows = [(2.0, 10), (1.0, 10), (1.0, 1)]
    figure, axes = pyplot.subplots(3, 3, figsize=(10, 8), sharex=True, sharey=True, layout="constrained")
    for i, (spread, starts) in enumerate(rows):
        for j, family in enumerate(FAMILIES):
            for method in METHODS:
                means = [np.mean(cells.get((family, spread, k, starts, method), np.nan)) for k in sizes]
                axes[i, j].plot(sizes, means, "o-", ms=4, lw=1.5, color=COLORS[method], label=method)
            axes[i, j].set_title(f"{family}, spread {spread:g}, {starts} start{'s' * (starts > 1)}", fontsize=9)
            axes[i, j].grid(alpha=0.3)
            axes[i, j].set_ylim(0, 1.05)
        axes[i, 0].set_ylabel("NMI")
    for axis in axes[-1]:
        axis.set_xlabel("clusters in each view")
        axis.set_xticks(sizes)
    axes[0, 0].legend(fontsize=8, loc="lower right")
    figure.savefig(PICTURES / "disparate_synthetic.png", dpi=110)
    pyplot.close(figure)
