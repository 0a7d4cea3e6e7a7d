"""One picture of what clicks are worth to questions nobody asked, from the CSV file of ``across``; for the README."""

import hashlib
from typing import Any

import numpy as np

from benchmarks.harness import ROOT
from benchmarks.report import Report

TARGET = ROOT / "docs" / "images" / "clicks.png"
SIDES = {"same": ("classes that people clicked in", "o"), "new": ("classes that nobody clicked in", "D")}
COLORS = {"in use": "#2a6660", "AutoMetric": "#d9822b"}
NAMES = {"in use": "what the service uses", "AutoMetric": "AutoMetric on the same clicks"}


def draw(results: list[Report]) -> None:
    """Gains over plain features after the last click of each task, for each share of wrong clicks."""
    import matplotlib.pyplot as plt

    rows = source(results)
    if not rows:
        return
    wrongs = sorted({float(row["wrong clicks"]) for row in rows})
    figure, axes = plt.subplots(1, len(wrongs), figsize=(10.5, 4.4), sharey=True, squeeze=False)
    for ax, wrong in zip(axes[0], wrongs):
        shown = [row for row in rows if not row["task"].startswith("mean")]
        panel(ax, list({row["task"]: row for row in shown if float(row["wrong clicks"]) == wrong}.values()))
        ax.set_title(f"{wrong:.0%} of clicks wrong" if wrong else "all clicks right", fontsize=10)
        ax.set_xlabel("gain in the share of right ones among the ten best")
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncol=2, frameon=False, fontsize=9)
    clicks = max(int(row["clicks"]) for row in rows)
    figure.suptitle(f"Queries that nobody asked before, after {clicks:,} clicks on others", fontsize=12)
    figure.tight_layout(rect=(0, 0.11, 1, 1))
    figure.savefig(TARGET, dpi=110, metadata={"Source": digest(results)})
    plt.close(figure)


def source(results: list[Report]) -> list[dict[str, str]]:
    """The rows that are drawn."""
    return next((result.rows for result in results if result.name == "across"), [])


def digest(results: list[Report]) -> str:
    """What a picture of these rows carries, so that an old one is found out."""
    return hashlib.sha256(repr([list(row.values()) for row in source(results)]).encode()).hexdigest()


def panel(ax: Any, rows: list[dict[str, str]]) -> None:
    """A line for each task, with the gains of what is in use and of AutoMetric, and their standard errors."""
    for shift, name in ((-0.14, "in use"), (0.14, "AutoMetric")):
        for side, (meaning, marker) in SIDES.items():
            found = [(i, row[f"{side}: {name}"]) for i, row in enumerate(rows) if row.get(f"{side}: {name}")]
            places = np.array([i for i, _ in found]) + shift
            gains, errors = np.array([gain.split(" ± ") for _, gain in found], float).T
            style = {"color": COLORS[name], "marker": marker, "ls": "", "capsize": 2, "ms": 5.5}
            full = COLORS[name] if side == "same" else "white"
            ax.errorbar(gains, places, xerr=errors, mfc=full, label=f"{NAMES[name]}, {meaning}", **style)
    ax.axvline(0, color="gray", lw=0.8)
    ax.set_yticks(range(len(rows)), [row["task"].rstrip(" *†‡") for row in rows])
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.grid(axis="y", color="#eeeeee")
    ax.set_axisbelow(True)
