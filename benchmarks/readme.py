"""Write the measured part of README.md from the CSV files of the speed benchmarks: ``python -m benchmarks.readme``."""

import math
import re
from pathlib import Path

from benchmarks.harness import ROOT
from benchmarks.report import Report, markdown

RESULTS = ROOT / "benchmarks" / "speed" / "results"
BLOCK = re.compile(r"(<!-- measured by benchmarks -->\n).*?(<!-- end of measured -->)", re.S)
DIGITS, LARGE = "898 digits", "NCA, MNIST 8000 × 64, same objective"
LEARNING = (
    ("learners", "ITML, digits half", "metric-learn", f"ITML, {DIGITS}", "excess", "above the optimum: {:.1g}"),
    ("learners", "MMC, breast_cancer, raw", "metric-learn", "MMC, 569 tumors", "excess", "below the optimum: {:.0%}"),
    ("neighbors", "LMNN, digits half", "metric-learn", f"LMNN, {DIGITS}", "objective", "loss: {:,.0f}"),
    ("learners", "RCA, digits half", "metric-learn", f"RCA, {DIGITS}", "", ""),
    ("nca", "NCA, digits half / 16", "scikit-learn", f"NCA, {DIGITS}", "accuracy", "3-NN accuracy: {:.3f}"),
    ("nca", LARGE, "scikit-learn", "NCA, 8,000 × 64", "memory_MB", "memory in MB: {:,.0f}"),
)
"""File, case, peer, the name of the row, what both sides reached, and how it is printed."""
ON_THE_FRONT = ("ITML", "LMNN", "NCA, 8,000")
METHODS = ("HashIndex auto", "ExactIndex", "faiss Flat", "faiss IVF-RaBitQ fast scan + refine", "hnswlib", "usearch")
"""Indexes of the short table: ours as they come, and the best of each kind of others."""
SEARCH = {"images 30,000 × 784": "30,000 × 784, images", "GloVe 20,000 × 100": "20,000 × 100, GloVe"}
TEXT = """\
CPU seconds on one thread, both sides in one run; {peer}, current scikit-learn and faiss.
{when}; [all measurements, and how they were made](docs/speed.md).

{learning}
Ten nearest neighbors at a recall of at least {recall:.2f}, and how long it takes until an index that holds the points
answers under another metric:

{search}"""


def block() -> str:
    """The tables, and when and where they were measured."""
    reports = {name: Report.read(RESULTS / f"{name}.csv") for name in ("learners", "nca", "neighbors", "search")}
    dates = sorted({report.date for report in reports.values()})
    machines = sorted({report.machine for report in reports.values()})
    found = [row for row in reports["search"].rows if row["case"] in SEARCH]
    return TEXT.format(
        peer=re.search(r"metric-learn [\d.]+\d", reports["learners"].title)[0],
        when=f"Measured {' to '.join(dict.fromkeys((dates[0], dates[-1])))}, {', '.join(machines)}",
        learning=markdown([row for row in learners() if row["learning"].startswith(ON_THE_FRONT)]),
        recall=math.floor(100 * min(float(row["recall"]) for row in found)) / 100,
        search=markdown(searching(found)),
    )


def learners() -> list[dict[str, str]]:
    """Rows of learners beside their peers."""
    return [learning(Report.read(RESULTS / f"{file}.csv"), *rest) for file, *rest in LEARNING]


def first(report: Report, case: str, method: str) -> dict[str, str]:
    """The first row of a case and method that start so."""
    return next(row for row in report.rows if row["case"].startswith(case) and row["method"].startswith(method))


def learning(report: Report, case: str, peer: str, name: str, measure: str, form: str) -> dict[str, str]:
    """One row: ours, theirs, the ratio, and what both reached."""
    ours, theirs = (first(report, case, method) for method in ("gramian", peer))
    values = [round(float(side[measure]), 9) + 0.0 for side in (ours, theirs)] if measure else []
    reached = [form.split(": ")[-1].format(value) for value in values]
    return {
        "learning": name,
        "gramian": seconds(ours["cpu_s"]),
        "peer": f"{seconds(theirs['cpu_s'])} ({peer})",
        "peer / gramian": f"{float(theirs['ratio']):.2g}",
        "reached by gramian, by peer": f"{form.split(': ')[0]}: {', '.join(reached)}" if reached else "",
    }


def searching(rows: list[dict[str, str]]) -> list[dict[str, str]]:
    """One row per method, two columns for each set of points."""
    table: dict[str, dict[str, str]] = {}
    for row in rows:
        name = row["method"].split(" (")[0]
        cells = table.setdefault(name, {"index": name})
        cells[f"queries/s: {SEARCH[row['case']]}"] = f"{float(row['queries_per_s']):,.0f}"
        cells[f"new metric: {SEARCH[row['case']]}"] = seconds(row["new_metric_s"])
    return [table[name] for name in METHODS]


def seconds(text: str) -> str:
    """A time with two significant digits."""
    value = float(text)
    return f"{value:.0f} s" if value >= 10 else f"{value:.2g} s" if value >= 0.1 else f"{1000 * value:.2g} ms"


def updated(text: str) -> str:
    """A page with the block in it made anew."""
    return BLOCK.sub(lambda found: f"{found[1]}{block()}{found[2]}", text)


def write(page: Path = ROOT / "README.md") -> None:
    """Bring the page up to date."""
    page.write_text(updated(page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    write()
