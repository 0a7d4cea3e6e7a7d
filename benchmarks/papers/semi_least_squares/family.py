"""Not in the paper: which g and which member of the family is nearer, on vectors."""

import numpy as np

import gramian as gm
from benchmarks import harness

TITLE = "Kernel semi-least squares: a constant or an origin, with an intercept or without"
NOTES = """
Not in the paper, which tries binary images alone. The Euclidean distance of five UCI sets, columns scaled: 110 points
are Q, 40 others are new; closeness (32) of their estimated distances to Q, the mean of ten draws with its standard
error, and in how many of them an origin is closer than a constant. Subsets are greedy by (24). An intercept is closer
than W = 0 in nearly all cells; whether a constant or an origin is closer depends on the set.
"""
SETS = ("wine", "iris", "pendigits", "ionosphere", "wdbc")
PROJECTIONS = {"pinv": "W = 0", "affine": "with an intercept", "learned": "learned W"}


class Euclidean:
    """The distance, in batches."""

    def __call__(self, a, b):
        return float(np.linalg.norm(a - b))

    def pairwise(self, A, B):
        return np.sqrt(gm.linalg.sqdist(np.asarray(A), np.asarray(B)))


def closeness(model, Q, new):
    """1 − the mean relative error of d."""
    d = Euclidean().pairwise(new, Q)
    estimate = np.sqrt(model.fit(Q).sqdist(new))
    return 1 - float(np.mean(np.abs(estimate - d)[d > 0] / d[d > 0]))


def run(quick=False):
    """Rows for each set, m and g; quick: one set, two draws."""
    rows = []
    for name in SETS[:1] if quick else SETS:
        X = harness.load(name).X.astype(float)
        X = X[:, X.std(axis=0) > 0]
        X = (X - X.mean(axis=0)) / X.std(axis=0)
        for m in (5, 10):
            rows += _of_size(name, X, m, 2 if quick else 10)
    return rows


def _of_size(name, X, m, draws):
    scores = {}
    for draw in range(draws):
        order = np.random.default_rng(draw).permutation(len(X))
        Q, new = X[order[:110]], X[order[110:150]]
        for g in ("constant", "origin"):
            for projection in PROJECTIONS:
                model = gm.SubsetDistance(Euclidean(), m, g=g, projection=projection, selection="greedy")
                scores.setdefault((g, projection), []).append(closeness(model, Q, new))
    rows = []
    for (g, projection), values in scores.items():
        ahead = sum(a > b for a, b in zip(values, scores["constant", projection]))
        words = f"ahead of a constant in {ahead} of {draws}" if g == "origin" else ""
        row = {"table": f"m = {m}", "case": name, "method": f"{g}, {PROJECTIONS[projection]}"}
        rows.append(row | {"ours": float(np.mean(values)), "note": harness.standard_error(values, 4, words)})
    return rows
