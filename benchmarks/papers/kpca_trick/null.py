"""The null beside Tables 1-3 of Chatpatanasiri et al. (2010): 1-NN without learning, on the same forty splits."""

import numpy as np

from benchmarks import harness
from benchmarks.papers.kpca_trick.protocol import SETS, nearest, split
from benchmarks.report import Report

TITLE = "1-NN without learning on the splits of Tables 1–3 (Chatpatanasiri et al. 2010)"
NOTES = """
What the tables do not print: the Euclidean distance on the same features, standardized by the training points, on the
same forty splits. The note counts how many of the nine learned methods, as they are on record, are ahead of it.
"""
RECORD = harness.ROOT / "benchmarks" / "papers" / "results" / "kpca_trick.tables.csv"


def run(quick=False):
    """Accuracy on each set, and who is ahead of it."""
    learned = {}
    for row in Report.read(RECORD).rows:
        if row["case"] in SETS and row["table"].startswith("Table"):
            learned.setdefault(row["case"], []).append(float(row["ours"]))
    rows = []
    for name in list(SETS)[:2] if quick else SETS:
        data, scores = harness.load(SETS[name]), []
        for seed in range(100, 102 if quick else 140):
            X, y, test, truth, _ = split(name, data, seed)
            scores.append(float(np.mean(nearest(X, y, test) == truth)))
        methods = learned.get(name, [])
        words = f"{sum(value > np.mean(scores) for value in methods)} of {len(methods)} learned methods are ahead"
        note = harness.standard_error(scores, 4, words if methods else "")
        rows.append(
            {"table": "1-NN accuracy", "case": name, "method": "no learning", "ours": np.mean(scores), "note": note}
        )
    return rows
