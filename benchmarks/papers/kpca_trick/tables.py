"""Tables 1-3 of Chatpatanasiri et al. (2010): 1-NN accuracy of NCA, LMNN and DNE, plain, kernelized and aligned."""

import time
import warnings

import numpy as np

import gramian as gm
from benchmarks import harness
from gramian import linalg
from gramian.kernels import align, polynomials, scaled_gaussians

TITLE = "Kernelized learners on ten data sets (Chatpatanasiri et al. 2010, Tables 1–3)"
SPLITS = 12
NOTES = f"""\
1-NN test accuracy, mean over random splits with 200 training points (100 for GLASS and IRIS). The paper uses 40
splits; here {SPLITS}, the same for all methods, so a mean is uncertain by about ± 0.01. KNCA, KLMNN and KDNE
take the kernel that two-fold cross-validation on the training points prefers, the AK forms the kernel of
`align`, both from the family of §5.1: 21 scaled Gaussian kernels (every second of them for cross-validation),
for M-USPS polynomials of degrees 1–5. The paper does not say how features were scaled or how LMNN was stopped.
Here they are standardized by the training points (not for M-USPS), and LMNN has the trace penalty `reg="pull"`
of Theorem 3; both were settled on other splits of these sets (seeds below 100). LMNN has k = 3, DNE k = 1, and
ties in cross-validation go to the wider kernel. BREAST is one of two Wisconsin sets, the paper does not say
which: both are reported, the original one against the printed number."""

SETS = {
    "BALANCE": "balance_scale",
    "BREAST": "breast_cancer_wisconsin",
    "BREAST (wdbc)": "wdbc",
    "GLASS": "glass",
    "IONOS": "ionosphere",
    "IRIS": "iris",
    "MUSK2": "musk2",
    "PIMA": "pima_diabetes",
    "SATELLITE": "satellite",
    "YEAST": "yeast",
    "M-USPS": "m_usps_ssl",
}
ORDER = [name for name in SETS if "wdbc" not in name]
PAPER = {
    "NCA": (0.89, 0.95, 0.61, 0.83, 0.96, 0.87, 0.68, 0.82, 0.47, 0.88),
    "KNCA": (0.92, 0.97, 0.69, 0.94, 0.96, 0.90, 0.71, 0.84, 0.50, 0.91),
    "AKNCA": (0.92, 0.96, 0.66, 0.92, 0.95, 0.88, 0.67, 0.84, 0.49, 0.91),
    "LMNN": (0.84, 0.95, 0.63, 0.88, 0.95, 0.80, 0.68, 0.81, 0.47, 0.93),
    "KLMNN": (0.87, 0.97, 0.69, 0.95, 0.96, 0.93, 0.71, 0.85, 0.48, 0.94),
    "AKLMNN": (0.88, 0.97, 0.66, 0.94, 0.95, 0.88, 0.72, 0.84, 0.54, 0.95),
    "DNE": (0.79, 0.96, 0.65, 0.87, 0.95, 0.89, 0.67, 0.84, 0.40, 0.94),
    "KDNE": (0.90, 0.97, 0.70, 0.95, 0.97, 0.91, 0.69, 0.85, 0.48, 0.94),
    "AKDNE": (0.83, 0.96, 0.67, 0.95, 0.96, 0.89, 0.70, 0.85, 0.47, 0.94),
}
WINS = {
    "KNCA": "9/1/0",
    "AKNCA": "8/0/2",
    "KLMNN": "10/0/0",
    "AKLMNN": "9/1/0",
    "KDNE": "9/1/0",
    "AKDNE": "7/3/0",
}
LEARNERS = {"NCA": gm.NCA(max_iter=100), "LMNN": gm.LMNN(reg="pull", tol=1e-2, max_iter=100), "DNE": gm.DNE()}


