"""Figures 8.3–8.5: two independent mixtures of Gaussians, concatenated, overlapping and added."""

import csv
import time
import warnings
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

import gramian as gm
from benchmarks import harness
from benchmarks.papers.disparate.methods import at_labels, error, labels, scores
from benchmarks.report import PICTURES
from gramian.clustering import match
from gramian.clustering.parts import State, exact
from gramian.clustering.points import Points
from gramian.datasets import two_views
from gramian.datasets.synthetic import combine

TITLE = "Disparate clusterings of synthetic data (Jain 2009, Figures 8.3–8.5)"
NOTES = """
Our methods come out first or level, as in the thesis, but for sums of spread 1, where CVQ with ten starts is level with
convolutional EM and ahead of decorrelated k-means. What it says of CVQ is a matter of starts, and MCVQ does not fall to
0.6 with few clusters, where it is level with ours; on sums it is behind, as printed. "1 start" of ours holds a search
for λ, several short tries, merges and splits, where CVQ and MCVQ have one; the next section gives all the same start.
3,000 points, 30 dimensions per view, k clusters in each of two views, mean NMI with the two true labelings. The figures
of the thesis carry no numbers, and neither the spread of the cluster means nor the number of starts is given: means
here are N(0, s² I) with s = 2 and, harder, s = 1, noise is N(0, I) in each view. "10 starts" is our default for all
methods; "1 start" shows how much of the order in the thesis is a matter of starts. The thesis has 100 draws; how many
we have stands beside each row. The plan is 100 where a fit is cheap, 20 with one start of our two methods, 10 for the
rivals that are slow with ten starts. `benchmarks/.cache` holds what has been run, and a call adds what is missing.
Beside the mean of each number of clusters stands its standard error, and in brackets by how much decorrelated k-means
with as many starts is above, over the draws that both have. "True means" are the most probable labels when the means
are known: no method can be above them but by chance. "(8.1) ≤ truth" counts the draws in which the labels found have an
objective no higher than the true labels: where it is all of them, search is not what limits.
"""
FAMILIES = {"concatenated": "Figure 8.3, concatenated", "overlap": "Figure 8.4, overlap", "sum": "Figure 8.5, sum"}
SPREADS, SIZES = (2.0, 1.0), (2, 4, 8)
GOOD = {"concatenated": 0.95, "overlap": 0.9, "sum": 0.9}
"""What a good method reaches; the picture says where ours drops below."""

OURS = "Dec-kmeans"
PLAN = {(OURS, 10): 100, ("Conv-EM", 10): 100, ("k-means", 10): 100, ("NNMA", 10): 100, ("true means", 10): 100}
PLAN |= {(OURS, 1): 20, ("Conv-EM", 1): 20, ("CVQ", 1): 100, ("MCVQ", 1): 100, ("CVQ", 10): 10, ("MCVQ", 10): 10}
"""Draws of each method and number of starts."""

PALETTE = ("#d62828", "#1d3557", "#8d99ae", "#000000", "#cccccc", "#2a9d8f", "#f4a261")
COLORS = dict(zip((method for method, starts in PLAN if starts == 10), PALETTE))
BUDGET = 7200.0
"""CPU seconds of a call after which it only reads."""

Draws = dict[int, tuple[float, float]]
"""NMI, and whether (8.1) is at most that of the truth, by draw."""

Cells = dict[tuple, Draws]
"""Draws by family, spread, number of clusters, method and starts."""

CACHE = harness.ROOT / "benchmarks" / ".cache" / "disparate.synthetic.csv"


def run(quick: bool = False) -> list[dict[str, Any]]:
    """Rows per family, spread, starts and method, over the numbers of clusters; the picture shows them apart."""
    sizes = (2, 4) if quick else SIZES
    cells: Cells = {}
    for task, value in quick_cells(sizes) if quick else kept(CACHE):
        cells.setdefault(task[:5], {})[task[5]] = value
    if not quick:
        picture(cells)
    return [
        row(cells, family, spread, method, starts, sizes)
        for family in FAMILIES
        for spread in SPREADS
        for method, starts in PLAN
        if all((family, spread, k, method, starts) in cells for k in sizes)
    ]


def row(cells: Cells, family: str, spread: float, method: str, starts: int, sizes: tuple[int, ...]) -> dict[str, Any]:
    """One row: the mean over the numbers of clusters, and each of them in the note."""
    found = [cells[family, spread, k, method, starts] for k in sizes]
    ours = [cells.get((family, spread, k, OURS, starts), {}) for k in sizes]
    note = ", ".join(f"k = {k}: {cell(*pair, method)}" for k, *pair in zip(sizes, found, ours))
    if method == OURS:
        note += "; (8.1) ≤ truth: " + ", ".join(f"{sum(low for _, low in of.values()):g}" for of in found)
    draws = sorted({len(of) for of in found})
    note += f"; {' or '.join(map(str, draws))} draw{'s' * (draws[-1] > 1)}"
    case = f"spread {spread:g}" + f", {starts} start{'s' * (starts > 1)}" * (method != "true means")
    mean = round(float(np.mean([values(of).mean() for of in found])), 3)
    return {"table": FAMILIES[family], "case": case, "method": method, "ours": mean, "paper": None, "note": note}


def cell(found: Draws, ours: Draws, method: str) -> str:
    """Mean and standard error, and the same of what our method is ahead by, draw by draw."""
    text = f"{values(found).mean():.3f} ± {error(values(found)):.3f}"
    both = sorted(found.keys() & ours.keys())
    if method == OURS or not both:
        return text
    ahead = np.array([ours[draw][0] - found[draw][0] for draw in both])
    return f"{text} ({ahead.mean():+.3f} ± {error(ahead):.3f})"


