"""New points, which Li, Yang and Wang (2007) leave to their problem (7): MNIST test digits not in the fit."""

import numpy as np

import gramian as gm
from benchmarks.papers.tdl.mnist import digits, labeled, row
from gramian.manifold.transductive import vote

TITLE = "TDL out of sample: MNIST digits that were not in the fit"
NOTES = """
Not in the paper. Every third digit of MNIST: the model is fitted to 20,000 digits, 5% of them labeled, with the
settings of Table 2, and labels the 3,334 others, beside the transductive accuracy on those same digits when all are
in the fit. Problem (7) has a Gaussian kernel of width 5 on pixels in [0, 1], 500 landmark coordinates, and the graph
Laplacian as M.
"""


def new(method, found, truth):
    """Accuracy in percent."""
    return row("Out of sample", "digits not labeled", method, 100 * np.mean(found == truth), None, "")


def run(quick=False):
    """New digits along the graph and by problem (7), beside the transductive accuracy on them."""
    X, y = digits(False)
    step = 30 if quick else 3
    X, y = X[::step], y[::step]
    n = len(y) * 6 // 7
    labels = np.append(labeled(y[:n], 0), np.full(len(y) - n, -1))
    known = labels >= 0
    F = gm.TDL(60, lam=128.0).fit(X, labels).embedding_
    rows = [new("transductive, all digits in the fit", vote(F[known], y[known], F[n:], 10), y[n:])]
    model = gm.TDL(60, lam=128.0, n_votes=10).fit(X[:n], labels[:n])
    rows.append(new("new digits along the graph", model.predict(X[n:]), y[n:]))
    rank = 100 if quick else 500
    kernel = gm.TDL(60, lam=128.0, penalty=gm.Gaussian(5.0), smoothness=1.0, rank=rank, n_votes=10)
    kernel.fit(X[:n], labels[:n])
    found = kernel.predict()[~known[:n]]
    rows.append(new(f"problem (7), {rank} landmarks, training digits", found, y[:n][~known[:n]]))
    rows.append(new(f"problem (7), {rank} landmarks, new digits", kernel.predict(X[n:]), y[n:]))
    return rows
