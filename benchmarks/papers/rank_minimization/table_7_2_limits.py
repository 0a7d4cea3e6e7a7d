"""What the pairs of Jain 2009, Table 7.2, and the range of its Burg kernels give other learners."""

import warnings

import numpy as np
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from benchmarks.harness import standard_error
from benchmarks.papers.rank_minimization import protocol
from benchmarks.papers.rank_minimization.protocol import KERNEL, PAPER
from benchmarks.papers.rank_minimization.table_7_2 import coordinates, refined

TITLE = "Limits of Table 7.2 (Jain 2009)"
NOTES = """
3 draws of 40 pairs for each ordered pair of classes, from all points; notes have standard errors over draws (and
folds).

*Pairs.* A learner that gets every point in a pair right, and classifies the others with the labels of the training
half and of all points in pairs, by 5-NN or by an SVM whose width and constant are chosen by cross-validation on these
labels. It stands beside the better of the printed MW and OCP. It is no bound: on Heart nearly all points of the
smaller class are in pairs, so a point in no pair is of the larger one, and MW makes use of that.

*Burg.* It keeps the range of its start, as many eigenvectors of K₀ as the printed rank. The start by itself, and the
Burg kernel with more and less slack (γ = 100 is nearly hard), for bounds from the distances of K₀ and of the start.
"""
KNOWN, BURG = "All points in pairs right (percent)", "Burg (percent)"


def run(quick: bool = False) -> list[dict]:
    """Both questions."""
    warnings.simplefilter("ignore")
    names, draws = (("ionosphere",), 1) if quick else (protocol.names(), 3)
    rows = [row for name in names for row in others(name, draws)]
    return rows + [row for name in names for row in ranges(name, draws)]


def others(name: str, draws: int) -> list[dict]:
    """All points in pairs right, the others by what is known."""
    X, y = protocol.read(name)
    X = protocol.unit_rows(X)
    grid = {"C": [1, 10, 100, 1000], "gamma": [1, 3, 10, 30, 100]}
    models = {"5-NN": KNeighborsClassifier(5), "SVM": GridSearchCV(SVC(), grid)}
    scores: dict[str, list] = {method: [] for method in models}
    for train, test, touched in _draws(y, draws):
        known, rest = np.union1d(train, touched), np.setdiff1d(test, touched)
        for method, model in models.items():
            wrong = np.sum(model.fit(X[known], y[known]).predict(X[rest]) != y[rest])
            scores[method].append(100 * (1 - wrong / len(test)))
    best = max(("MW", "OCP"), key=lambda column: PAPER[name][column])
    note = f"paper: {best}"
    return [_row(KNOWN, name, f"others by {m}", s, PAPER[name][best][0], note) for m, s in scores.items()]


def ranges(name: str, draws: int) -> list[dict]:
    """The leading eigenvectors of K₀, and the Burg kernels that start from them."""
    X, y = protocol.read(name)
    K = KERNEL(protocol.unit_rows(X))
    paper, rank = PAPER[name]["Burg"]
    C = coordinates(K)[:, : round(rank)]
    start = [protocol.accuracy(C @ C.T, y, protocol.folds(len(y), seed)) for seed in range(draws)]
    rows = [_row(BURG, name, "the start", start, paper, f"{round(rank)} eigenvectors")]
    for bounds, initial in {"K₀": K, "the start": C @ C.T}.items():
        for gamma in (1.0, 10.0, 100.0):
            found = [_burg(C, y, protocol.percentiles(initial), gamma, seed) for seed in range(draws)]
            rows.append(_row(BURG, name, f"bounds of {bounds}, γ = {gamma:g}", found, paper, ""))
    return rows


def _burg(C: np.ndarray, y: np.ndarray, bounds: tuple, gamma: float, seed: int) -> float:
    F = refined(C, protocol.draw_by_class(y, np.arange(len(y)), bounds, seed), gamma)
    return protocol.accuracy(F @ F.T, y, protocol.folds(len(y), seed))


def _draws(y: np.ndarray, draws: int) -> list[tuple]:
    """Training half, test half, and the points in pairs."""
    found = []
    for seed in range(draws):
        pairs = protocol.draw_by_class(y, np.arange(len(y)), (0.0, 1.0), seed)
        touched = np.union1d(pairs.left, pairs.right)
        found += [(train, test, touched) for train, test in protocol.folds(len(y), seed)]
    return found


def _row(table: str, name: str, method: str, found: list[float], paper: float, note: str) -> dict:
    case = "heart (SPECTF)" if name == "spectf" else name
    return {
        "table": table,
        "case": case,
        "method": method,
        "ours": np.mean(found),
        "paper": paper,
        "note": standard_error(found, 1, note),
    }
