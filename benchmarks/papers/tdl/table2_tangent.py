"""Table 2 of Li, Yang and Wang (2007), second column: MNIST with the tangent distance prior."""

from benchmarks.papers.tdl.mnist import PROTOCOL, table

TITLE = "TDL, Table 2: MNIST, 70,000 digits, 5% labeled, tangent graph"
NOTES = f"""
As printed TDL does not move from eigenmaps; what gains is a smooth span, which is not in the paper.
{PROTOCOL}
The graph takes the 20 nearest in two-sided tangent distance (seven tangents, derivatives of a Gaussian of 0.9 pixels)
of 60 Euclidean neighbors. The cost (6) takes Euclidean neighbors.
"""


def run(quick=False):
    """Both methods on the tangent graph."""
    return table("tangent", quick)
