"""What both halves of the tasks share: the protocol in words, the run, and its picture."""

from typing import Any

import numpy as np

from benchmarks import harness, report
from benchmarks.effect import study, summary
from benchmarks.effect.tasks import LABELS, load
from benchmarks.report import number

PROTOCOL = """
Each method gets points with 5, 20 or 100 labels in each class and nothing else. Precision is the share of a point's
class among its ten nearest, over up to 1,000 points that the method never saw, each of which asks for its neighbors
among the others. *New classes* is a second fit: a third of the classes has no label, and only points of these classes
are searched (from six classes on). A gain is the difference to the features as they are, with the standard error of
paired draws; label counts for which classes are too small are left out. A method may take 20 CPU seconds for both fits
(AutoMetric 60): *over 20 s* and *failed* are of one of the draws, after which no further one is tried, nor more labels
where all draws gave nothing. Methods of metric-learn run in its own environment, on tasks of up to 100 columns: with
more they take longer than that. All of ours have their default settings. Only draws that AutoMetric has
as it is now are shown, so that all are compared on the same ones; tasks and draws that are not there were not reached:
the run goes on where it stopped.
"""
SHOWN = (
    "cosine",
    "linear adapter",
    "NCA (scikit-learn)",
    "logistic roots beside",
    "forest roots beside",
    "hidden layer beside",
    "kernel machine",
    "PLDA",
    "SCML",
    "LMNN",
    "AutoMetric",
)
"""Methods in the picture."""


def table(tasks: tuple[str, ...], picture: str, quick: bool = False) -> list[dict[str, Any]]:
    """Rows of the tasks; the quick form has one draw of five labels of the smaller tasks."""
    if quick:
        tasks = tuple(name for name in tasks if load(name).X.size < 1_000_000)
    study.fill(tasks, quick)
    cells = [cell for name in tasks for cell in study.on_record(name, quick)]
    harness.took_over(sum(number(cell["cpu_s"]) or 0.0 for cell in cells))
    rows = summary.rows(cells)
    draw(rows, picture)
    return rows


def draw(rows: list[dict[str, Any]], picture: str) -> None:
    """Mean gain of the tasks against the number of labels, on unseen points and on new classes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4.5), layout="constrained")
    titles = {"seen": "unseen points", "new": "classes without labels"}
    for kind, axes in zip(titles, figure.subplots(1, 2, sharey=True)):
        for place, name in enumerate(SHOWN):
            mine = [row for row in rows if row["method"] == name]
            if mine:
                _line(axes, name, mine, f"{kind}_gain", "0.1" if name == SHOWN[-1] else f"C{place % 10}")
        axes.axhline(0, color="0.3", linewidth=1)
        axes.set(xscale="log", xticks=LABELS, xticklabels=LABELS, xlabel="labels per class", title=titles[kind])
        axes.set_ylim(-0.2, 0.2)
        axes.minorticks_off()
    figure.axes[0].set_ylabel("gain in precision of ten, mean of the tasks")
    figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside right center", frameon=False, fontsize=8)
    figure.savefig(report.PICTURES / f"{picture}.png", dpi=110)


def _line(axes: Any, name: str, rows: list[dict[str, Any]], column: str, color: str) -> None:
    """One method: ours in full lines, rivals dashed."""
    ours = bool(int(rows[0]["ours"]))
    counts, means = [], []
    for labels in LABELS:
        values = [number(row[column]) for row in rows if int(row["labels"]) == labels]
        values = [value for value in values if value is not None]
        if values:
            counts.append(labels)
            means.append(np.mean(values))
    axes.plot(
        counts,
        means,
        "-" if ours else "--",
        color=color,
        marker=".",
        label=name,
        linewidth=2.5 if name == SHOWN[-1] else 1,
    )
