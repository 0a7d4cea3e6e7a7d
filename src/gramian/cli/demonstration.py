"""The demonstration: what 200 labeled digits teach a distance about 1,597 others."""

import shutil
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline

import gramian
from gramian import datasets, persist
from gramian.cli import formats, scores
from gramian.cli.screen import comparison, progress, say

GAMMAS = (0.03, 0.1, 0.3, 1.0)
K = 3


def run(out: Path, seed: int) -> None:
    """Learn, compare, save a metric, a picture and the data, and say what to try next."""
    digits = datasets.load("digits")
    X, X_new, y, y_new = train_test_split(digits.X, digits.y, train_size=200, stratify=digits.y, random_state=seed)
    say.print(
        f"Handwritten digits, 8 × 8 pixels. {len(X)} of them are labeled; ITML learns from these which pixels matter,\n"
        f"and is then judged on the {len(X_new)} others.\n"
    )
    start = time.process_time()
    with progress("learning"):
        gamma = _choose(X, y, seed)
        metric = gramian.ITML(gamma=gamma, random_state=seed).fit(X, y).metric_
    seconds = time.process_time() - start
    sides = {"Euclidean": gramian.Mahalanobis.euclidean(X.shape[1]), "learned": metric}
    results = {name: _judge(side, X, y, X_new, y_new) for name, side in sides.items()}
    results["learned"] = replace(results["learned"], seconds=seconds)
    say.print(comparison("Unseen digits among the labeled ones", {name: [r] for name, r in results.items()}, K))
    wrong = [round((1 - r.accuracy) * len(y_new)) for r in results.values()]
    say.print(f"\nMistakes went from {wrong[0]} to {wrong[1]}. (gamma={gamma}, chosen on the labeled digits alone.)\n")
    _save(out, digits, metric, gamma)
    before, after = (_same_digit(side, X, y, X_new, y_new) for side in sides.values())
    _draw(out, digits, metric, (X, y), (X_new, y_new), np.argsort(before - after, kind="stable")[:3])
    _next(out)


def _choose(X: np.ndarray, y: np.ndarray, seed: int) -> float:
    """The weight of the slack that classifies best within the labeled digits."""
    steps = Pipeline([("itml", gramian.ITML(random_state=seed)), ("knn", KNeighborsClassifier(K))])
    search = GridSearchCV(steps, {"itml__gamma": GAMMAS}, cv=4).fit(X, y)
    return float(search.best_params_["itml__gamma"])


def _judge(metric: Any, X: np.ndarray, y: np.ndarray, X_new: np.ndarray, y_new: np.ndarray) -> scores.Score:
    return scores.score(metric.transform(X), y, metric.transform(X_new), y_new, K)


def _same_digit(metric: Any, X: np.ndarray, y: np.ndarray, X_new: np.ndarray, y_new: np.ndarray) -> np.ndarray:
    """Share of the eight nearest labeled digits that are the same digit, for each unseen one."""
    near = np.argsort(metric.sqdist(X_new, X), axis=1, kind="stable")[:, :8]
    return (y[near] == y_new[:, None]).mean(axis=1)


def _save(out: Path, digits: Any, metric: Any, gamma: float) -> None:
    out.mkdir(parents=True, exist_ok=True)
    names = digits.feature_names.tolist()
    about = {"learner": "ITML", "settings": {"gamma": gamma}, "features": names, "label": "digit", "rows": 200}
    persist.save(metric, out / "digits.gram", about=about)
    formats.write(out / "digits.csv", names, digits.X, "digit", digits.y)
    say.print(f"saved {out / 'digits.gram'} (the metric) and {out / 'digits.csv'} (the data)")


def _draw(out: Path, digits: Any, metric: Any, labeled: tuple, unseen: tuple, rows: np.ndarray) -> None:
    try:
        from gramian import plotting

        queries, truth = (part[rows] for part in unseen)
        figure = plotting.neighbors(metric, *labeled, queries, truth, digits.image_shape)
    except ImportError as error:
        say.print(f"no picture: {error}")
        return
    figure.savefig(out / "neighbors.png", dpi=120)
    say.print(f"saved {out / 'neighbors.png'} (three digits whose neighbors changed most, before and after)")


def _next(out: Path) -> None:
    command, data, model = _command(), out / "digits.csv", out / "digits.gram"
    say.print("\nTry next:")
    say.print(f"  {command} info {model}")
    say.print(f"  {command} evaluate {data} --label digit --learner rca --learner gmml")
    say.print(f"  {command} transform {model} {data} --label digit -o {out / 'learned.csv'}")


def _command() -> str:
    """How this program is called here: by name when that finds it, otherwise by the path that was used."""
    called = Path(sys.argv[0])
    if called.name == "__main__.py":
        return "python -m gramian"
    found = shutil.which("gramian")
    return "gramian" if found and Path(found).resolve() == called.resolve() else str(called)
