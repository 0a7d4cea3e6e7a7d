"""Figure 4 of Epstein and Betke: closeness on the Sheffield faces."""

from benchmarks.papers.semi_least_squares import protocol

TITLE = "Kernel semi-least squares, Figure 4: closeness on the Sheffield (UMIST) faces"
NOTES = """575 images of 20 people at 28 × 23 pixels (the paper: 564 images at 220 × 220), thresholded at each person's
mean gray value; each image is left out in turn, the subset is chosen among the others by criterion (24), greedily (the
paper: exhaustively). Closeness (32), with the standard deviation over images; pairs of identical binary images are
left out. The paper prints a figure without numbers. Both readings of (3) are shown: the Hamming distance as d (the
text), and as d², which is Hilbertian."""


def run(quick=False):
    """Rows for m = 1 … 10; quick: every tenth image."""
    rows, curves = protocol.rows("Figure 4", "umist_faces", range(1, 11), 10 if quick else 1)
    if not quick:
        protocol.picture(curves, "semi_least_squares_figure4.png", "Sheffield faces, leave one out")
    return rows
