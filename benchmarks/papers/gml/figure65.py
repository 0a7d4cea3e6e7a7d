"""Figure 6.5 of Jain (2009): the USPS test digits in two dimensions."""

import warnings

import numpy as np

import gramian as gm
from benchmarks.harness import ROOT, load
from benchmarks.papers.gml.rivals import colored_unfolding_factor
from gramian.manifold import neighbors

TITLE = "G-ML, Figure 6.5: 2,007 USPS digits in the plane"
NOTES = """
Two leading eigenvectors of K with 200 labels (G-ML, γ = 0.1, 10-NN graph, 20 eigenvectors), Laplacian eigenmaps, ITML
on 30 principal components with the same pairs, and colored maximum variance unfolding, which has all labels as in the
thesis and also the 200. The number is the leave-one-out error of 5-NN in the plane, over the digits without a label,
which the thesis does not give: it shows a picture. Means over 10 draws of the labels, with standard errors. ITML in
two dimensions is the leading plane of its metric.
"""
METHODS = ("Laplacian eigenmaps", "ITML", "colored MVU, all labels", "colored MVU, 200 labels", "G-ML, 200 labels")


def digits(quick):
    """The 2,007 test digits."""
    data = load("usps")
    X, y = np.asarray(data.X, float), data.y.astype(int)
    rows = np.asarray(data.test_idx)[:: 5 if quick else 1]
    X = X[rows] / np.abs(X).max()
    return X, y[rows]


def planes(X, y, seed, fixed):
    """Two coordinates by each method, and the digits with a label; ``fixed`` holds those that no draw changes."""
    labels = np.full(len(y), -1)
    known = np.random.default_rng(seed).permutation(len(y))[: min(200, len(y) // 2)]
    labels[known] = y[known]
    gml = gm.GeometryAwareKernel(gamma=0.1, n_components=2, random_state=0).fit(X, labels)
    Z = (X - X.mean(axis=0)) @ np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[2][:30].T
    itml = gm.ITML(random_state=0, anchor=0).fit(Z[known], y[known]).metric_.transform(Z)
    few = plane(colored_unfolding_factor(X, labels))
    drawn = (fixed[0], plane(itml), fixed[1], few, gml.embedding_)
    return dict(zip(METHODS, drawn)), labels >= 0


def plane(F):
    """The two leading components."""
    U, s, _ = np.linalg.svd(F - F.mean(axis=0), full_matrices=False)
    return U[:, :2] * s[:2]


def error(F, y, counted=slice(None)):
    """Leave-one-out 5-NN error of the points that are counted."""
    votes = y[neighbors(F, 5)[0]]
    return np.mean([np.bincount(v).argmax() for v in votes[counted]] != y[counted])


def draw(panels, y):
    """Each digit as itself, one color per class."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(panels), figsize=(4 * len(panels), 4.4))
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
    figure.savefig(ROOT / "docs" / "results" / "gml_usps_plane.png", dpi=90)
    plt.close(figure)


def run(quick=False):
    """Errors in the plane, and the picture of the first draw."""
    X, y = digits(quick)
    found = {method: [] for method in METHODS}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fixed = gm.LaplacianEigenmaps(2, n_neighbors=10).fit_transform(X), plane(colored_unfolding_factor(X, y))
        for seed in range(2 if quick else 10):
            panels, known = planes(X, y, seed, fixed)
            if seed == 0 and not quick:
                draw(panels, y)
            for method, F in panels.items():
                found[method].append(error(F, y, ~known))
    return [
        {
            "table": "Figure 6.5",
            "case": "5-NN error of the digits without a label",
            "method": method,
            "ours": np.mean(values),
            "paper": None,
            "note": f"± {np.std(values) / np.sqrt(len(values)):.3f}, {len(values)} draws",
        }
        for method, values in found.items()
    ]
