"""Figure 5 of Epstein and Betke: against the Nyström method on the PIE faces."""

from benchmarks.papers.semi_least_squares import protocol

TITLE = "Kernel semi-least squares, Figure 5: against Nyström on the PIE faces"
NOTES = """210 gray images of 10 people, 21 each (the paper: 20 people with 78 color images), protocol of Figure 4. With
one image left out there are 20 others, so m ends at 19. Nyström is β̂ = K̃⁺k_Q(q) with the pseudo-inverse of the rank-m
approximation; it measures all n distances of a new image, the others m. The formula of §9 as printed takes vectors
that are not orthonormal for eigenvectors, and fails. The paper prints a figure without numbers."""


def run(quick=False):
    """Rows for m = 1 … 19; quick: every tenth image."""
    rows, curves = protocol.rows("Figure 5", "pie10p_faces", range(1, 20), 10 if quick else 1)
    if not quick:
        protocol.picture(curves, "semi_least_squares_figure5.png", "PIE faces, leave one out")
    return rows
