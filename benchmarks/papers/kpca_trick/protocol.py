"""One split of the protocol of Chatpatanasiri et al. (2010), §5.1: nine methods, 1-NN accuracy."""

import warnings

import numpy as np

import gramian as gm
from gramian import linalg
from gramian.kernels import align, polynomials, scaled_gaussians

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
LEARNERS = {"NCA": gm.NCA(max_iter=100), "LMNN": gm.LMNN(reg="pull", tol=2e-2, max_iter=30), "DNE": gm.DNE()}


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


def distinct(family, X) -> list:
    """Kernels of the family, in order, under which most points have a neighbor and which differ from the one before."""
    kept, before = [], None
    for kernel in family:
        K = kernel(X)
        size = np.sqrt(np.diag(K))
        if np.median((K / np.outer(size, size) - np.eye(len(K))).max(axis=1)) < 0.1:
            continue
        K = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
        K /= np.linalg.norm(K)
        if before is None or (K * before).sum() < 1 - 1e-4:
            kept.append(kernel)
            before = K
    return kept


def cross_validated(family, X, y, rng) -> dict:
    """For each learner the kernel of the family with the best two-fold accuracy."""
    fold, family = rng.permutation(len(X)) % 2, distinct(family, X)
    scores = {name: np.zeros(len(family)) for name in LEARNERS}
    for j, kernel in enumerate(family):
        for part in (0, 1):
            A, B = coordinates(kernel, X[fold == part], X[fold != part])
            for name, learner in LEARNERS.items():
                scores[name][j] += accuracy(learner, A, y[fold == part], B, y[fold != part])
    return {name: family[len(s) - 1 - int(s[::-1].argmax())] for name, s in scores.items()}


def scaled(name: str, X: np.ndarray, test: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Features standardized by the training points; images as they are."""
    if name == "M-USPS":
        return X, test
    mean, scale = X.mean(axis=0), X.std(axis=0)
    scale[scale == 0] = 1
    return (X - mean) / scale, (test - mean) / scale


def split(name: str, data, seed: int, scale=scaled) -> tuple[np.ndarray, ...]:
    """Training points and labels, test points and labels, and the generator that drew them."""
    rng = np.random.default_rng(seed)
    order, n = rng.permutation(len(data.X)), 100 if name in ("GLASS", "IRIS") else 200
    X, test = scale(name, data.X[order[:n]].astype(float), data.X[order[n:]].astype(float))
    return X, data.y[order[:n]], test, data.y[order[n:]], rng


def split_scores(name: str, data, seed: int) -> dict:
    """Accuracies of the nine methods on one split."""
    X, y, test, truth, rng = split(name, data, seed)
    family = polynomials(X.shape[1]) if name == "M-USPS" else scaled_gaussians(X.shape[1])
    aligned = coordinates(align(family, X, y, warn=False), X, test)
    scores = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        chosen = cross_validated(family, X, y, rng)
        for m, learner in LEARNERS.items():
            A, B = coordinates(chosen[m], X, test)
            scores[m] = accuracy(learner, X, y, test, truth)
            scores[f"K{m}"] = accuracy(learner, A, y, B, truth)
            scores[f"AK{m}"] = accuracy(learner, aligned[0], y, aligned[1], truth)
    return scores
