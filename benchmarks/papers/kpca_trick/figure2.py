"""Figure 2 of Chatpatanasiri et al. (2010): classes on curves, which linear learners cannot straighten."""

import warnings

import numpy as np

import gramian as gm
from benchmarks.papers.kpca_trick.protocol import nearest
from benchmarks.report import PICTURES

TITLE = "Curved classes (Chatpatanasiri et al. 2010, Figure 2)"
NOTES = """\
Two synthetic examples in the spirit of the figure, whose data are not given: each class lies on a curve,
sampled so thinly that neighbors often lie across. 1-NN accuracy on 2,000 new points; the kernel is the
polynomial of degree two, as in the paper. The picture shows the two largest components of each learned
distance."""
LEARNERS = {"NCA": gm.NCA(anchor=0), "LMNN": gm.LMNN(reg=1.0, anchor=0), "DNE": gm.DNE(n_neighbors=3, anchor=0)}


def parabolas(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Two parallel parabolas."""
    rng = np.random.default_rng(seed)
    x, y = rng.uniform(-2, 2, n), np.arange(n) % 2
    return np.stack([x, x**2 + 0.3 * y + 0.02 * rng.standard_normal(n)], axis=1), y


def circles(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Two circles about one center."""
    rng = np.random.default_rng(seed)
    angle, y = rng.uniform(0, 2 * np.pi, n), np.arange(n) % 2
    radius = 1 + 0.2 * y + 0.01 * rng.standard_normal(n)
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1), y


def principal(Z: np.ndarray) -> np.ndarray:
    """The two largest components of an embedding."""
    Z = Z - Z.mean(axis=0)
    Z = Z @ np.linalg.svd(Z, full_matrices=False)[2][:2].T
    return np.hstack([Z, np.zeros((len(Z), 2 - Z.shape[1]))])


def run(quick: bool = False) -> list[dict]:
    """Accuracies, and the picture docs/results/kpca_trick_figure2.png."""
    warnings.simplefilter("ignore")
    rows, panels = [], []
    for case, make in (("parabolas", parabolas), ("circles", circles)):
        (X, y), (test, truth) = make(50, 0), make(2000, 1)
        panels.append((case, "points", X, y))
        for name, learner in LEARNERS.items():
            for method, fitted in ((name, learner), (f"K{name}", gm.Kernelized(learner, gm.Polynomial(2)))):
                metric = fitted.fit(X, y).metric_
                score = np.mean(nearest(metric.transform(X), y, metric.transform(test)) == truth)
                rows.append({"table": "Figure 2", "case": case, "method": method, "ours": float(score), "paper": None})
                panels.append((case, f"{method}: {score:.2f}", principal(metric.transform(X)), y))
    draw(panels)
    return [row | {"note": ""} for row in rows]


def draw(panels: list) -> None:
    """One row per data set: the points, then each embedding."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(15, 4.6), layout="constrained")
    for axis, (case, title, Z, y) in zip(figure.subplots(2, 7).ravel(), panels):
        for c, marker in ((0, "o"), (1, "^")):
            axis.scatter(*Z[y == c].T, s=14, marker=marker, alpha=0.8)
        axis.set_title(f"{case}\n{title}" if title == "points" else title, fontsize=10)
        axis.set_xticks([])
        axis.set_yticks([])
    PICTURES.mkdir(parents=True, exist_ok=True)
    figure.savefig(PICTURES / "kpca_trick_figure2.png", dpi=100)
