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
LEARNERS = {
    "NCA": gm.NCA(max_iter=100, anchor=0),
    "LMNN": gm.LMNN(reg="pull", tol=2e-2, max_iter=30, anchor=0),
    "DNE": gm.DNE(anchor=0),
}


def nearest(A: np.ndarray, labels: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Labels of the nearest of the rows A for each row of B."""
    return np.concatenate(
        [labels[linalg.sqdist(B[rows], A).argmin(axis=1)] for rows in linalg.blocks(len(B), 8 * len(A))]
    )


def hits(learner, X, y, test, truth) -> np.ndarray:
    """Which test points 1-NN classifies rightly under the metric of a learner."""
    metric = learner.fit(X, y).metric_
    return nearest(metric.transform(X), y, metric.transform(test)) == truth


def accuracy(learner, X, y, test, truth) -> float:
    """Share of the hits."""
    return float(hits(learner, X, y, test, truth).mean())


def coordinates(kernel, X, new):
    """KPCA coordinates of training and new points: fitted once for all learners (Figure 1 of the paper)."""
    features = gm.KernelFeatures(kernel).fit(X)
    return features.transform(X), features.transform(new)


def penalized(Z: np.ndarray, y: np.ndarray, share: float = 0.1) -> gm.NCA:
    """NCA for as many coordinates as points, where only a penalty (Theorem 3) keeps its optimum finite.

    ``reg`` is a share of the mean eigenvalue of the scatter of differences to three neighbors of the class.
    """
    D = linalg.sqdist(Z)
    D[y[:, None] != y] = np.inf
    np.fill_diagonal(D, np.inf)
    near = np.sort(D, axis=1)[:, :3]
    return gm.NCA(reg=share * near[np.isfinite(near)].sum() / Z.shape[1], max_iter=15, anchor=0)


def problem(kernel, X, y, new) -> tuple[np.ndarray, np.ndarray, dict]:
    """Training and new points as the learners see them, and the learners; with a linear kernel all is plain."""
    if isinstance(kernel, gm.Linear):
        return X, new, LEARNERS
    A, B = coordinates(kernel, X, new)
    return A, B, LEARNERS | {"NCA": penalized(A, y)}


def family(name: str, d: int) -> list:
    """The base kernels of §5.1: scaled Gaussians from narrow to wide, for images polynomials of rising degree."""
    return polynomials(d) if name == "M-USPS" else scaled_gaussians(d)


def candidates(name: str, X: np.ndarray) -> list:
    """Kernels to choose from, simplest first: the linear one, which is the limit of wide ones, then the family."""
    kernels = family(name, X.shape[1])
    return distinct([gm.Linear(), *(kernels[1:] if name == "M-USPS" else kernels[::-1])], X)


def distinct(kernels, X) -> list:
    """Kernels, in order, under which most points have a neighbor and which differ from the one before."""
    kept, before = [], None
    for kernel in kernels:
        K = kernel(X)
        size = np.sqrt(np.diag(K))
        if np.median((K / np.outer(size, size) - np.eye(len(K))).max(axis=1)) < 0.1:
            continue
        K = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
        K /= np.linalg.norm(K)
        if before is None or (K * before).sum() < 1 - 1e-3:
            kept.append(kernel)
            before = K
    return kept


def simplest(right: np.ndarray) -> int:
    """First row of hits that is behind the best by at most half the standard error of the paired difference."""
    behind = right[right.sum(axis=1).argmax()].astype(float) - right
    return int(np.argmax(behind.mean(axis=1) <= 0.5 * behind.std(axis=1) / np.sqrt(right.shape[1])))


def cross_validated(kernels, X, y, rng) -> dict:
    """For each learner the first of the kernels, simplest first, that cross-validation cannot tell from the best."""
    folds = 5 if len(X) <= 100 else 3
    fold = rng.permutation(len(X)) % folds
    right = {name: np.zeros((len(kernels), len(X)), dtype=bool) for name in LEARNERS}
    for j, kernel in enumerate(kernels):
        for part in range(folds):
            seen, held = fold != part, fold == part
            A, B, learners = problem(kernel, X[seen], y[seen], X[held])
            for name, learner in learners.items():
                right[name][j, held] = hits(learner, A, y[seen], B, y[held])
    return {name: kernels[simplest(table)] for name, table in right.items()}


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
    scores = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        chosen = cross_validated(candidates(name, X), X, y, rng)
        plain = problem(gm.Linear(), X, y, test)
        aligned = problem(align(family(name, X.shape[1]), X, y, center=True, warn=False), X, y, test)
        for m in LEARNERS:
            for prefix, (A, B, learners) in (("", plain), ("K", problem(chosen[m], X, y, test)), ("AK", aligned)):
                scores[prefix + m] = accuracy(learners[m], A, y, B, truth)
    return scores
