"""Figure 5 of Epstein and Betke: against the Nyström method."""

from benchmarks.papers.semi_least_squares import protocol

TITLE = "Kernel semi-least squares, Figure 5: against Nyström"
NOTES = """
The paper has 20 people with 78 color images each, which we do not have. coil20: 20 objects with 72 gray images of
32 × 32 pixels, two images of each object left out in turn, m up to 30. PIE: 10 people with 21 images each, every third
left out, so m ends at 19 of 20. Protocol of Figure 4, with greedy subsets for all methods. Nyström is β̂ = K̃⁺k_Q(q) with
the pseudo-inverse of the rank-m approximation; it measures all n distances of a new image, the others m. The formula of
§9 as printed takes vectors that are not orthonormal for eigenvectors, and fails. Standard errors are over objects and
people. The paper prints a figure without
numbers. coil20 was among the sets that the rule of the learned W was settled on.
"""


def run(quick=False):
    """Rows for both sets; quick: two images of each object."""
    sizes = (1, 10) if quick else (1, 2, 5, 10, 15, 20, 25, 30)
    rows, curves = protocol.rows("Figure 5, coil20", "coil20_32x32", sizes, 36, exchange=False)
    if not quick:
        protocol.picture(curves, "semi_least_squares_figure5.png", "coil20, leave one out")
        rows += protocol.rows("Figure 5, PIE", "pie10p_faces", (1, 2, 5, 10, 15, 19), 3, exchange=False)[0]
    return rows