def nearest(A: np.ndarray, labels: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Labels of the nearest of the rows A for each row of B."""
    return np.concatenate(
        [labels[linalg.sqdist(B[rows], A).argmin(axis=1)] for rows in linalg.blocks(len(B), 8 * len(A))]
    )


def accuracy(learner, X, y, test, truth) -> float:
    """1-NN accuracy under the metric of a learner."""
    metric = learner.fit(X, y).metric_
    return float(np.mean(nearest(metric.transform(X), y, metric.transform(test)) == truth))


def coordinates(kernel, X, new):
    """KPCA coordinates of training and new points: fitted once for all learners (Figure 1 of the paper)."""
    features = gm.KernelFeatures(kernel).fit(X)
    return features.transform(X), features.transform(new)


def cross_validated(family, X, y, rng) -> dict:
    """For each learner the kernel of the family with the best two-fold accuracy."""
    fold = rng.permutation(len(X)) % 2
    scores = {name: np.zeros(len(family)) for name in LEARNERS}
    for j, kernel in enumerate(family):
        for part in (0, 1):
            A, B = coordinates(kernel, X[fold == part], X[fold != part])
            for name, learner in LEARNERS.items():
                scores[name][j] += accuracy(learner, A, y[fold == part], B, y[fold != part])
    return {name: family[len(s) - 1 - int(s[::-1].argmax())] for name, s in scores.items()}


def split_scores(name: str, data, seed: int) -> dict:
    """Accuracies of the nine methods on one split."""
    rng = np.random.default_rng(seed)
    n = 100 if name in ("GLASS", "IRIS") else 200
    order = rng.permutation(len(data.X))
    X, y, test, truth = data.X[order[:n]], data.y[order[:n]], data.X[order[n:]], data.y[order[n:]]
    if name != "M-USPS":
        mean, scale = X.mean(axis=0), X.std(axis=0)
        scale[scale == 0] = 1
        X, test = (X - mean) / scale, (test - mean) / scale
    family = polynomials(X.shape[1]) if name == "M-USPS" else scaled_gaussians(X.shape[1])
    scores = {m: accuracy(learner, X, y, test, truth) for m, learner in LEARNERS.items()}
    chosen = cross_validated(family if name == "M-USPS" else family[::2], X, y, rng)
    aligned = coordinates(align(family, X, y, warn=False), X, test)
    for m, learner in LEARNERS.items():
        A, B = coordinates(chosen[m], X, test)
        scores[f"K{m}"] = accuracy(learner, A, y, B, truth)
        scores[f"AK{m}"] = accuracy(learner, aligned[0], y, aligned[1], truth)
    return scores


def record(wins: np.ndarray) -> str:
    """Win/draw/lose, at the two digits that the paper prints."""
    return f"{(wins > 0).sum()}/{(wins == 0).sum()}/{(wins < 0).sum()}"


def run(quick: bool = False) -> list[dict]:
    """Rows for every data set and method, then the win/draw/lose rows."""
    means, rows = {}, []
    names = ["BALANCE", "IRIS"] if quick else list(SETS)
    for name in names:
        data = harness.load(SETS[name])
        start = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            runs = [split_scores(name, data, seed) for seed in range(100, 101 if quick else 100 + SPLITS)]
        means[name] = {m: np.array([r[m] for r in runs]) for m in PAPER}
        print(
            name, {m: round(float(v.mean()), 3) for m, v in means[name].items()}, f"{time.process_time() - start:.0f} s"
        )
    for number, base in enumerate(LEARNERS, 1):
        for name in names:
            for method in (base, f"K{base}", f"AK{base}"):
                values = means[name][method]
                paper = PAPER[method][ORDER.index(name)] if name in ORDER else None
                note = f"± {values.std():.3f}"
                rows.append(_row(number, name, method, round(float(values.mean()), 4), paper, note))
        listed = [name for name in names if name in ORDER]
        for method in (f"K{base}", f"AK{base}"):
            gain = np.array([round(means[n][method].mean(), 2) - round(means[n][base].mean(), 2) for n in listed])
            note = f"{record(np.round(gain, 2))}; paper {WINS[method]}"
            rows.append(_row(number, "win/draw/lose", method, None, None, note))
    return rows


def _row(number, case, method, ours, paper, note) -> dict:
    return {"table": f"Table {number}", "case": case, "method": method, "ours": ours, "paper": paper, "note": note}
