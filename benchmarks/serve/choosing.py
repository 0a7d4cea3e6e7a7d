"""The constants of the query model, chosen on data that no page reports: ``python -m benchmarks.serve.choosing``.

Each line is a setting: mean share of right ones among the 20 best results that were not yet clicked, after 5, 10 and 20
clicks, over all tasks, without and with 10% wrong clicks. Emoji are made as ``gramian demo-data emoji`` makes them.
"""

import sys
from itertools import product
from typing import Any
from unittest import mock

import numpy as np

from benchmarks.harness import load
from benchmarks.serve import people, tasks
from gramian.service import demo, query_model

FILES = {
    "isolet_1560": 100,
    "pendigits": 0,
    "satellite": 0,
    "usps": 64,
    "umist_faces": 80,
    "spambase": 0,
    "pie10p_faces": 60,
    "orl_faces_32x32": 80,
    "musk2": 0,
    "wine": 0,
    "ionosphere": 0,
}
"""Data sets and the coordinates kept of them (0: all features)."""
SETTINGS = {"PENALTY": (0.03, 0.1, 0.3), "RANDOM_WEIGHT": (0.03, 0.1, 0.3), "BREADTH": (1.0, 2.0, 4.0)}
QUERIES = 20


def data() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Vectors and labels by name."""
    found = {name: _file(name, rank) for name, rank in FILES.items()}
    try:
        emoji = demo.KINDS["emoji"](lambda done, of: None)
    except demo.Unavailable:
        return found
    for field in ("color", "group"):
        labels = np.array([meta[field] for meta in emoji.meta])
        clear = ~np.isin(labels, ("mixed", "white", "gray"))
        found[f"emoji by {field}"] = emoji.X[clear].astype(float), labels[clear]
    return found


def _file(name: str, rank: int) -> tuple[np.ndarray, np.ndarray]:
    loaded = load(name)
    keep = np.random.default_rng(0).permutation(len(loaded.X))[: tasks.MOST]
    X = np.asarray(loaded.X, float)[keep]
    return (tasks.leading(X, rank) if rank else X), np.asarray(loaded.y)[keep]


def score(found: dict[str, Any], setting: dict[str, float]) -> dict[str, np.ndarray]:
    """Mean shares after 5, 10 and 20 clicks, by wrong clicks."""
    means: dict[str, list[np.ndarray]] = {"0%": [], "10%": []}
    with mock.patch.multiple(query_model, **setting):
        for X, y in found.values():
            queries = np.random.default_rng(5).permutation(len(X))[:QUERIES].tolist()
            with people.opened(X) as space:
                rank = people.by_space(space)
                for word, wrong in (("0%", 0.0), ("10%", 0.1)):
                    means[word].append(np.mean([people.visit(rank, y, q, wrong)[1:] for q in queries], axis=0))
    return {word: np.mean(values, axis=0) for word, values in means.items()}


def main() -> int:
    """One line for each setting."""
    found = data()
    for values in product(*SETTINGS.values()):
        setting = dict(zip(SETTINGS, values))
        shares = score(found, setting)
        print(setting, {word: share.round(4).tolist() for word, share in shares.items()}, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
