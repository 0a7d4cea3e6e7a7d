"""Figure 2 of Chatpatanasiri et al. (2010): classes on curves, which linear learners cannot straighten."""

import warnings
from collections.abc import Iterator

import numpy as np

import gramian as gm
from benchmarks.papers.kpca_trick.protocol import nearest
from benchmarks.report import PICTURES

TITLE = "Curved classes (Chatpatanasiri et al. 2010, Figure 2)"
NOTES = """\
The kernel helps each learner, but plain ones do not gain on the Euclidean distance, and on the circles no learning
under the kernel is as good as KDNE. Two synthetic examples in the spirit of the figure, whose data are not given: each
class lies on a curve, sampled so thinly that neighbors often lie across. 1-NN accuracy on 2,000 new points, means over
20 draws with standard errors; the kernel is the polynomial of degree two, as in the paper. The picture shows the two
largest components of each learned distance on the first draw."""
DRAWS = 20
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
    panels, scores = [], {}
    for case, make in (("parabolas", parabolas), ("circles", circles)):
        for seed in range(2 if quick else DRAWS):
            (X, y), (test, truth) = make(50, seed), make(2000, 1000 + seed)
            if seed == 0:
                panels.append((case, "points", X, y))
            for method, metric in fitted(X, y):
                score = float(np.mean(nearest(metric.transform(X), y, metric.transform(test)) == truth))
                scores.setdefault((case, method), []).append(score)
                if seed == 0 and "1-NN" not in method:
                    panels.append((case, f"{method}: {score:.2f}", principal(metric.transform(X)), y))
    draw(panels)
    return [_row(case, method, values) for (case, method), values in scores.items()]


def fitted(X: np.ndarray, y: np.ndarray) -> Iterator[tuple]:
    """Each learner, plain and kernelized, with its metric; and both spaces without learning."""
    yield "1-NN, no learning", gm.Mahalanobis.from_matrix(np.eye(2))
    features = gm.KernelFeatures(gm.Polynomial(2)).fit(X)
    yield "1-NN under the kernel, no learning", gm.KernelMetric(features, np.eye(features.transform(X).shape[1]))
    for name, learner in LEARNERS.items():
        yield name, learner.fit(X, y).metric_
        yield f"K{name}", gm.Kernelized(learner, gm.Polynomial(2)).fit(X, y).metric_


def _row(case: str, method: str, values: list[float]) -> dict:
    note = f"± {np.std(values) / np.sqrt(len(values)):.3f}"
    return {"table": "Figure 2", "case": case, "method": method, "ours": np.mean(values), "paper": None, "note": note}


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
