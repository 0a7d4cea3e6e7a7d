"""Figures 6.6 to 6.8 of Jain (2009): manifold alignment from ten must-links."""

import warnings
from itertools import product

import numpy as np
from scipy import sparse

import gramian as gm
from benchmarks.harness import ROOT, load
from benchmarks.papers.gml.tour import tour_graph
from gramian import linalg
from gramian.manifold import NeighborGraph, SpectralFamily, diffusion_factor, n_connected_components

TITLE = "G-ML, Figures 6.6–6.8: aligning images of different things under the same transformation"
NOTES = """
On Yale B the claim of the thesis is not reproduced: with the same bound and slack ITML is level or ahead. On coil20
it is. Bound, slack and iterations of G-ML were set by hand, on which draws is not on record, and the tour is a strong
prior of ours. coil20: three random objects × 72 angles, ten random must-links between images of two objects at one
angle; a retrieved image, of any object, is right when its angle differs by at most 5°, so that there are eight right
ones; recall at eight retrieved, means and standard errors over random draws of objects and links. The thesis says
neither which three objects it took nor what counts as right nor at how many images it reads 0.47, 0.24 and 0.23: this
reading puts the diffusion kernel, which knows one object at a time, at its number. It says that the images of an
object should lie on a closed curve. The graph is therefore a short closed tour through the images of each object (by
pixels; the order of the angles is not used), and the number of harmonics on it, 1, 2 or 3 (eigenvectors: constant and
two per harmonic and object, less one), is the one that puts nine links' alignment nearest to the tenth, each left out
in turn: only the ten links are looked at. A second row has the graph of two neighbors with two harmonics; three of
the twenty objects (turned jars and cups, alike from all sides) break up in it, and are left out in the second case.
G-ML: u = 1e-5, γ = 100, five iterations, det M held (keep_volume); the printed problem, run longer, shrinks both
kernels and falls back to the diffusion kernel. ITML: one step A from a Gaussian kernel of median width with ITML's
own defaults (γ = 1, 5th percentile), and once with the u and γ of G-ML.

yaleb: two people × 64 lights, images of unit length, ten must-links; graph of 5 or 10 neighbors and 8, 14 or 20
eigenvectors, chosen as above. The thesis retrieves images of a light "irrespective of the identity of the person": an
image finds its own light of the other person among the five nearest of all 127 others. There G-ML aligns the two and
ITML retrieves images of the same person, as the thesis says. Among the images of the other person alone the pixels
themselves find the light in 85 of 100 cases, and ITML improves on that. Given the u and γ of G-ML, which the thesis
does not say it was, ITML finds the light as often as G-ML or more in both cases, without a graph; not so on coil20.
"""
PAPER = {"G-ML": 0.47, "ITML": 0.24, "diffusion kernel": 0.23}
DRAWS, FACE_DRAWS = 50, 20


def links(rng, n, groups):
    """Ten pairs (group a, i), (group b, i)."""
    same = rng.permutation(n)[:10]
    ends = np.array([rng.permutation(groups)[:2] for _ in same])
    left, right = ends[:, 0] * n + same, ends[:, 1] * n + same
    return left, right


def tours(X, n):
    """A closed tour through each n rows."""
    roots = [np.sqrt(linalg.sqdist(X[i : i + n])) for i in range(0, len(X), n)]
    return sparse.csr_array(sparse.block_diag([tour_graph(D) for D in roots]))


def aligned(X, A, r, left, right, max_iter=5, keep_volume=None):
    """Squared distances by G-ML on a graph with r eigenvectors."""
    must = gm.Pairs(left, right, np.ones(len(left), bool), bounds=(1e-5, 1.0))
    family = SpectralFamily(n_eigenvectors=r, graph=A, keep_volume=keep_volume)
    return linalg.sqdist(gm.GeometryAwareKernel(family, gamma=100.0, max_iter=max_iter).fit(X, must).embedding_)


