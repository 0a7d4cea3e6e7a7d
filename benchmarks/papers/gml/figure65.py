"""Figure 6.5 of Jain (2009): the USPS test digits in two dimensions."""

import warnings

import numpy as np

import gramian as gm
from benchmarks.harness import ROOT, load
from gramian.manifold import neighbors

TITLE = "G-ML, Figure 6.5: 2,007 USPS digits in the plane"
NOTES = """
Two leading eigenvectors of K with 200 labels (G-ML, γ = 0.1, 10-NN graph, 20 eigenvectors), Laplacian eigenmaps, and
ITML on pixels with the same pairs. The number is the leave-one-out error of 5-NN in the plane, over all digits, which
the thesis does not give; colored maximum variance unfolding, its other rival, is not part of this library.
"""


def digits(quick):
    """The 2,007 test digits."""
    data = load("usps")
    X, y = np.asarray(data.X, float), data.y.astype(int)
    rows = np.asarray(data.test_idx)[:: 5 if quick else 1]
    X = X[rows] / np.abs(X).max()
    return X, y[rows]


def planes(X, y):
    """Two coordinates by each method."""
    labels = np.full(len(y), -1)
    known = np.random.default_rng(0).permutation(len(y))[: min(200, len(y) // 2)]
    labels[known] = y[known]
    gml = gm.GeometryAwareKernel(gamma=0.1, n_components=2, random_state=0).fit(X, labels)
    Z = (X - X.mean(axis=0)) @ np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[2][:30].T
    itml = gm.ITML(random_state=0, anchor=0).fit(Z[known], y[known]).metric_.transform(Z)
    U, s, _ = np.linalg.svd(itml - itml.mean(axis=0), full_matrices=False)
    return {
        "Laplacian eigenmaps": gm.LaplacianEigenmaps(2, n_neighbors=10).fit_transform(X),
        "ITML": U[:, :2] * s[:2],
        "G-ML": gml.embedding_,
    }


def error(F, y):
    """Leave-one-out 5-NN error."""
    votes = y[neighbors(F, 5)[0]]
    return np.mean([np.bincount(v).argmax() for v in votes] != y)


def draw(panels, y):
    """Each digit as itself, one color per class."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 3, figsize=(13, 4.6))
    colors = plt.get_cmap("tab10")
    for axis, (title, F) in zip(axes, panels.items()):
        # The few outermost points are drawn at the border.
        low, high = np.percentile(F, (1, 99), axis=0)
        for c in range(10):
            axis.scatter(*np.clip(F[y == c], low, high).T, s=7, color=colors(c), label=str(c), linewidths=0)
        axis.set_title(f"{title} (5-NN error {error(F, y):.2f})", fontsize=10)
        axis.set_xticks([])
        axis.set_yticks([])
    axes[-1].legend(markerscale=2.5, fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
    figure.tight_layout()
    figure.savefig(ROOT / "docs" / "results" / "gml_usps_plane.png", dpi=110)
    plt.close(figure)


def run(quick=False):
    """Errors in the plane, and the picture."""
    X, y = digits(quick)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        panels = planes(X, y)
    if not quick:
        draw(panels, y)
    return [
        {"table": "Figure 6.5", "case": "5-NN error", "method": m, "ours": error(F, y), "paper": None, "note": ""}
        for m, F in panels.items()
    ]
