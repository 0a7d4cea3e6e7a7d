"""Table 1 of Li, Yang and Wang (2007): four UCI sets, 10% labeled."""

import numpy as np

import gramian as gm
from benchmarks.harness import load
from gramian.manifold import GaussianGraph
from gramian.manifold.transductive import vote

TITLE = "TDL, Table 1: UCI sets with 10% of the labels"
NOTES = """
100 random splits, 10% labeled, 1-NN in the embedding, features scaled to [0, 1], complete graph with weights
exp(−d²/0.25), λ = 1024, 10 eigenvectors (5 on breast cancer), all as printed; accuracy in percent, the note gives the
standard deviations, ours and the paper's. Splits in which a class has no label are drawn again. Not printed and
chosen here: k = 20 in the cost, the value the paper uses on MNIST (of 1, 5 and 20, tried on 15 splits, 1 and 5 lose
four to seven points on sonar and gain at most half a point elsewhere). The text says that the penalty is built as for
the two moons, with the *normalized* Laplacian; with it Laplacian eigenmaps reach 86% on wine instead of the printed
93.48%, and λ = 1024 leaves TDL equal to eigenmaps everywhere. The plain Laplacian L = D − A reproduces all eight
cells, so it is what the table shows.
"""
PAPER = {
    "breast_cancer_wisconsin": (5, {"TDL": (94.74, 1.73), "Laplacian eigenmaps": (94.80, 1.61), "1-NN": (92.94, 1.59)}),
    "ionosphere": (10, {"TDL": (89.37, 5.32), "Laplacian eigenmaps": (85.01, 4.02), "1-NN": (81.14, 4.27)}),
    "sonar": (10, {"TDL": (63.65, 5.68), "Laplacian eigenmaps": (62.88, 4.91), "1-NN": (69.18, 4.60)}),
    "wine": (10, {"TDL": (93.09, 4.00), "Laplacian eigenmaps": (93.48, 2.81), "1-NN": (91.71, 3.00)}),
}


def split(y, rng):
    """Random 10%, with every class among them."""
    while True:
        chosen = rng.permutation(len(y))[: round(0.1 * len(y))]
        if len(np.unique(y[chosen])) == len(np.unique(y)):
            return chosen


def accuracies(name, dimensions, splits):
    """Accuracy of each method on each split, in percent."""
    data = load(name)
    X, y = data.X, np.unique(data.y, return_inverse=True)[1]
    span = np.ptp(X, axis=0)
    X = (X - X.min(axis=0)) / np.where(span > 0, span, 1)
    graph = GaussianGraph(np.sqrt(0.125))
    adjacency = graph(X)
    plain = gm.LaplacianEigenmaps(dimensions, graph=adjacency).fit_transform(X)
    scores = {"TDL": [], "Laplacian eigenmaps": [], "1-NN": []}
    for seed in range(splits):
        known = split(y, np.random.default_rng(seed))
        hidden = np.setdiff1d(np.arange(len(y)), known)
        labels = np.full(len(y), -1)
        labels[known] = y[known]
        tdl = gm.TDL(dimensions, lam=1024.0, n_neighbors=20, graph=adjacency).fit(X, labels).embedding_
        for method, F in (("TDL", tdl), ("Laplacian eigenmaps", plain), ("1-NN", X)):
            scores[method].append(100 * np.mean(vote(F[known], y[known], F[hidden], 1) == y[hidden]))
    return scores


def run(quick=False):
    """All cells that can be computed here."""
    rows = []
    for name, (dimensions, paper) in PAPER.items():
        scores = accuracies(name, dimensions, 5 if quick else 100)
        for method, (mean, deviation) in paper.items():
            ours = np.array(scores[method])
            note = f"±{ours.std():.2f} (paper ±{deviation})"
            rows.append(
                {"table": "Table 1", "case": name, "method": method, "ours": ours.mean(), "paper": mean, "note": note}
            )
    return rows