def values(found: Draws) -> np.ndarray:
    """NMI of all draws."""
    return np.array([value for value, _ in found.values()])


def plan() -> Iterator[tuple]:
    """Everything to be run, draw by draw."""
    for draw in range(max(PLAN.values())):
        methods = [key for key, draws in PLAN.items() if draw < draws]
        cells = product(FAMILIES, SPREADS, SIZES, methods)
        yield from ((family, spread, k, *key, draw) for family, spread, k, key in cells)


def kept(path: Path) -> Iterator[tuple[tuple, tuple[float, float]]]:
    """Values of the plan, from the file, or computed and written to it as long as the CPU seconds last."""
    path.parent.mkdir(exist_ok=True)
    path.touch()
    with path.open(newline="") as file:
        done = {tuple(line[:6]): line[6:] for line in csv.reader(file)}
    tasks = [(task, tuple(map(str, task))) for task in plan()]
    harness.took_over(sum(float(done[name][2]) for _, name in tasks if name in done))
    start = time.process_time()
    for task, name in tasks:
        if name not in done and time.process_time() - start > BUDGET:
            continue
        if name not in done:
            begin = time.process_time()
            done[name] = [*map(str, measured(*task, n=3000)), str(time.process_time() - begin)]
            with path.open("a", newline="") as file:
                csv.writer(file).writerow([*name, *done[name]])
        value, low = map(float, done[name][:2])
        yield task, (value, low)


def quick_cells(sizes: tuple[int, ...]) -> Iterator[tuple[tuple, tuple[float, float]]]:
    """One small draw of everything, nothing kept."""
    for task in plan():
        if task[-1] == 0 and task[2] in sizes:
            yield task, measured(*task, n=300)


def measured(family: str, spread: float, k: int, method: str, starts: int, draw: int, n: int) -> tuple[float, float]:
    """Mean NMI of both labelings, and for decorrelated k-means whether (8.1) is at most that of the truth."""
    data = two_views(n, 30, n_clusters=k, family=family, separation=spread, random_state=draw)
    if method == "true means":
        return float(match(with_true_means(data, family, k), data.y).scores.mean()), 0.0
    if method == OURS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = gm.DecorrelatedKMeans((k, k), n_init=starts, random_state=draw).fit(data.X)
        low = model.objective_ <= at_labels(data.X, data.y, (k, k), model.penalty_) * (1 + 1e-9)
        return float(match(model.labels_, data.y).scores.mean()), float(low)
    found = labels(method, data.X, (k, k), draw, starts)
    return float(np.mean(scores(found, data.y, (k, k), "nmi", method))), 0.0


def with_true_means(data: Any, family: str, k: int) -> np.ndarray:
    """Most probable labels under the mixture that the points were drawn from; features are scaled to equal noise."""
    first, second = data.means
    noise = np.sqrt(combine(np.ones((1, 30)), np.ones((1, 30)), family))
    C = np.vstack([combine(first, 0 * first, family), combine(0 * second, second, family)]) / noise
    state = State(C, np.full(2 * k, 1 / k), 1.0)
    return exact(Points.of(data.X / noise, center=False), state, (k, k), soft=False).labels


def picture(cells: Cells) -> None:
    """NMI against the number of clusters with standard errors: families across, spread and starts down."""
    from matplotlib import pyplot

    panels = [(2.0, 10), (1.0, 10), (1.0, 1)]
    figure, axes = pyplot.subplots(3, 3, figsize=(10, 8.5), sharex=True, sharey=True, layout="constrained")
    for (i, (spread, starts)), (j, family) in product(enumerate(panels), enumerate(FAMILIES)):
        panel(axes[i, j], cells, family, spread, starts)
    for row, column in zip(axes[:, 0], axes[-1]):
        row.set_ylabel("NMI")
        column.set_xlabel("clusters in each view")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), fontsize=9, loc="outside lower center", ncols=len(COLORS))
    figure.savefig(PICTURES / "disparate_synthetic.png", dpi=110)
    pyplot.close(figure)


def panel(axis: Any, cells: Cells, family: str, spread: float, starts: int) -> None:
    """All methods on one family; numbers stand where ours is below what a good method reaches."""
    for method, color in COLORS.items():
        nothing = {0: (np.nan, 0.0)}
        found = [values(cells.get((family, spread, k, method, starts), nothing)) for k in SIZES]
        means, errors = [of.mean() for of in found], [error(of) for of in found]
        known = method == "true means"
        style = {"fmt": "-" if known else "o-", "color": color, "lw": 5 if known else 1.5, "ms": 4, "capsize": 3}
        axis.errorbar(SIZES, means, errors, label=method, **style)
        for k, mean in zip(SIZES, means):
            if method == OURS and mean < GOOD[family]:
                place = {"xytext": (0, -27), "textcoords": "offset points", "ha": "center"}
                axis.annotate(f"{mean:.2f}", (k, mean), color=color, fontsize=8, **place)
    axis.axhline(GOOD[family], color="black", lw=0.6, ls=":")
    axis.set_title(f"{family}, spread {spread:g}, {starts} start{'s' * (starts > 1)}", fontsize=9)
    axis.grid(alpha=0.3)
    axis.set_ylim(0, 1.05)
    axis.set_xticks(SIZES)
