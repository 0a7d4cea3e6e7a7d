"""Write one file of each kind of value, with what it answers: ``python -m tests.files.write FOLDER``, once a release.

A folder that was released is never written again: ``test_released.py`` reads it with the code of the day.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression

import gramian as gm

X = np.random.default_rng(0).normal(size=(60, 4)).round(3)
"""Points that everything is learned from and asked for."""
Y = np.arange(60) % 3


def values() -> dict[str, Any]:
    """Small values of every kind that people keep."""
    rng = np.random.default_rng(1)
    plain = gm.Mahalanobis(rng.normal(size=(2, 4)).round(2))
    kernel = gm.Kernelized(gm.RCA(anchor=0), gm.Gaussian(2.0), rank=5).fit(X, Y).metric_
    angle = gm.AutoMetric(candidates=[gm.PLDA(0.7, 0.3)], normalize=True, random_state=0).fit(X + 1, Y).metric_
    forest = gm.Posteriors(ExtraTreesClassifier(3, max_depth=3, random_state=0)).fit(X, Y).metric_
    logistic = gm.Posteriors(LogisticRegression()).fit(X, Y).metric_
    return {
        "mahalanobis": plain,
        "subspace": gm.ITML(rank=2, random_state=0, anchor=0).fit(X, Y).metric_,
        "kernel_metric": kernel,
        "by_angle": angle,
        "forest": forest,
        "logistic": logistic,
        "kernel": gm.Gaussian(2.0) + 0.5 * gm.Polynomial(2),
        "features": gm.KernelFeatures(gm.Gaussian(2.0), rank=5).fit(X),
        "pairs": gm.Pairs([0, 1], [2, 3], [True, False], bounds=(0.5, 2.0)),
        "exact": gm.ExactIndex(plain).add(X),
        "hash": gm.HashIndex(plain, n_bits=64, random_state=0).add(X),
        "cells": gm.HashIndex(plain, n_bits=64, cells=4, random_state=0).add(X),
        "adapter": gm.QueryAdapter(random_state=0).fit(X + 0.1 * rng.normal(size=X.shape), X),
    }


def answer(value: Any) -> dict[str, np.ndarray]:
    """What a value says of the points."""
    if isinstance(value, gm.Metric):
        return {"sqdist": value.sqdist(X[:5], X[5:10]), "transform": value.transform(X[:5])}
    if isinstance(value, gm.kernels.Kernel):
        return {"kernel": value(X[:5], X[5:10])}
    if isinstance(value, gm.Pairs):
        return {"left": value.left, "bounds": np.asarray(value.bounds, float)}
    if isinstance(value, gm.QueryAdapter):
        return {"queries": value.transform_queries(X[:5]), "documents": value.transform(X[:5])}
    if isinstance(value, gm.KernelFeatures):
        return {"transform": value.transform(X[:5])}
    ids, sqdist = value.query(X[:5], k=3)
    return {"ids": ids, "sqdist": sqdist}


def write(folder: Path) -> None:
    """All files, and the answers beside them."""
    folder.mkdir(parents=True)
    answers = {}
    for name, value in values().items():
        gm.save(value, folder / f"{name}.gram")
        answers |= {f"{name}.{word}": array for word, array in answer(value).items()}
    np.savez(folder / "answers.npz", **answers)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
