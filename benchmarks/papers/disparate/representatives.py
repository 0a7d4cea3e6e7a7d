"""Figure 8.2: representative vectors of decorrelated k-means and the parts of convolutional EM, in the plane."""

from typing import Any

import numpy as np

import gramian as gm
from benchmarks.harness import standard_error
from benchmarks.report import PICTURES
from gramian.clustering import match

TITLE = "Representatives and parts in the plane (Jain 2009, Figure 8.2)"
NOTES = """
1,000 points, the sum of two mixtures of two Gaussians. The centers of decorrelated k-means separate both ways but lie
on no cluster; the sums μ_i + ν_j of the parts of convolutional EM are the four cluster means. The thesis shows a
picture only; ours is the first of 20 draws.
"""


MEANS = np.array([[4.0, 1.5], [-1.2, 3.2]])
FACTS = (
    ("lowest NMI of the two labelings", "Dec-kmeans"),
    ("lowest NMI of the two labelings", "Conv-EM"),
    ("largest |cosine| between centers of the two clusterings", "Dec-kmeans"),
    ("largest distance from a cluster mean to a sum of parts", "Conv-EM"),
)


def draw(seed: int) -> tuple:
    """Points and their two labelings, both models, and the sums of parts."""
    rng = np.random.RandomState(seed)
    truth = rng.randint(2, size=(1000, 2))
    X = (2 * truth - 1) @ MEANS + rng.normal(size=(1000, 2))
    dec, em = gm.DecorrelatedKMeans((2, 2), random_state=0).fit(X), gm.ConvolutionalEM((2, 2), random_state=0).fit(X)
    sums = np.array([em.mean_ + mu + nu for mu in em.parts_[0] for nu in em.parts_[1]])
    return X, truth, dec, em, sums


def measured(truth: np.ndarray, dec: Any, em: Any, sums: np.ndarray) -> list[float]:
    """NMI of both, how orthogonal the centers are, and how far the sums of parts are from the cluster means."""
    corners = np.array([[a, b] for a in (-1, 1) for b in (-1, 1)]) @ MEANS
    nearest = np.sqrt(((corners[:, None] - sums) ** 2).sum(axis=2).min(axis=1)).max()
    left, right = (C - dec.mean_ for C in dec.cluster_centers_)
    cosine = np.abs(left @ right.T / np.outer(np.linalg.norm(left, axis=1), np.linalg.norm(right, axis=1))).max()
    return [match(dec.labels_, truth).scores.min(), match(em.labels_, truth).scores.min(), cosine, nearest]


def run(quick: bool = False) -> list[dict[str, Any]]:
    """What the picture shows, in numbers, over draws."""
    draws = [draw(seed) for seed in range(2 if quick else 20)]
    if not quick:
        X, truth, dec, _, sums = draws[0]
        picture(X, dec, sums, truth)
    values = np.array([measured(*found[1:]) for found in draws])
    return [
        {
            "table": "Figure 8.2",
            "case": case,
            "method": method,
            "ours": round(float(found.mean()), 3),
            "paper": None,
            "note": standard_error(found),
        }
        for (case, method), found in zip(FACTS, values.T)
    ]


def picture(X: np.ndarray, dec: Any, sums: np.ndarray, truth: np.ndarray) -> None:
    """Points, the separating lines of both clusterings, representatives, and sums of parts."""
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(9, 4), layout="constrained", sharex=True, sharey=True)
    for axes, title in ((left, "Dec-kmeans: representatives"), (right, "Conv-EM: sums of parts")):
        axes.scatter(*X.T, c=2 * truth[:, 0] + truth[:, 1], cmap="Set2", vmin=0, vmax=7, s=8)
        axes.set_title(title, fontsize=10)
        axes.set_aspect("equal")
    for C, style, marker in zip(dec.cluster_centers_, ("-", "--"), ("o", "s")):
        left.scatter(*C.T, c="black", marker=marker, s=50)
        left.axline(C.mean(axis=0), C.mean(axis=0) + (C[0] - C[1])[::-1] * [1, -1], color="black", ls=style)
    right.scatter(*sums.T, c="black", marker="*", s=120)
    figure.savefig(PICTURES / "disparate_plane.png", dpi=110)
    pyplot.close(figure)