def left_out_rank(X, A, r, left, right, n):
    """Mean log of the place at which each end of a link finds the other, by the other links alone."""
    places = []
    for i in range(len(left)):
        rest = np.arange(len(left)) != i
        D = aligned(X, A, r, left[rest], right[rest])
        for a, b in ((left[i], right[i]), (right[i], left[i])):
            group = slice(b // n * n, b // n * n + n)
            places.append(np.sum(D[a, group] < D[a, b]))
    return np.log1p(places).mean()


def from_pixels(X, left, right, bounds=None, gamma=1.0):
    """Squared distances by ITML: one step A from a Gaussian kernel."""
    must = gm.Pairs(left, right, np.ones(len(left), bool), bounds=bounds)
    return linalg.sqdist(gm.GeometryAwareKernel("rbf", max_iter=1, gamma=gamma).fit(X, must).embedding_)


def distances(X, n, left, right, graphs, near):
    """Squared distances by each method; n points a group. The graph and its rank are chosen by leaving out links."""
    choices = product(graphs, (8, 14, 20))
    A, r = min(choices, key=lambda choice: left_out_rank(X, *choice, left, right, n))
    return {
        "G-ML": aligned(X, A, r, left, right),
        "G-ML, neighbor graph, 14 eigenvectors": aligned(X, near, 14, left, right),
        "G-ML, the same, as printed, 60 iterations": aligned(X, near, 14, left, right, max_iter=60, keep_volume=False),
        "ITML": from_pixels(X, left, right),
        "ITML, u and γ of G-ML": from_pixels(X, left, right, (1e-5, 1.0), 100.0),
        "diffusion kernel": linalg.sqdist(diffusion_factor(near, 0.1, n_eigenvectors=14)),
    }


def recall(D, angle, most):
    """Mean recall at 1 … ``most`` retrieved images."""
    right = np.abs((angle[:, None] - angle + 180) % 360 - 180) <= 5
    np.fill_diagonal(right, False)
    D = D + np.diag(np.full(len(D), np.inf))
    hits = np.take_along_axis(right, np.argsort(D, axis=1)[:, :most], 1)
    return (np.cumsum(hits, axis=1) / right.sum(axis=1)[:, None]).mean(axis=0)


def is_curve(X):
    """Whether the images of one object hang together when each is joined to its two nearest."""
    return n_connected_components(NeighborGraph(2)(X)) == 1


def coil(draws, curved):
    """Recall curves, (draws, 60) for each method; with ``curved`` only of objects whose images form one curve."""
    data = load("coil20_32x32")
    X, y = data.X / 255.0, np.asarray(data.y)
    names = [o for o in range(20) if not curved or is_curve(X[y == o])]
    curves = {}
    for seed in range(draws):
        rng = np.random.default_rng(seed)
        objects = rng.permutation(names)[:3]
        rows = np.concatenate([np.flatnonzero(y == o) for o in objects])
        left, right = links(rng, 72, 3)
        found = distances(X[rows], 72, left, right, [tours(X[rows], 72)], NeighborGraph(2)(X[rows]))
        for method, D in found.items():
            curves.setdefault(method, []).append(recall(D, np.tile(np.arange(72) * 5, 3), 60))
    return {method: np.array(c) for method, c in curves.items()}


def own_light(D, pooled):
    """Share of images with their own light among the five nearest, of both people or of the other person alone."""
    n = len(D) // 2
    own, group = (np.arange(2 * n) + n) % (2 * n), np.arange(2 * n) // n
    barred = np.eye(2 * n, dtype=bool) if pooled else group[:, None] == group
    near = np.argsort(np.where(barred, np.inf, D), axis=1)[:, :5]
    return np.mean((near == own[:, None]).any(axis=1))


def faces(draws):
    """Shares (draws, 2) of images that find their own light, by method."""
    data = load("yaleb_cropped_32x32")
    X, y = np.asarray(data.X, float), np.asarray(data.y)
    X = X / np.linalg.norm(X, axis=1, keepdims=True)
    full = [c for c in np.unique(y) if np.sum(y == c) == 64]
    shares = {}
    for seed in range(draws):
        rng = np.random.default_rng(seed)
        people = rng.permutation(full)[:2]
        rows = np.concatenate([np.flatnonzero(y == p) for p in people])
        left, right = links(rng, 64, 2)
        near = [NeighborGraph(k)(X[rows]) for k in (5, 10)]
        found = distances(X[rows], 64, left, right, near, near[0]) | {"pixels": linalg.sqdist(X[rows])}
        for method, D in found.items():
            shares.setdefault(method, []).append([own_light(D, pooled) for pooled in (True, False)])
    return {method: np.array(s) for method, s in shares.items()}


def draw(curves):
    """Figure 6.8."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axis = plt.subplots(figsize=(8, 3.8))
    for method, c in curves.items():
        axis.plot(np.arange(1, c.shape[1] + 1), c.mean(axis=0), label=method)
    axis.axvline(8, color="0.8", zorder=0)
    axis.set_xlabel("retrieved images")
    axis.set_ylabel("recall of images within 5°")
    axis.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.02, 0.5))
    figure.tight_layout()
    figure.savefig(ROOT / "docs" / "results" / "gml_coil_recall.png", dpi=110)
    plt.close(figure)


def run(quick=False):
    """Recall on coil20 and on faces, and the curve."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        draws = 2 if quick else DRAWS
        cases = {"all 20 objects": coil(draws, False), "17 curved objects": coil(draws, True)}
        shares = faces(1 if quick else FACE_DRAWS)
    if not quick:
        draw(cases["all 20 objects"])
    rows = []
    for case, curves in cases.items():
        for method, c in curves.items():
            note = f"{_error(c[:, 7])} (standard error, {len(c)} draws); at 20 retrieved {c[:, 19].mean():.2f}"
            rows.append(_row("Figure 6.8, coil20", case, method, c[:, 7].mean(), PAPER.get(method), note))
    for i, case in enumerate(("own light in 5 of both people", "own light in 5 of the other person")):
        for method, s in shares.items():
            rows.append(_row("Figures 6.6–6.7, yaleb", case, method, s[:, i].mean(), None, _error(s[:, i])))
    return rows


def _error(values):
    """Standard error of a mean, in words."""
    return f"±{np.std(values, ddof=1) / np.sqrt(len(values)):.3f}" if len(values) > 1 else "one draw"


def _row(table, case, method, ours, paper, note):
    return {"table": table, "case": case, "method": method, "ours": ours, "paper": paper, "note": note}
