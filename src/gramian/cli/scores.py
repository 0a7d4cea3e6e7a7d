"""How good a distance is: accuracy of k nearest neighbors, and how many of the ten nearest share the class."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

NEAREST = 10
CLASSIFIER = "linear classifier"


@dataclass(frozen=True)
class Score:
    """Accuracy, share of the ten nearest that have the query's class, CPU seconds of learning.

    A classifier that knows no neighbors has no such share.
    """

    accuracy: float
    agreement: float | None
    seconds: float = 0.0


def score(E: Any, y: np.ndarray, queries: Any, truth: np.ndarray, k: int, seconds: float = 0.0) -> Score:
    """Score neighbors among the points E (labels y) of query points, Euclidean in the given coordinates."""
    from gramian.neighbors import nearest, winners

    ids, _ = nearest(E, min(max(k, NEAREST), len(y)), queries)  # (m, max(k, 10))
    agreement = (y[ids[:, :NEAREST]] == truth[:, None]).mean()  # share, over all queries
    classes, codes = np.unique(y, return_inverse=True)  # (c,), (n,)
    guess = classes[winners(codes[ids[:, :k]], len(classes))]  # (m,)
    return Score(float((guess == truth).mean()), float(agreement), seconds)


def linear_classifier() -> Any:
    """Logistic regression on scaled columns: the rival of a distance where only the class is asked for."""
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(max_iter=2_000)


def difference(ours: list[Score], theirs: list[Score]) -> tuple[float, float]:
    """Mean difference in accuracy over folds, paired, and its standard error.

    Folds share most of what they learn from, so the variance over them is enlarged as in Nadeau and Bengio (2003):
    (1/k + 1/(k − 1)) times it, the latter being the ratio of tested to learned-from rows.
    """
    d = np.array([a.accuracy - b.accuracy for a, b in zip(ours, theirs)])  # (k,)
    k = len(d)
    error = np.sqrt((1 / k + 1 / (k - 1)) * d.var(ddof=1)) if k > 1 else np.nan
    return float(d.mean()), float(error)


def best(results: dict[str, list[Score]]) -> str:
    """The distance with the largest mean accuracy; among equals the one with more of its class among the nearest."""
    means = {
        name: (np.mean([s.accuracy for s in folds]), np.mean([s.agreement for s in folds]))
        for name, folds in results.items()
        if folds[0].agreement is not None
    }
    return max(means, key=lambda name: means[name])


def folds(X: np.ndarray, y: np.ndarray, n_folds: int, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Stratified folds; every class needs as many points as there are folds."""
    from sklearn.model_selection import StratifiedKFold

    classes, counts = np.unique(y, return_counts=True)
    if len(classes) < 2:
        raise ValueError(f"evaluate: needs at least two classes, all rows are {str(classes[0])!r}.")
    rare, least = str(classes[counts.argmin()]), int(counts.min())
    if least == 1:
        raise ValueError(f"evaluate: class {rare!r} has one row, which cannot be learned from and tested on; drop it.")
    if least < n_folds:
        raise ValueError(f"evaluate: class {rare!r} has {least} rows for {n_folds} folds; use --folds {least}.")
    return list(StratifiedKFold(n_folds, shuffle=True, random_state=seed).split(X, y))


def cross_validate(
    learner: Any, X: np.ndarray, y: np.ndarray, splits: list, k: int, standardize: bool
) -> Iterator[Score]:
    """One score per fold; the learner (None: Euclidean), scales and medians in gaps come from the training part.

    A classifier of scikit-learn is scored by what it predicts.
    """
    from sklearn.base import clone, is_classifier
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    for train, test in splits:
        gaps = SimpleImputer(strategy="median", keep_empty_features=True)
        steps = make_pipeline(gaps, StandardScaler() if standardize else "passthrough")
        A, B = steps.fit_transform(X[train]), steps.transform(X[test])  # (n, d), (m, d)
        start, seconds = time.process_time(), 0.0
        if learner is not None:
            model = clone(learner).fit(A, y[train])
            seconds = time.process_time() - start
            if is_classifier(model):
                yield Score(float(model.score(B, y[test])), None, seconds)
                continue
            A, B = model.transform(A), model.transform(B)
        yield score(A, y[train], B, y[test], k, seconds)


def scales(X: np.ndarray) -> np.ndarray:
    """The factor (d, d) of the Euclidean distance of columns of unit variance; those that never vary do not count."""
    spread = X.std(axis=0)  # (d,)
    return np.diag(np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 0))
