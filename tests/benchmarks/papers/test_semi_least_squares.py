"""Epstein and Betke on the Sheffield faces: closeness from ten distances."""

import numpy as np
import pytest

import gramian as gm


@pytest.mark.filterwarnings("ignore:SubsetDistance. the distance should be Hilbertian")
def test_ten_distances_give_closeness_above_95_percent(data_folder):
    """Every fourth image of each person is left out in turn; the Hamming distance as d, as in the paper.

    Both projections see the same ten members, since their choice depends on the distances alone.
    """
    with np.load(data_folder / "umist_faces.npz") as data:
        X, y = data["X"].astype(float), data["y"]
    errors = {"pinv": [], "learned": []}
    for person in np.unique(y):
        A = X[y == person]
        distance = gm.Hamming(float(A.mean()))
        for q in range(0, len(A), 4):
            Q = np.delete(A, q, axis=0)
            true = distance.pairwise(A[q : q + 1], Q)[0]
            members = "exchange"
            for projection, found in errors.items():
                near = gm.SubsetDistance(distance, m=10, projection=projection, selection=members).fit(Q)
                estimate = np.sqrt(near.sqdist(A[q])[0])
                found.append(np.mean(np.abs(estimate - true)[true > 0] / true[true > 0]))
                members = near.subset_
                assert near.n_evaluations_ == 10
    assert 1 - np.mean(errors["pinv"]) > 0.95
    assert 1 - np.mean(errors["learned"]) > 0.95


def test_the_table_of_the_page_is_that_of_the_records():
    """Every cell, its standard error too."""
    import re

    from benchmarks.harness import ROOT
    from benchmarks.report import Report

    folder = ROOT / "benchmarks" / "papers" / "results"
    cells = {}
    for name, sets in (("figure4", ("Sheffield", "CMU")), ("figure5", ("coil20", "PIE"))):
        for row in Report.read(folder / f"semi_least_squares.{name}.csv").rows:
            figure, place, reading = row["table"].split(", ")
            if row["case"] == "m = 10" and place in sets:
                cells[f"{place}, {reading}", row["method"]] = f"{float(row['ours']):.3f} {row['note'].split(',')[0]}"
    page = (ROOT / "docs" / "papers" / "semi_least_squares.md").read_text(encoding="utf-8")
    lines = [[part.strip() for part in line.split("|")[1:-1]] for line in page.splitlines() if line.startswith("| ")]
    head = next(line for line in lines if line[1] == "W = 0" and len(line) == 6)
    methods = [re.sub(r" \(.*", "", word) for word in head[1:]]
    shown = [line for line in lines if (line[0], "W = 0") in cells]
    assert len(shown) == 8
    for line in shown:
        assert line[1:] == [cells[line[0], method] for method in methods]
