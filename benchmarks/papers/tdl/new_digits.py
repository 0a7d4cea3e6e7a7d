"""New points, which Li, Yang and Wang (2007) leave to their problem (7): MNIST test digits not in the fit."""

import warnings

import numpy as np

import gramian as gm
from benchmarks.harness import remembered
from benchmarks.papers.tdl.mnist import digits, labeled, row
from gramian.manifold.transductive import vote

TITLE = "TDL out of sample: MNIST digits that were not in the fit"
NOTES = """
Not in the paper. Every seventh digit of MNIST: the model is fitted to six of seven of these, 5% of them labeled, with
the settings of Table 2, and labels the others, beside the transductive accuracy on those same digits when all are in
the fit, ten nearest labeled digits, and TDL with its defaults, which votes with the plain distance as far as held-out
labels say. Problem (7) has a Gaussian kernel of width 5 on pixels in [0, 1], 500 landmark coordinates by k-means (the
default) and by greedy pivots, and the graph Laplacian as M. Three draws of the labels, with standard errors.
"""


def scores(X, y, seed, rank):
    """Accuracy of each way, in percent."""
    n = len(y) * 6 // 7
    labels = np.append(labeled(y[:n], seed), np.full(len(y) - n, -1))
    known = labels >= 0
    printed = {"lam": 128.0, "n_votes": 10}
    F = gm.TDL(60, **printed).fit(X, labels).embedding_
    found = {
        "transductive, all digits in the fit": vote(F[known], y[known], F[n:], 10),
        "10-NN on the labeled digits": vote(X[known], y[known], X[n:], 10),
        "new digits along the graph": gm.TDL(60, **printed).fit(X[:n], labels[:n]).predict(X[n:]),
        "new digits, TDL with its defaults": gm.TDL(random_state=0).fit(X[:n], labels[:n]).predict(X[n:]),
    }
    for basis in ("kmeans", "cholesky"):
        kernel = {"penalty": gm.Gaussian(5.0), "smoothness": 1.0, "rank": rank, "basis": basis, "random_state": 0}
        model = gm.TDL(60, **printed, **kernel).fit(X[:n], labels[:n])
        found[f"problem (7), {rank} landmarks by {basis}"] = model.predict(X[n:])
    return {method: 100 * float(np.mean(guess == y[n:])) for method, guess in found.items()}


def run(quick=False):
    """New digits along the graph and by problem (7), beside the transductive accuracy on them."""
    X, y = digits(False)
    step = 35 if quick else 7
    X, y = X[::step], y[::step]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        draws = [
            remembered("tdl_new_digits", (__file__, seed, step), lambda s=seed: scores(X, y, s, 100 if quick else 500))
            for seed in range(1 if quick else 3)
        ]
    rows = []
    for method in draws[0]:
        values = np.array([draw[method] for draw in draws])
        note = f"± {values.std(ddof=1) / np.sqrt(len(values)):.2f}" if len(values) > 1 else ""
        rows.append(row("Out of sample", "digits not in the fit", method, values.mean(), None, note))
    return rows
