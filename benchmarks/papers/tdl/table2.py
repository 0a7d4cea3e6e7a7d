"""Table 2 of Li, Yang and Wang (2007), first column: MNIST with the Euclidean prior."""

from benchmarks.papers.tdl.mnist import table

TITLE = "TDL, Table 2: MNIST, 70,000 digits, 5% labeled, Euclidean graph"
NOTES = """
20 nearest neighbors, L = D − A, k = 20, λ = 128, 60 eigenvectors, 10-NN, as printed; accuracy in percent on the
unlabeled digits, on 3 random splits for eigenmaps and the first 2 of them for TDL instead of 10, with one graph. CPU
seconds are of one thread of a busy two-core machine.
"""


def run(quick=False):
    """Both methods on the Euclidean graph."""
    return table("Euclidean", quick)
