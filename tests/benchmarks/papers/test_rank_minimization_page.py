"""The tables typed on the page of Jain 2009, chapter 7, are those of the runs on record."""

import csv
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/papers/rank_minimization.md").read_text()
SETS = {
    "Musk": "musk1",
    "Heart": "heart (SPECTF)",
    "Ionosphere": "ionosphere",
    "Cancer": "wdbc",
    "Scale": "balance_scale",
}
READINGS = {
    "first average with every constraint to 0.05, numerical rank": ("ε = 0.05", "OCP"),
    "the same, smallest eigenvalues cut while the constraints hold": ("ε = 0.05", "OCP, cut"),
    "ε = 5% of the largest abs(b_i), numerical rank": ("ε = 5% of max |b|", "OCP"),
    "ε = 5% of the largest abs(b_i), cut": ("ε = 5% of max |b|", "OCP, cut"),
    "the same, a third of the step": ("ε = 5% of max |b|", "OCP, a third of the step, cut"),
    "the same, three times the step": ("ε = 5% of max |b|", "OCP, three times the step, cut"),
}


def recorded(name):
    """The rows of a run, {(case, method): row}; the first of the tables where a file has several."""
    lines = (ROOT / f"benchmarks/papers/results/rank_minimization.{name}.csv").read_text().splitlines()
    found = {}
    for row in csv.DictReader(line for line in lines if not line.startswith("#")):
        found.setdefault((row["case"], row["method"]), row)
    return found


def cells(first):
    """The cells of the last line of a table that begins with this one."""
    line = re.findall(rf"^\| {re.escape(first)} \|(.*)\|$", PAGE, re.M)[-1]
    return line.split("|")


@pytest.mark.parametrize("name", SETS)
def test_table_7_2(name):
    rows = recorded("table_7_2")
    for cell, method in zip(cells(name), ("GK", "MW", "OCP", "Burg")):
        row, numbers = rows[SETS[name], method], [float(x) for x in re.findall(r"[\d.]+", cell)]
        assert numbers[:2] == pytest.approx([float(row["ours"]), float(row["paper"])], abs=0.0501)
        if method in ("MW", "OCP"):
            rank = float(re.search(r"rank ([\d.]+)", row["note"])[1])
            assert numbers[2] == pytest.approx(rank, abs=0.501)


@pytest.mark.parametrize("reading", READINGS)
def test_readings_of_table_7_1(reading):
    rows, (epsilon, method) = recorded("table_7_1_readings"), READINGS[reading]
    for n, cell in zip((50, 75, 100, 200), cells(reading)):
        assert float(cell) == pytest.approx(float(rows[f"n = {n}, {epsilon}", method]["ours"]), abs=1e-6)
