"""Table 2 of Li, Yang and Wang (2007), second column: MNIST with the tangent distance prior."""

from benchmarks.papers.tdl.mnist import table

TITLE = "TDL, Table 2: MNIST, 70,000 digits, 5% labeled, tangent graph"
NOTES = """
20 nearest neighbors, L = D − A, k = 20, λ = 128, 60 eigenvectors, 10-NN, as printed; accuracy in percent on the
unlabeled digits, on 3 random splits for eigenmaps and the first 2 of them for TDL instead of 10, with one graph. CPU
seconds are of one thread of a busy two-core machine. The graph takes the 20 nearest in two-sided tangent distance
(seven tangents, derivatives of a Gaussian of 0.9 pixels) of 60 Euclidean neighbors. The cost (6) takes Euclidean
neighbors.
"""


def run(quick=False):
    """Both methods on the tangent graph."""
    return table("tangent", quick)
