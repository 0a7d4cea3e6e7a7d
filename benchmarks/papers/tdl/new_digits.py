"""New points, which Li, Yang and Wang (2007) leave to their problem (7): images that were not in the fit."""

import warnings

import numpy as np

import gramian as gm
from benchmarks.harness import load, remembered
from benchmarks.papers.tdl.mnist import digits, labeled, row
from gramian.manifold.transductive import vote

TITLE = "TDL out of sample: images that were not in the fit"
NOTES = """
Not in the paper. Every seventh digit of MNIST: the model is fitted to six of seven of these, 5% of them labeled, with
the settings of Table 2, and labels the others, beside the transductive accuracy on those same digits when all are in
the fit, ten nearest labeled digits, and TDL with its defaults, which votes with the plain distance as far as held-out
labels say. Problem (7) has a Gaussian kernel of width 5 on pixels in [0, 1], 500 landmark coordinates by k-means (the
default) and by greedy pivots, and the graph Laplacian as M. Three draws of the labels, with standard errors.

coil20: 1,080 images of twenty objects in the fit, few of them labeled, 360 others to label; one nearest labeled image,
TDL with its defaults, and with the settings of Table 2 (20 coordinates, one vote). Three draws of images and labels.
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


def objects(seed, per_class):
    """Accuracy on new images of coil20 with a few labels for each object, in percent."""
    data = load("coil20_32x32")
    X, y = np.asarray(data.X, dtype=float) / 255, np.asarray(data.y)
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(y))
    fit, new = order[: len(y) * 3 // 4], order[len(y) * 3 // 4 :]
    labels = np.full(len(fit), -1)
    for c in np.unique(y):
        labels[rng.permutation(np.flatnonzero(y[fit] == c))[:per_class]] = c
    known = labels >= 0
    found = {
        "1-NN on the labeled images": vote(X[fit][known], labels[known], X[new], 1),
        "TDL with its defaults": gm.TDL(random_state=0).fit(X[fit], labels).predict(X[new]),
        "TDL with the settings of Table 2": gm.TDL(20, lam=128.0, n_votes=1).fit(X[fit], labels).predict(X[new]),
    }
    return {method: 100 * float(np.mean(guess == y[new])) for method, guess in found.items()}


def rows_of(table, case, draws):
    """Means over draws, with standard errors."""
    rows = []
    for method in draws[0]:
        values = np.array([draw[method] for draw in draws])
        note = f"± {values.std(ddof=1) / np.sqrt(len(values)):.2f}" if len(values) > 1 else ""
        rows.append(row(table, case, method, values.mean(), None, note))
    return rows


def run(quick=False):
    """New digits along the graph and by problem (7), beside the transductive accuracy on them; new images of coil20."""
    X, y = digits(False)
    step = 35 if quick else 7
    X, y = X[::step], y[::step]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        draws = [
            remembered("tdl_new_digits", (__file__, seed, step), lambda s=seed: scores(X, y, s, 100 if quick else 500))
            for seed in range(1 if quick else 3)
        ]
    rows = rows_of("MNIST", "digits not in the fit", draws)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for labels in (2,) if quick else (2, 5, 10):
            found = [objects(seed, labels) for seed in range(1 if quick else 3)]
            rows += rows_of("coil20", f"{labels} labels for each object", found)
    return rows
