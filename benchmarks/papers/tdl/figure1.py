"""Figure 1 of Li, Yang and Wang (2007): two moons pushed together."""

import numpy as np

import gramian as gm
from benchmarks.harness import ROOT, standard_error
from gramian.manifold import GaussianGraph
from gramian.manifold.transductive import vote

TITLE = "TDL, Figure 1: two moons pushed together"
NOTES = """
TDL is ahead of eigenmaps, which do not fail here as they do in the paper, but level with plain 1-NN on the same labels.
200 points, normalized Laplacian of the graph with weights exp(−d²/0.25), λ = 16, 1-NN on the first coordinate, as
printed. The paper gives neither its points nor the number of labels nor k: here the moons have radius 2 and noise 0.16,
the lower one is raised by 0.6 radii, 20 points are labeled, k = 20. Means over 20 draws with standard errors; the
picture is the first.
"""


def moons(seed, n=200, radius=2.0, noise=0.08, height=0.6):
    """Two half circles, the lower one raised by ``height`` radii."""
    rng = np.random.default_rng(seed)
    a, b = rng.uniform(0, np.pi, n // 2), rng.uniform(0, np.pi, n // 2)
    X = np.vstack([np.c_[np.cos(a), np.sin(a)], np.c_[1 - np.cos(b), height - np.sin(b)]])
    y = np.repeat([0, 1], n // 2)
    labels = np.full(n, -1)
    known = rng.permutation(n)[:20]
    labels[known] = y[known]
    return radius * (X + noise * rng.normal(size=X.shape)), y, labels


def embeddings(X, labels):
    """Two coordinates by each method."""
    graph = GaussianGraph(np.sqrt(0.125))
    tdl = gm.TDL(2, lam=16.0, penalty="normalized", graph=graph).fit(X, labels)
    return {
        "Laplacian eigenmaps": gm.LaplacianEigenmaps(2, normalized=True, graph=graph).fit_transform(X),
        "TDL": tdl.embedding_,
    }


def accuracy(F, y, labels):
    """1-NN on the first coordinate."""
    known = labels >= 0
    return np.mean(vote(F[known, :1], y[known], F[~known, :1], 1) == y[~known])


def draw(X, y, labels):
    """The three panels of the figure."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    panels = {"Data": X, **embeddings(X, labels)}
    figure, axes = plt.subplots(1, 3, figsize=(11, 3.4))
    for axis, (title, F) in zip(axes, panels.items()):
        for c, (color, marker) in enumerate((("tab:blue", "o"), ("tab:red", "^"))):
            axis.scatter(*F[y == c].T, s=14, c=color, marker=marker, alpha=0.5, linewidths=0)
            mine = (labels == c) & (y == c)
            axis.scatter(*F[mine].T, s=50, facecolors="none", edgecolors="black", marker=marker)
        shown = "" if title == "Data" else f" ({100 * accuracy(F, y, labels):.0f}% on the first coordinate)"
        axis.set_title(title + shown, fontsize=10)
        axis.set_xticks([])
        axis.set_yticks([])
    figure.tight_layout()
    folder = ROOT / "docs" / "results"
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / "tdl_two_moons.png", dpi=110)
    plt.close(figure)


def run(quick=False):
    """Accuracy of both methods, and the picture."""
    scores = {"TDL": [], "Laplacian eigenmaps": [], "1-NN in the plane, no learning": []}
    for seed in range(3 if quick else 20):
        X, y, labels = moons(seed)
        for method, F in embeddings(X, labels).items():
            scores[method].append(accuracy(F, y, labels))
        known = labels >= 0
        scores["1-NN in the plane, no learning"].append(np.mean(vote(X[known], y[known], X[~known], 1) == y[~known]))
    if not quick:
        draw(*moons(0))
    note = "the paper shows a picture only: eigenmaps fail, TDL separates the moons"
    return [
        {
            "table": "Figure 1",
            "case": "accuracy",
            "method": method,
            "ours": np.mean(found),
            "paper": None,
            "note": standard_error(found, words=note),
        }
        for method, found in scores.items()
    ]
